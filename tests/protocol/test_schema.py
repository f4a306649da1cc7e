from __future__ import annotations

import copy
import pickle

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
from kafkalite.protocol.schema import (
    Message,
    RawTaggedField,
    Request,
    Struct,
    default_of,
    schema_of,
)
from kafkalite.protocol.versions import OPEN_END
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


def test_defaults_are_fresh_where_they_must_be() -> None:
    field = {found.name: found for found in schema_of(Everything).fields}
    assert default_of(field["inners"]) == []
    assert default_of(field["inners"]) is not default_of(field["inners"])
    assert default_of(field["inner"]) == Inner()
    assert default_of(field["tiny"]) == -1
    assert default_of(field["nullable_names"]) is None
