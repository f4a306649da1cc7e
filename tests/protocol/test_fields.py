from __future__ import annotations

import pytest

from kafkalite.protocol.fields import (
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
    struct,
    uint16,
    uint32,
    uuid,
)
from kafkalite.protocol.schema import Field, Message, Struct, schema_of
from kafkalite.protocol.versions import OPEN_END
from kafkalite.types import Uuid


class Inner(Struct):
    name: str | None = string("0+", nullable="2+", entity="topicName", map_key=True)


class Kinds(Message, versions="0"):
    flag: bool = boolean("0+")
    tiny: int = int8("0+")
    small: int = int16("0+")
    medium: int = int32("0+")
    large: int = int64("0+", ignorable=True)
    port: int = uint16("0+")
    crc: int = uint32("0+")
    rate: float = float64("0+")
    topic_id: Uuid = uuid("0+")
    text: str = string("0+")
    blob: bytes = binary("0+")
    inner: Inner = struct(Inner, "0+")
    inners: list[Inner] = array(Inner, "0+")
    numbers: list[int] = array(int32, "0+")
    late: int = int32("5+", tag=3)
    later: str = string("0+", tag=4, tagged="4+", flexible="none")


class WithRecords(Message, versions="0"):
    batches: object = record_batches("0+")


def field(cls: type[Struct], name: str) -> Field:
    return next(found for found in schema_of(cls).fields if found.name == name)


def test_facts_of_a_field() -> None:
    name = field(Inner, "name")
    assert (name.entity, name.map_key, name.ignorable, name.tag) == ("topicName", True, False, None)
    assert name.versions == (0, OPEN_END)
    assert name.nullable == (2, OPEN_END)
    assert 0 not in name.tagged
    assert name.flexible is None
    assert repr(name) == "<Field name: string 0+>"
    assert field(Kinds, "large").ignorable
    assert field(Kinds, "late").tagged == (5, OPEN_END)
    assert field(Kinds, "later").tagged == (4, OPEN_END)
    assert field(Kinds, "later").flexible == (0, -1)


def test_an_array_of_something_else_is_no_declaration() -> None:
    with pytest.raises(AssertionError):
        array(len, "0+")


def test_each_function_declares_its_kind() -> None:
    assert {
        found.name: (found.kind.name, found.kind.size) for found in schema_of(Kinds).fields
    } == {
        "flag": ("boolean", 1),
        "tiny": ("int8", 1),
        "small": ("int16", 2),
        "medium": ("int32", 4),
        "large": ("int64", 8),
        "port": ("uint16", 2),
        "crc": ("uint32", 4),
        "rate": ("float64", 8),
        "topic_id": ("uuid", 16),
        "text": ("string", 0),
        "blob": ("binary", 0),
        "inner": ("struct", 0),
        "inners": ("array", 0),
        "numbers": ("array", 0),
        "late": ("int32", 4),
        "later": ("string", 0),
    }
    assert [found.kind.name for found in schema_of(WithRecords).fields] == ["records"]


def test_arrays_and_structs_say_what_is_in_them() -> None:
    assert field(Kinds, "inner").kind.struct is Inner
    inners, numbers = field(Kinds, "inners").kind.element, field(Kinds, "numbers").kind.element
    assert inners is not None
    assert numbers is not None
    assert inners.struct is Inner
    assert (numbers.name, numbers.format) == ("int32", "i")


def test_which_defaults_are_made_anew() -> None:
    made = {found.name for found in schema_of(Kinds).fields if found.makes_default}
    assert made == {"inner", "inners", "numbers"}
