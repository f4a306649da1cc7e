"""The records that the clients' tests send, and what comes back: plain values that can be
compared."""

from __future__ import annotations

import time
from dataclasses import dataclass

Headers = tuple[tuple[str, bytes], ...]

BASE_TIMESTAMP = (time.time_ns() // 3_600_000_000_000 - 1) * 3_600_000
"""One hour ago or more, less than two. Every five minutes brokers look for what is older than a
week, and delete it; what is more than an hour ahead, they refuse."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A record, all fields as a client hands them in. Key and value are never both None: a client
    refuses that."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = BASE_TIMESTAMP


@dataclass(frozen=True, slots=True)
class Received:
    """A record as a consumer gave it."""

    offset: int
    sample: Sample


def samples(count: int) -> list[Sample]:
    """Records of many shapes: null and empty keys and values, none to three headers (a name twice,
    an empty value, bytes that are no text), sizes from 0 to some 2 KiB, timestamps that go back
    and forth."""
    return [_sample(i) for i in range(count)]


def _sample(i: int) -> Sample:
    key: bytes | None = f"key-{i % 101}".encode()
    value: bytes | None = f"value {i} ".encode() + bytes([i % 256]) * (i * 7 % 211)
    if i % 11 == 0:
        key = None
    elif i % 13 == 0:
        value = None
    elif i % 17 == 0:
        key = b""
    elif i % 19 == 0:
        value = b""
    elif i % 997 == 0:
        value = b"large" * 400
    names = ("trace", "trace", "bin")
    values = (str(i).encode(), b"", bytes(range(i % 32)))
    headers = tuple(zip(names[: i % 4], values[: i % 4], strict=True))
    return Sample(key, value, headers, BASE_TIMESTAMP + (i * 37 % 1000) - 500 + i)


def in_order(received: list[Received], sent: list[Sample], *, first_offset: int = 0) -> None:
    """Assert that exactly `sent` came back, in order, at consecutive offsets. Shows the first that
    differs."""
    for i, (got, want) in enumerate(zip(received, sent, strict=False)):
        assert got == Received(first_offset + i, want)
    assert len(received) == len(sent)
