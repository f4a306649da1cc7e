"""Which bytes an encoder makes of what, kind by kind; that both ways agree is `test_messages`."""

from __future__ import annotations

import struct

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.encoding import compile_encoder
from kafkalite.protocol.fields import (
    Records,
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    record_batches,
    string,
    uuid,
)
from kafkalite.protocol.fields import struct as struct_field
from kafkalite.protocol.schema import RawTaggedField, Struct
from kafkalite.types import ZERO_UUID, Uuid

ID = Uuid(bytes(range(16)))


class Point(Struct):
    x: int = int8("0+")
    y: int = int8("1+", default=7)


class Rigid(Struct):
    flag: bool = boolean("0+")
    small: int = int16("0+")
    text: str | None = string("0+", nullable="1+")
    blob: bytes | None = binary("0+", nullable="1+")
    batches: Records | None = record_batches("0+", nullable="0+")
    rate: float = float64("0+")


class Lists(Struct):
    numbers: list[int] | None = array(int16, "0+", nullable="1+")
    ids: list[Uuid] = array(uuid, "0+")
    texts: list[str] = array(string, "0+")
    points: list[Point] = array(Point, "0+")


class Nested(Struct):
    point: Point = struct_field(Point, "0+")
    maybe: Point | None = struct_field(Point, "0+", nullable="0+", default=None)


class Tagged(Struct):
    text: str | None = string("0+", tag=2, nullable="0+", default=None)
    number: int = int32("0+", tag=0, default=-1)
    maybe: Point | None = struct_field(Point, "0+", tag=3, nullable="0+")
    numbers: list[int] | None = array(int16, "0+", tag=4, nullable="0+")
    topic_id: Uuid = uuid("0+", tag=5)
    rigid: str = string("0+", flexible="none")


class Absent(Struct):
    """Version 0 has no field; each of these is refused there unless it has its default."""

    flag: bool = boolean("1+")
    number: int = int32("1+", default=-1)
    rate: float = float64("1+")
    topic_id: Uuid = uuid("1+")
    text: str = string("1+")
    null_text: str | None = string("1+", nullable="1+", default=None)
    blob: bytes = binary("1+")
    batches: Records | None = record_batches("1+", nullable="1+")
    numbers: list[int] = array(int32, "1+")
    null_numbers: list[int] | None = array(int32, "1+", nullable="1+", default=None)
    point: Point = struct_field(Point, "1+")
    null_point: Point | None = struct_field(Point, "1+", nullable="1+", default=None)


class Ignorable(Struct):
    number: int = int32("1+", ignorable=True)


def write(message: Struct, version: int = 0, *, flexible: bool = False) -> bytes:
    pieces: list[bytes] = []
    marks: list[int] = []
    compile_encoder(type(message), version, flexible=flexible)(message, pieces, marks)
    return b"".join(pieces)


def test_rigid_lengths() -> None:
    message = Rigid(flag=True, small=-2, text="ab", blob=b"c", batches=b"def", rate=1.5)
    assert write(message) == (
        b"\x01\xff\xfe\x00\x02ab\x00\x00\x00\x01c\x00\x00\x00\x03def"
    ) + struct.pack(">d", 1.5)


def test_flexible_lengths() -> None:
    message = Rigid(text="ab", blob=b"c", batches=b"def")
    assert write(message, flexible=True) == (b"\x00\x00\x00\x03ab\x02c\x04def" + bytes(8) + b"\x00")


@pytest.mark.parametrize(
    ("size", "length"), [(126, b"\x7f"), (127, b"\x80\x01"), (200, b"\xc9\x01")]
)
def test_flexible_lengths_of_two_bytes(size: int, length: bytes) -> None:
    message = Rigid(text="x" * size, blob=b"y" * size, batches=b"z" * size)
    assert write(message, flexible=True) == (
        b"\x00\x00\x00"
        + (length + b"x" * size)
        + (length + b"y" * size)
        + (length + b"z" * size)
        + bytes(8)
        + b"\x00"
    )


def test_null() -> None:
    message = Rigid(text=None, blob=None, batches=None)
    assert write(message, 1) == b"\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" + bytes(8)
    assert write(message, 1, flexible=True) == bytes(3) + bytes(3) + bytes(8) + b"\x00"


@pytest.mark.parametrize("message", [Rigid(text=None), Rigid(blob=None)])
def test_null_where_it_may_not_be(message: Rigid) -> None:
    with pytest.raises((TypeError, AttributeError)):
        write(message)


def test_the_longest_string() -> None:
    assert len(write(Rigid(text="x" * 32767))) > 32767
    with pytest.raises(struct.error):
        write(Rigid(text="x" * 32768))
    assert len(write(Rigid(text="x" * 32767), flexible=True)) > 32767
    with pytest.raises(ValueError, match="longer than 32767"):
        write(Rigid(text="x" * 32768), flexible=True)


