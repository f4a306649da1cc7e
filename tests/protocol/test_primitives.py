from __future__ import annotations

import struct

import pytest

from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol import primitives
from kafkalite.protocol.fields import int32, string
from kafkalite.protocol.schema import RawTaggedField, Struct

VARINTS = [
    (0, b"\x00"),
    (1, b"\x01"),
    (127, b"\x7f"),
    (128, b"\x80\x01"),
    (300, b"\xac\x02"),
    (1 << 21, b"\x80\x80\x80\x01"),
    ((1 << 32) - 1, b"\xff\xff\xff\xff\x0f"),
]


class Pair(Struct):
    number: int = int32("0+")
    text: str = string("0+")


@pytest.mark.parametrize(("value", "data"), VARINTS)
def test_varint(value: int, data: bytes) -> None:
    assert primitives.encode_varint(value) == data
    assert primitives.decode_varint(data, 0) == (value, len(data))
    assert primitives.decode_varint(memoryview(b"\xff" + data + b"\xff"), 1) == (
        value,
        len(data) + 1,
    )


def test_short_varints_are_ready_made() -> None:
    assert list(primitives.VARINTS) == [primitives.encode_varint(value) for value in range(128)]


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_what_is_no_varint(value: int) -> None:
    with pytest.raises(ValueError, match="no unsigned varint"):
        primitives.encode_varint(value)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_a_varint_cut_off(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="end before a varint"):
        primitives.decode_varint(data, 0)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x01"])
def test_a_varint_too_long(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="longer than 32 bits"):
        primitives.decode_varint(data, 0)


def test_the_length_of_a_compact_string() -> None:
    assert primitives.encode_length(0) == b"\x01"
    assert primitives.encode_length(primitives.MAX_STRING) == b"\x80\x80\x02"
    with pytest.raises(ValueError, match="longer than 32767"):
        primitives.encode_length(primitives.MAX_STRING + 1)


def test_errors_name_the_field() -> None:
    assert str(primitives.bad_length("T.f", 9, 2)) == "T.f: a length of 9 with 2 bytes left"
    assert str(primitives.bad_null("T.f")) == "T.f may not be null"
    assert "T.f takes 3 bytes of the 2" in str(primitives.bad_tag("T.f", 2, 3))
    assert isinstance(primitives.ends_early("it"), ProtocolError)


def test_runs_of_numbers() -> None:
    assert primitives.unpackers("h")[2](b"\x00\x01\xff\xff", 0) == (1, -1)
    assert primitives.packers("h")[2](1, -1) == b"\x00\x01\xff\xff"
    assert primitives.unpackers("h") is primitives.unpackers("h")
    assert primitives.packers("h") is primitives.packers("h")
    with pytest.raises(struct.error):
        primitives.unpackers("q")[1](b"1234567", 0)


def tagged(known: list[tuple[int, bytes]], *raw: RawTaggedField) -> bytes:
    pieces: list[bytes] = []
    primitives.write_tagged(pieces.append, known, raw)
    return b"".join(pieces)


def test_tagged_fields_go_out_in_order_of_their_tags() -> None:
    section = tagged([(5, b"five"), (0, b"")], RawTaggedField(300, b"x"), RawTaggedField(3, b"yy"))
    assert section == b"\x04\x00\x00\x03\x02yy\x05\x04five\xac\x02\x01x"


def test_a_tag_can_not_come_twice() -> None:
    with pytest.raises(ValueError, match="two tagged fields have tag 3"):
        tagged([(3, b"")], RawTaggedField(3, b""))


def test_the_field_that_a_version_can_not_carry_is_named() -> None:
    primitives.refuse_fields(Pair(), 1, ("number", "text"))
    with pytest.raises(KafkaError, match=r"Pair\.text is 'x', which version 1") as refused:
        primitives.refuse_fields(Pair(text="x"), 1, ("number", "text"))
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION
