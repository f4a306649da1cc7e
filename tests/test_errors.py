"""Codes, names and retriability are those that the real Kafka lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.errors import (
    DEFAULT_MESSAGES,
    MAX_MESSAGE_CHARACTERS,
    CorruptRecordError,
    ErrorCode,
    InvariantError,
    KafkaError,
    ProtocolError,
    code_for,
)

KAFKA = json.loads((Path(__file__).parent / "data/error-codes.json").read_text())


def test_codes_and_names_are_kafkas() -> None:
    assert {code.name: code.value for code in ErrorCode} == {
        entry["name"]: entry["code"] for entry in KAFKA
    }


def test_what_a_client_tries_again_is_kafkas() -> None:
    assert {code.name for code in ErrorCode if code.retriable} == {
        entry["name"] for entry in KAFKA if entry["retriable"]
    }


def test_default_messages_are_kafkas() -> None:
    told = {entry["name"]: entry["message"] for entry in KAFKA if entry["code"]}
    for code, message in DEFAULT_MESSAGES.items():
        assert message == told.get(code.name, "NONE")


def test_an_error_carries_its_code_and_message() -> None:
    error = KafkaError(ErrorCode.INVALID_CONFIG, "no such key")
    assert (error.code, error.message, str(error)) == (
        ErrorCode.INVALID_CONFIG,
        "no such key",
        "no such key",
    )
    assert KafkaError(ErrorCode.NOT_CONTROLLER).message == ""
    assert str(KafkaError(ErrorCode.NOT_CONTROLLER)) == "NOT_CONTROLLER"


def test_a_message_that_is_long_is_cut_off_so_that_any_answer_holds_it() -> None:
    whole = KafkaError(ErrorCode.INVALID_CONFIG, "m" * MAX_MESSAGE_CHARACTERS)
    assert whole.message == "m" * MAX_MESSAGE_CHARACTERS
    message = KafkaError(ErrorCode.INVALID_CONFIG, "\U0001f600" * 50_000).message
    assert message.endswith("\U0001f600...")
    assert len(message) == MAX_MESSAGE_CHARACTERS
    assert len(message.encode()) < 1 << 15


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE), ErrorCode.OFFSET_OUT_OF_RANGE),
        (CorruptRecordError("crc"), ErrorCode.CORRUPT_MESSAGE),
        (ProtocolError("short"), ErrorCode.INVALID_REQUEST),
        (OSError(28, "No space left on device"), ErrorCode.KAFKA_STORAGE_ERROR),
        (OSError(110, "Connection timed out"), ErrorCode.KAFKA_STORAGE_ERROR),
        (TimeoutError("a wait is over"), ErrorCode.REQUEST_TIMED_OUT),
        (ConnectionResetError(104, "Connection reset by peer"), ErrorCode.NETWORK_EXCEPTION),
        (InvariantError("overlap"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (RuntimeError("bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_each_exception_has_one_code(error: Exception, code: ErrorCode) -> None:
    assert code_for(error) is code
