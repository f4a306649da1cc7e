"""Varints, and the small functions that compiled codecs call off their straight line.

An unsigned varint is 7 bits a byte, least first, the high bit set on all but the last; at most five
bytes (`ByteUtils.java`). In flexible versions (KIP-482) lengths are unsigned varints of length + 1,
where 0 is null, and each struct ends with its tagged fields:

    count (varint) | tag (varint) | size (varint) | size bytes | tag ...    tags ascending

Decoders raise `ProtocolError` and nothing else; before they allocate, what they allocate for is
checked against the bytes that are left.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol.schema import RawTaggedField, Struct, schema_of

Buffer = bytes | bytearray | memoryview

MAX_STRING: Final = 0x7FFF
"""Bytes of UTF-8 in a string, with either way to write its length."""

VARINTS: Final = tuple(bytes((value,)) for value in range(128))
"""The varints of one byte."""


def encode_varint(value: int) -> bytes:
    """The unsigned varint; `ValueError` unless it is below 2**32."""
    if not 0 <= value < 1 << 32:
        raise ValueError(f"{value} is no unsigned varint")
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The value at `position`, and the position after it."""
    try:
        first = buffer[position]
    except IndexError:
        raise ends_early("a varint") from None
    return (first, position + 1) if first < 128 else varint_tail(buffer, position + 1, first)


def varint_tail(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte, before `position`, was 128 or more."""
    value = first & 127
    for shift in (7, 14, 21, 28):
        if position >= len(buffer):
            raise ends_early("a varint")
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >= 1 << 32:
                break
            return value, position
    raise ProtocolError("a varint is longer than 32 bits")


def encode_length(length: int) -> bytes:
    """The varint for `length` bytes of a string; `ValueError` when a string can't be that long."""
    if length > MAX_STRING:
        raise ValueError(f"a string of {length} bytes is longer than {MAX_STRING}")
    return encode_varint(length + 1)


def ends_early(what: str) -> ProtocolError:
    """The frame ends before `what` does."""
    return ProtocolError(f"the bytes end before {what} does")


def bad_length(field: str, length: int, left: int) -> ProtocolError:
    """A length or count that can't be, or is more than the bytes left can hold."""
    return ProtocolError(f"{field}: a length of {length} with {left} bytes left")


def too_many(field: str, count: int) -> ProtocolError:
    """More elements than the arrays of one message may have."""
    return ProtocolError(f"{field}: {count} elements are too many for one message")


def bad_null(field: str) -> ProtocolError:
    """Null in a field that may not be null."""
    return ProtocolError(f"{field} may not be null")


def bad_tag(field: str, size: int, used: int) -> ProtocolError:
    """A tagged field whose value is not as long as its size says."""
    return ProtocolError(f"{field} takes {used} bytes of the {size} that its tag announces")


_runs: dict[str, tuple[Callable[..., Any], ...]] = {}  # Any: whatever the format holds.
_SHORT_RUN: Final = 17


def unpackers(format: str) -> tuple[Callable[..., Any], ...]:  # Any: as `_runs`.
    """For each count below 17, what unpacks that many numbers of a `struct` format."""
    key = "<" + format  # read
    if key not in _runs:
        _runs[key] = tuple(
            struct.Struct(f">{count}{format}").unpack_from for count in range(_SHORT_RUN)
        )
    return _runs[key]


def packers(format: str) -> tuple[Callable[..., Any], ...]:  # Any: as `_runs`.
    """For each count below 17, what packs that many numbers of a `struct` format."""
    key = ">" + format  # write
    if key not in _runs:
        _runs[key] = tuple(struct.Struct(f">{count}{format}").pack for count in range(_SHORT_RUN))
    return _runs[key]


def write_tagged(
    write: Callable[[bytes], object],
    known: list[tuple[int, bytes]],
    raw: tuple[RawTaggedField, ...],
) -> None:
    """The tagged section. `ValueError` when a tag comes twice."""
    fields = sorted([*known, *raw], key=lambda entry: entry[0])
    write(encode_varint(len(fields)))
    last = -1
    for tag, data in fields:
        if tag == last:
            raise ValueError(f"two tagged fields have tag {tag}")
        last = tag
        write(encode_varint(tag) + encode_varint(len(data)))
        write(data)


def refuse_fields(value: Struct, version: int, names: tuple[str, ...]) -> None:
    """Raise for the first of `names` that is not at its default: this version can't carry it.

    `KafkaError` UNSUPPORTED_VERSION, as Kafka's `UnsupportedVersionException`.
    """
    fresh = type(value)()
    for name in names:
        found = getattr(value, name)
        if found != getattr(fresh, name):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{schema_of(type(value)).name}.{name} is {found!r}, "
                f"which version {version} can't carry",
            )
