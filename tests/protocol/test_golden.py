"""What real clients and the real Kafka sent: each frame decodes, and encodes to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafkalite.protocol import codec
from kafkalite.protocol.api_keys import request_class, response_class
from kafkalite.protocol.fields import Sized
from kafkalite.protocol.headers import (
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
)
from kafkalite.protocol.schema import Struct

DATA = Path(__file__).parents[1] / "data"
LENGTH = 4
CAPTURES = {"wire.jsonl": LENGTH, "versions.jsonl": LENGTH, "zookeeper/inter-broker.jsonl": 0}
"""File -> bytes before the header: the frame's length, where the capture has it."""

NOT_SERVED = {("Produce", 0), ("Produce", 1), ("Produce", 2)}
"""Advertised, but no schema: Kafka closed the connection."""


class Exchange(NamedTuple):
    api: str
    key: int
    version: int
    request: bytes
    """From the header on."""
    response: bytes | None


def exchanges(capture: str) -> Iterator[Exchange]:
    skip = CAPTURES[capture]
    with (DATA / capture).open() as lines:
        for line in lines:
            entry = json.loads(line)
            response = entry["response_hex"]
            yield Exchange(
                entry["api"],
                entry["key"],
                entry["version"],
                bytes.fromhex(entry["request_hex"])[skip:],
                None if response is None else bytes.fromhex(response)[skip:],
            )


@pytest.mark.parametrize("capture", CAPTURES)
def test_each_request_round_trips(capture: str) -> None:
    count = 0
    for exchange in exchanges(capture):
        if (exchange.api, exchange.version) in NOT_SERVED:
            assert exchange.response is None
            continue
        header, position = read_request_header(exchange.request)
        assert (header.request_api_key, header.request_api_version) == exchange[1:3]
        message = codec.decode(
            request_class(exchange.key), exchange.version, exchange.request, position
        )
        frame = request_frame(
            message,
            exchange.version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
        )
        assert joined(frame)[LENGTH:] == exchange.request, exchange
        count += 1
    assert count > 40


@pytest.mark.parametrize("capture", CAPTURES)
def test_each_response_round_trips(capture: str) -> None:
    count = 0
    for exchange in exchanges(capture):
        if exchange.response is None:
            continue
        header, position = read_response_header(exchange.key, exchange.version, exchange.response)
        message = codec.decode(
            response_class(exchange.key), exchange.version, exchange.response, position
        )
        frame = response_frame(message, exchange.version, correlation_id=header.correlation_id)
        assert joined(frame)[LENGTH:] == exchange.response, exchange
        count += 1
    assert count > 40


def test_decoded_values_are_those_that_another_decoder_saw() -> None:
    """`versions.jsonl` has the fields as kafka-python read them."""
    compared = 0
    with (DATA / "versions.jsonl").open() as lines:
        for line in lines:
            entry = json.loads(line)
            if not entry["response"]:
                continue
            frame = bytes.fromhex(entry["response_hex"])[LENGTH:]
            version = entry["version"]
            _, position = read_response_header(entry["key"], version, frame)
            message = codec.decode(response_class(entry["key"]), version, frame, position)
            compared += same_values(message, entry["response"], entry["api"])
    assert compared > 1000


def test_capture_has_no_silent_gaps() -> None:
    """Each API of the captures in at least one version, so that a lost file is seen."""
    seen = {exchange.key for capture in CAPTURES for exchange in exchanges(capture)}
    assert len(seen) > 70


def same_values(ours: object, theirs: object, path: str) -> int:
    """The number of simple values compared. Fields that only one side has are left out: the other
    decoder omits what the version lacks, and adds sugar of its own."""
    if isinstance(theirs, dict):
        return sum(
            same_values(getattr(ours, name), value, f"{path}.{name}")
            for name, value in theirs.items()
            if hasattr(ours, name)
        )
    if path.endswith("authorized_operations"):
        return 0  # a bit field here, a list of names there.
    if isinstance(theirs, list):
        assert isinstance(ours, list), path
        assert len(ours) == len(theirs), path
        return sum(same_values(*pair, path) for pair in zip(ours, theirs, strict=True))
    if isinstance(ours, (bytes, memoryview, Struct)):
        return 0  # uuids and bytes have their own print there, and a struct of defaults is null.
    assert ours == theirs, path
    return 1


def joined(parts: list[bytes | bytearray | memoryview | Sized]) -> bytes:
    assert all(isinstance(part, (bytes, memoryview)) for part in parts)
    return b"".join(part for part in parts if isinstance(part, (bytes, memoryview)))
