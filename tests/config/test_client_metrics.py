"""Patterns that a client must fit: where Python's regular expressions are not Java's. The rest is
in `tests/server/admin-answers.jsonl`."""

from __future__ import annotations

import pytest

from kafkalite.config.client_metrics import validate_client_metrics
from kafkalite.errors import ErrorCode, KafkaError


def refusal(**values: str) -> tuple[ErrorCode, str] | None:
    try:
        validate_client_metrics({name.replace("_", "."): text for name, text in values.items()})
    except KafkaError as refused:
        return refused.code, refused.message
    return None


@pytest.mark.parametrize(
    "expression",
    [r"\p{Alpha}+", r"\P{L}", r"\pL", "a{2}", r"a\{2", "[[a]]", "(?i)a", ".*", " x y"],
)
def test_what_java_takes(expression: str) -> None:
    assert refusal(match=f"client_id={expression}") is None


@pytest.mark.parametrize("expression", ["[", "(a", "a)", "*", "a{2", "a{", "a{99999999999999}"])
def test_what_it_does_not_take(expression: str) -> None:
    expected = f"Illegal client matching pattern: client_id={expression}"
    assert refusal(match=f"client_id={expression}") == (ErrorCode.INVALID_CONFIG, expected)


def test_very_deep_ones_are_refused() -> None:
    code, _ = refusal(match="client_id=" + "(" * 5_000 + ")" * 5_000) or (None, "")
    assert code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("text", ["client_id", "client_id=", "a=b", "client_id=a=b"])
def test_what_is_no_pattern(text: str) -> None:
    expected = f"Illegal client matching pattern: {text}"
    assert refusal(match=text) == (ErrorCode.INVALID_CONFIG, expected)


def test_intervals_and_names() -> None:
    assert refusal(interval_ms="100", match="", metrics="*") is None
    for interval_ms in ("99", "3600001"):
        assert refusal(interval_ms=interval_ms) == (
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and 3600000"
            " (1 hour)",
        )
    assert refusal(a="b") == (
        ErrorCode.INVALID_REQUEST,
        "Unknown client metrics configuration: a",
    )
