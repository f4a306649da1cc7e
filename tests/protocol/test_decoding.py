"""What a decoder reads from which bytes, kind by kind; that both ways agree is `test_messages`."""

from __future__ import annotations

import struct

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.protocol.decoding import (
    TAGS_LIMIT,
    compile_decoder,
    holds_records,
    is_flexible,
    least_size,
    struct_in,
)
from kafkalite.protocol.fields import (
    INT32,
    RECORDS,
    STRING,
    Records,
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    record_batches,
    string,
    uint16,
    uint32,
    uuid,
)
from kafkalite.protocol.fields import struct as struct_field
from kafkalite.protocol.primitives import encode_varint
from kafkalite.protocol.schema import Field, Kind, Message, RawTaggedField, Struct, schema_of
from kafkalite.types import Uuid
from tests.protocol.message_values import all_versions

ID = bytes(range(16))


class Fixed(Struct):
    flag: bool = boolean("0+")
    tiny: int = int8("0+")
    small: int = int16("0+")
    medium: int = int32("0+")
    large: int = int64("0+")
    port: int = uint16("0+")
    crc: int = uint32("0+")
    rate: float = float64("0+")
    topic_id: Uuid = uuid("0+")


class Sized(Struct):
    text: str | None = string("0+", nullable="1+")
    blob: bytes | None = binary("0+", nullable="1+")
    batches: Records | None = record_batches("0+", nullable="1+")


class Point(Struct):
    x: int = int8("0+")
    y: int = int8("1+", default=7)


class Lists(Struct):
    numbers: list[int] | None = array(int16, "0+", nullable="1+")
    ids: list[Uuid] = array(uuid, "0+")
    texts: list[str] = array(string, "0+")
    points: list[Point] = array(Point, "0+")


class Nested(Struct):
    point: Point = struct_field(Point, "0+")
    maybe: Point | None = struct_field(Point, "0+", nullable="0+", default=None)


class Tagged(Struct):
    number: int = int32("0+", tag=0, default=-1)
    text: str | None = string("0+", tag=2, nullable="0+", default=None)
    maybe: Point | None = struct_field(Point, "0+", tag=3, nullable="0+", default=None)
    rate: float = float64("9+", default=0.5)
    text_of_old: str = string("0+", flexible="none")


class Newer(Struct):
    point: Point = struct_field(Point, "1+")
    points: list[Point] = array(Point, "1+")
    nothing: Point | None = struct_field(Point, "1+", nullable="1+", default=None)


class Nothing(Struct):
    pass


class Nothings(Struct):
    nothings: list[Nothing] = array(Nothing, "0+")


def read(
    cls: type[Struct], data: bytes, version: int = 0, *, flexible: bool = False, limit: int = 10_000
) -> Struct:
    viewing = holds_records(cls, version)
    decoder = compile_decoder(cls, version, flexible=flexible)
    message, end = decoder(memoryview(data) if viewing else data, 0, len(data), limit)
    assert end == len(data)
    assert isinstance(message, cls)
    return message


def refuses(
    cls: type[Struct], data: bytes, match: str, version: int = 0, *, flexible: bool = False
) -> None:
    with pytest.raises(ProtocolError, match=match):
        read(cls, data, version, flexible=flexible)


def test_fixed_sizes() -> None:
    data = struct.pack(">?bhiqHId", True, -1, -2, -3, -4, 0xFFFF, 0xFFFFFFFF, 1.5) + ID
    assert read(Fixed, data) == Fixed(
        flag=True,
        tiny=-1,
        small=-2,
        medium=-3,
        large=-4,
        port=0xFFFF,
        crc=0xFFFFFFFF,
        rate=1.5,
        topic_id=Uuid(ID),
    )


def test_any_byte_but_0_is_true() -> None:
    made = read(Fixed, b"\x02" + bytes(45))
    assert isinstance(made, Fixed)
    assert made.flag is True


def test_fixed_sizes_cut_off_raise_what_codec_translates() -> None:
    with pytest.raises(struct.error):
        read(Fixed, bytes(45))


def test_lengths_of_rigid_versions() -> None:
    data = b"\x00\x02ab\x00\x00\x00\x01c\x00\x00\x00\x03def"
    assert read(Sized, data) == Sized(text="ab", blob=b"c", batches=b"def")


def test_lengths_of_flexible_versions() -> None:
    assert read(Sized, b"\x03ab\x02c\x04def\x00", flexible=True) == Sized(
        text="ab", blob=b"c", batches=b"def"
    )
    long = b"\xc9\x01" + b"x" * 200 + b"\xc9\x01" + b"y" * 200 + b"\xc9\x01" + b"z" * 200 + b"\x00"
    assert read(Sized, long, flexible=True) == Sized(
        text="x" * 200, blob=b"y" * 200, batches=b"z" * 200
    )


