from __future__ import annotations

import copy
import pickle

import pytest

from kafkalite.protocol.schema import (
    OPEN_END,
    Field,
    Message,
    RawTaggedField,
    Request,
    Struct,
    Versions,
    array,
    binary,
    boolean,
    default_of,
    float64,
    int8,
    int16,
    int32,
    int64,
    record_batches,
    schema_of,
    string,
    struct,
    uint16,
    uint32,
    uuid,
)
from kafkalite.types import ZERO_UUID, Uuid


class Inner(Struct):
    name: str | None = string("0+", nullable="2+", entity="topicName", map_key=True)
    ids: list[int] = array(int32, "1-3")


class Everything(Request, api_key=7, versions="0-5", flexible="4+", listeners="broker controller"):
    flag: bool = boolean("0+", default=True)
    tiny: int = int8("0+", default=-1)
    small: int = int16("0+")
    medium: int = int32("0+")
    large: int = int64("0+", ignorable=True)
    port: int = uint16("0+")
    crc: int = uint32("0+")
    rate: float = float64("0+")
    topic_id: Uuid = uuid("0+")
    text: str | None = string("0+", nullable="0+", default=None)
    blob: bytes = binary("0+")
    batches: bytes | None = record_batches("0+")  # type: ignore[assignment]  # narrower, for the test.
    inner: Inner = struct(Inner, "0+")
    maybe: Inner | None = struct(Inner, "0+", nullable="0+", default=None)
    inners: list[Inner] = array(Inner, "0+")
    nullable_names: list[str] | None = array(string, "0+", nullable="0+", default=None)
    late: int = int32("5+", tag=3)
    later: str = string("0+", tag=4, tagged="4+", flexible="none")


class Unstable(Message, versions="3", unstable=True):
    pass


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("0+", 0, OPEN_END), ("3-11", 3, 11), ("7", 7, 7), ("12+", 12, OPEN_END)],
)
def test_versions(text: str, first: int, last: int) -> None:
    versions = Versions.parse(text)
    assert (versions.first, versions.last) == (first, last)
    assert first in versions
    assert last in versions
    assert first - 1 not in versions
    assert last + 1 not in versions


def test_no_version_is_in_none() -> None:
    assert not any(version in Versions.parse("none") for version in (-1, 0, 1, OPEN_END))
    versions: object = "0"
    assert versions not in Versions.parse("0+")


@pytest.mark.parametrize("text", ["", "x", "1-x", "+"])
def test_what_is_no_range_of_versions(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        Versions.parse(text)


def test_each_kind_has_its_default() -> None:
    message = Everything()
    assert (message.flag, message.tiny, message.small, message.medium) == (True, -1, 0, 0)
    assert (message.large, message.port, message.crc, message.rate) == (0, 0, 0, 0.0)
    assert (message.topic_id, message.text, message.blob) == (ZERO_UUID, None, b"")
    assert (message.batches, message.maybe, message.nullable_names) == (None, None, None)
    assert (message.inner, message.inners) == (Inner(), [])
    assert message.unknown_tagged_fields == ()


def test_messages_do_not_share_their_defaults() -> None:
    one, other = Everything(), Everything()
    one.inners.append(Inner())
    one.inner.ids.append(1)
    assert other == Everything()


def test_construction_is_by_keyword_and_only_of_what_is_declared() -> None:
    inner = Inner(name="t", ids=[1, 2])
    assert (inner.name, inner.ids) == ("t", [1, 2])
    assert Everything(inner=inner).inner is inner
    with pytest.raises(TypeError):
        Inner("t")  # type: ignore[call-arg, arg-type]  # the point of the test.
    with pytest.raises(TypeError):
        Inner(nam="t")  # type: ignore[call-arg]  # the point of the test.


def test_instances_have_slots_and_nothing_else() -> None:
    with pytest.raises(AttributeError):
        Inner().nme = "t"  # type: ignore[attr-defined]  # the point of the test.
    assert not hasattr(Inner(), "__dict__")


def test_equality_is_by_value() -> None:
    assert Inner(name="t") == Inner(name="t")
    assert Inner(name="t") != Inner(name="u")
    assert Inner() != Inner(unknown_tagged_fields=(RawTaggedField(1, b""),))
    assert Unstable() != Inner()
    with pytest.raises(TypeError):
        hash(Inner())


def test_repr_names_each_field() -> None:
    assert repr(Inner(name="t")) == "Inner(name='t', ids=[])"
    tagged = Unstable(unknown_tagged_fields=(RawTaggedField(9, b"x"),))
    assert repr(tagged) == "Unstable(unknown_tagged_fields=(RawTaggedField(tag=9, data=b'x'),))"


def test_messages_can_be_copied_and_pickled() -> None:
    message = Everything(text="x", inners=[Inner(name="t")])
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_facts_of_a_message() -> None:
    schema = schema_of(Everything)
    assert (schema.name, schema.api_key) == ("Everything", 7)
    assert schema.versions == (0, 5)
    assert schema.flexible == (4, OPEN_END)
    assert schema.listeners == ("broker", "controller")
    assert not schema.unstable
    assert schema_of(Unstable).unstable
    assert schema_of(Unstable).versions == (3, 3)


def test_facts_of_a_struct() -> None:
    schema = schema_of(Inner)
    assert (schema.api_key, schema.listeners) == (-1, ())
    assert 0 not in schema.versions
    assert 0 not in schema.flexible


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
    assert field(Everything, "large").ignorable
    assert field(Everything, "late").tagged == (5, OPEN_END)
    assert field(Everything, "later").tagged == (4, OPEN_END)
    assert field(Everything, "later").flexible == (0, -1)


def test_defaults_are_fresh_where_they_must_be() -> None:
    inners, inner = field(Everything, "inners"), field(Everything, "inner")
    assert default_of(inners) == []
    assert default_of(inners) is not default_of(inners)
    assert default_of(inner) == Inner()
    assert default_of(field(Everything, "tiny")) == -1
    assert default_of(field(Everything, "nullable_names")) is None


def test_an_array_of_something_else_is_no_declaration() -> None:
    with pytest.raises(AssertionError):
        array(len, "0+")