def test_record_bytes_are_marked() -> None:
    pieces: list[bytes] = []
    marks: list[int] = []
    batches = bytearray(b"batch")
    encoder = compile_encoder(Rigid, 0, flexible=False)
    encoder(Rigid(batches=batches), pieces, marks)
    assert [pieces[mark] is batches for mark in marks] == [True]
    encoder(Rigid(batches=b""), pieces, marks)
    encoder(Rigid(batches=None), pieces, marks)
    assert len(marks) == 1


def test_arrays() -> None:
    message = Lists(numbers=[1, -1], ids=[ID], texts=["a", ""], points=[Point(x=5), Point(x=6)])
    assert write(message) == (
        b"\x00\x00\x00\x02\x00\x01\xff\xff"
        b"\x00\x00\x00\x01" + ID + b"\x00\x00\x00\x02\x00\x01a\x00\x00"
        b"\x00\x00\x00\x02\x05\x06"
    )
    assert write(message, 1, flexible=True) == (
        b"\x03\x00\x01\xff\xff\x02" + ID + b"\x03\x02a\x01\x03\x05\x07\x00\x06\x07\x00\x00"
    )


@pytest.mark.parametrize("count", [0, 1, 16, 17, 200])
def test_arrays_short_and_long(count: int) -> None:
    numbers = list(range(count))
    data = struct.pack(f">i{count}h", count, *numbers) + bytes(12)
    assert write(Lists(numbers=numbers)) == data


def test_a_null_array() -> None:
    assert write(Lists(numbers=None), 1) == b"\xff\xff\xff\xff" + bytes(12)
    assert write(Lists(numbers=None), 1, flexible=True) == b"\x00\x01\x01\x01\x00"


@pytest.mark.parametrize("wrong", [b"", bytes(15), bytes(17)])
def test_a_uuid_has_16_bytes(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="not a UUID's 16 bytes"):
        write(Lists(ids=[Uuid(wrong)]))


def test_structs_in_structs() -> None:
    assert write(Nested(point=Point(x=5))) == b"\x05\xff"
    assert write(Nested(point=Point(x=5), maybe=Point(x=6))) == b"\x05\x01\x06"
    assert write(Nested(maybe=Point(x=6)), flexible=True) == b"\x00\x00\x01\x06\x00\x00"


def test_tagged_fields_with_their_defaults_are_not_sent() -> None:
    assert write(Tagged(), flexible=True) == b"\x00\x00\x00"
    assert write(Tagged(maybe=Point(), numbers=[]), flexible=True) == b"\x00\x00\x00"


def test_tagged_fields_go_out_in_order_of_their_tags() -> None:
    message = Tagged(text="a", number=5, maybe=Point(x=5), numbers=[9], topic_id=ID, rigid="r")
    assert write(message, flexible=True) == (
        b"\x00\x01r"
        b"\x05"
        b"\x00\x04\x00\x00\x00\x05"
        b"\x02\x02\x02a"
        b"\x03\x03\x01\x05\x00"
        b"\x04\x03\x02\x00\x09"
        b"\x05\x10" + ID
    )


def test_a_tagged_null_that_is_no_default() -> None:
    data = write(Tagged(maybe=None, numbers=None), flexible=True)
    assert data == b"\x00\x00\x02\x03\x01\x00\x04\x01\x00"


def test_a_tagged_struct_with_unknown_fields_is_no_default() -> None:
    point = Point(unknown_tagged_fields=(RawTaggedField(9, b""),))
    assert write(Tagged(maybe=point), flexible=True) == b"\x00\x00\x01\x03\x05\x01\x00\x01\x09\x00"


def test_unknown_tagged_fields_go_out_among_the_known() -> None:
    raw = (RawTaggedField(300, b""), RawTaggedField(1, b"hi"))
    data = write(Tagged(text="a", unknown_tagged_fields=raw), flexible=True)
    assert data == b"\x00\x00\x03\x01\x02hi\x02\x02\x02a\xac\x02\x00"


def test_rigid_versions_can_not_carry_unknown_tagged_fields() -> None:
    with pytest.raises(KafkaError, match="unknown_tagged_fields"):
        write(Point(unknown_tagged_fields=(RawTaggedField(9, b""),)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", True),
        ("number", 0),
        ("rate", 0.1),
        ("topic_id", ID),
        ("text", "x"),
        ("null_text", ""),
        ("blob", b"x"),
        ("batches", b""),
        ("numbers", [1]),
        ("null_numbers", []),
        ("point", Point(x=1)),
        ("null_point", Point()),
    ],
)
def test_a_field_that_the_version_lacks_is_refused(name: str, value: object) -> None:
    message = Absent()
    assert write(message) == b""
    setattr(message, name, value)
    with pytest.raises(KafkaError, match=rf"Absent\.{name} is ") as refused:
        write(message)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION
    assert write(message, 1) != write(Absent(), 1)


def test_unless_it_is_ignorable() -> None:
    assert write(Ignorable(number=5)) == b""
    assert write(Ignorable(number=5), 1) == b"\x00\x00\x00\x05"


def test_the_zero_uuid_is_the_default() -> None:
    assert write(Absent(topic_id=ZERO_UUID)) == b""