def test_null() -> None:
    rigid = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    null = Sized(text=None, blob=None, batches=None)
    assert read(Sized, rigid, 1) == null
    assert read(Sized, b"\x00\x00\x00\x00", 1, flexible=True) == null


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"\xff\xff", "text"),
        (b"\x00\x00\xff\xff\xff\xff", "blob"),
        (b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", "batches"),
    ],
)
def test_null_where_it_may_not_be(data: bytes, field: str) -> None:
    refuses(Sized, data, f"Sized.{field} may not be null")


@pytest.mark.parametrize("field", ["text", "blob", "batches"])
def test_null_where_it_may_not_be_in_a_flexible_version(field: str) -> None:
    before = {"text": b"", "blob": b"\x01", "batches": b"\x01\x01"}[field]
    refuses(Sized, before + b"\x00", f"Sized.{field} may not be null", flexible=True)


@pytest.mark.parametrize(
    ("data", "flexible"),
    [
        (b"\x00\x05abcd", False),
        (b"\x00\x00\x7f\xff\xff\xff", False),
        (b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", False),
        (b"\x06abcd", True),
        (b"\x01\xff\xff\xff\xff\x0f", True),
        (b"\xff\xff\x03" + bytes(70_000), True),  # a string of more than 32767 bytes.
    ],
)
def test_a_length_that_can_not_be(data: bytes, flexible: bool) -> None:
    refuses(Sized, data, "a length of", flexible=flexible)


def test_arrays() -> None:
    data = (
        b"\x00\x00\x00\x02\x00\x01\xff\xff"
        b"\x00\x00\x00\x01" + ID + b"\x00\x00\x00\x02\x00\x01a\x00\x00"
        b"\x00\x00\x00\x02\x05\x06"
    )
    assert read(Lists, data) == Lists(
        numbers=[1, -1], ids=[Uuid(ID)], texts=["a", ""], points=[Point(x=5), Point(x=6)]
    )


def test_arrays_of_flexible_versions() -> None:
    data = b"\x03\x00\x01\xff\xff\x02" + ID + b"\x03\x02a\x01\x02\x05\x06\x00\x00"
    assert read(Lists, data, 1, flexible=True) == Lists(
        numbers=[1, -1], ids=[Uuid(ID)], texts=["a", ""], points=[Point(x=5, y=6)]
    )


@pytest.mark.parametrize("count", [0, 1, 16, 17, 200])
def test_arrays_short_and_long(count: int) -> None:
    numbers = list(range(count))
    data = struct.pack(f">i{count}h", count, *numbers) + bytes(12)
    assert read(Lists, data) == Lists(numbers=numbers)


def test_a_null_array() -> None:
    assert read(Lists, b"\xff\xff\xff\xff" + bytes(12), 1) == Lists(numbers=None)
    refuses(Lists, b"\xff\xff\xff\xff" + bytes(12), r"Lists\.numbers may not be null")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"\x00\x00\x00\x02\x00\x01", "numbers"),
        (b"\x7f\xff\xff\xff" + bytes(100), "numbers"),
        (bytes(4) + b"\x00\x00\x00\x02" + bytes(31), "ids"),
        (bytes(8) + b"\x00\x00\x00\x02" + bytes(3), "texts"),
        (bytes(12) + b"\x00\x00\x00\x02" + bytes(1), "points"),
    ],
)
def test_a_count_that_the_bytes_left_can_not_hold(data: bytes, field: str) -> None:
    refuses(Lists, data, f"Lists.{field}: a length of")


def test_a_count_above_the_limit() -> None:
    data = b"\x00\x00\x00\x05" + bytes(10) + bytes(12)
    assert isinstance(read(Lists, data, limit=5), Lists)
    with pytest.raises(ProtocolError, match=r"Lists\.numbers: 5 elements are too many"):
        read(Lists, data, limit=4)


def test_elements_without_bytes_are_held_by_the_limit_alone() -> None:
    assert read(Nothings, b"\x00\x00\x00\x03") == Nothings(nothings=[Nothing()] * 3)
    with pytest.raises(ProtocolError, match="2147483647 elements are too many"):
        read(Nothings, b"\x7f\xff\xff\xff")


def test_structs_in_structs() -> None:
    assert read(Nested, b"\x05\xff") == Nested(point=Point(x=5))
    assert read(Nested, b"\x05\x01\x06") == Nested(point=Point(x=5), maybe=Point(x=6))
    flexible = b"\x05\x00\x01\x06\x00\x00"
    assert read(Nested, flexible, flexible=True) == Nested(point=Point(x=5), maybe=Point(x=6))


def test_fields_that_the_version_lacks_have_their_defaults() -> None:
    assert read(Point, b"\x05") == Point(x=5, y=7)
    assert read(Point, b"\x05\x06", 1) == Point(x=5, y=6)
    made = read(Newer, b"")
    assert made == Newer(point=Point(), points=[], nothing=None)
    made = read(Tagged, b"\x00\x00\x00", 8, flexible=True)
    assert made == Tagged(rate=0.5)


def test_tagged_fields() -> None:
    assert read(Tagged, b"\x00\x00\x00", flexible=True) == Tagged()
    data = b"\x00\x00\x03\x00\x04\x00\x00\x00\x05\x02\x02\x02a\x03\x03\x01\x05\x00"
    assert read(Tagged, data, flexible=True) == Tagged(number=5, text="a", maybe=Point(x=5))


