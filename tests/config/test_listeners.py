from __future__ import annotations

import pytest

from kafkalite.config.listeners import ListenerAddress, parse_listener
from kafkalite.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("PLAINTEXT://localhost:9092", ListenerAddress("PLAINTEXT", "localhost", 9092)),
        ("PLAINTEXT://:0", ListenerAddress("PLAINTEXT", "", 0)),
        ("in_side://[::1]:19092", ListenerAddress("IN_SIDE", "::1", 19092)),
        (" PLAINTEXT://127.0.0.1:65535 ", ListenerAddress("PLAINTEXT", "127.0.0.1", 65535)),
    ],
)
def test_a_listener_is_read(text: str, address: ListenerAddress) -> None:
    assert parse_listener(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "9092", "localhost:9092", "PLAINTEXT://localhost", "PLAINTEXT://a:65536", "A://b:c"],
)
def test_what_is_no_listener_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(KafkaError, match="listeners") as refused:
        parse_listener(text)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert text in refused.value.message