def test_a_tagged_null() -> None:
    data = b"\x00\x00\x02\x02\x01\x00\x03\x01\x00"
    assert read(Tagged, data, flexible=True) == Tagged(text=None, maybe=None)


def test_tagged_fields_in_any_order_and_the_last_one_wins() -> None:
    data = b"\x00\x00\x03\x02\x02\x02a\x00\x04\x00\x00\x00\x05\x00\x04\x00\x00\x00\x06"
    assert read(Tagged, data, flexible=True) == Tagged(number=6, text="a")


def test_tagged_fields_that_are_not_known_are_kept() -> None:
    data = b"\x00\x00\x03\x01\x02hi\x00\x04\x00\x00\x00\x05\xac\x02\x00"
    made = read(Tagged, data, flexible=True)
    raw = (RawTaggedField(1, b"hi"), RawTaggedField(300, b""))
    assert made == Tagged(number=5, unknown_tagged_fields=raw)


@pytest.mark.parametrize(("count", "is_taken"), [(TAGS_LIMIT, True), (TAGS_LIMIT + 1, False)])
def test_so_many_tagged_fields_and_no_more(count: int, is_taken: bool) -> None:
    section = encode_varint(count) + b"".join(
        encode_varint(100 + number) + b"\x00" for number in range(count)
    )
    if is_taken:
        assert len(read(Nothing, section, flexible=True).unknown_tagged_fields) == count
    else:
        refuses(Nothing, section, f"tagged fields: a length of {count}", flexible=True)


def test_many_tagged_fields() -> None:
    section = b"\xac\x02" + b"".join(
        bytes((0x80 | tag & 127, tag >> 7, 0)) for tag in range(512, 812)
    )
    made = read(Nothing, section, flexible=True)
    assert [field.tag for field in made.unknown_tagged_fields] == list(range(512, 812))


@pytest.mark.parametrize(
    ("section", "match"),
    [
        (b"\x02\x00\x01", "Tagged's tagged fields: a length of 2 with 2"),
        (b"\x01\x07\x05abcd", "Tagged's tagged fields: a length of 5 with 4"),
        (b"\x01\x00\x05\x00\x00\x00\x05\x00", r"Tagged\.number takes 4 bytes of the 5"),
        (b"\x01\x02\x01\x02a", r"Tagged\.text takes 2 bytes of the 1"),
        (b"\xff\xff\xff\xff\x7f", "longer than 32 bits"),
        (b"\x01\xff\xff", "end before a varint"),
    ],
)
def test_broken_tagged_sections(section: bytes, match: str) -> None:
    refuses(Tagged, b"\x00\x00" + section, match, flexible=True)


def test_where_records_are() -> None:
    class Holder(Message, versions="0-1"):
        inner: list[Sized] = array(Sized, "1+")

    assert holds_records(Sized, 0)
    assert not holds_records(Lists, 0)
    assert not holds_records(Holder, 0)
    assert holds_records(Holder, 1)


def test_which_struct_is_in_a_field() -> None:
    assert struct_in(INT32) is None
    assert struct_in(Kind("array", element=STRING)) is None
    assert struct_in(Kind("struct", struct=Point)) is Point
    assert struct_in(Kind("array", element=Kind("struct", struct=Point))) is Point


@pytest.mark.parametrize(
    ("kind", "rigid", "flexible"),
    [
        (INT32, 4, 4),
        (STRING, 2, 1),
        (RECORDS, 4, 1),
        (Kind("array", element=INT32), 4, 1),
        (Kind("struct", struct=Point), 1, 2),
        (Kind("struct", struct=Nested), 2, 4),
        (Kind("struct", struct=Tagged), 2, 3),
        (Kind("struct", struct=Nothing), 0, 1),
    ],
)
def test_the_least_that_a_value_takes(kind: Kind, rigid: int, flexible: int) -> None:
    assert least_size(kind, 0, flexible=True) == flexible
    assert least_size(kind, 0, flexible=False) == rigid


def test_a_field_may_be_rigid_in_a_flexible_version() -> None:
    rigid = Field(STRING, "0+", "", {"flexible": "none"})
    usual = Field(STRING, "0+", "", {})
    assert not is_flexible(rigid, 3, flexible=True)
    assert is_flexible(usual, 3, flexible=True)
    assert not is_flexible(usual, 3, flexible=False)


def test_no_real_array_has_elements_without_bytes() -> None:
    def check(cls: type[Struct], version: int, *, flexible: bool) -> None:
        for field in schema_of(cls).fields:
            if version not in field.versions:
                continue
            if field.kind.element is not None:
                assert least_size(field.kind.element, version, flexible=flexible) > 0, field
            inner = struct_in(field.kind)
            if inner is not None:
                check(inner, version, flexible=flexible)

    for cls, version in all_versions():
        check(cls, version, flexible=version in schema_of(cls).flexible)
