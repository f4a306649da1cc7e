"""The JSON of messages; `tests/cli/test_dump_log.py` holds it against what Kafka's tool printed."""

from __future__ import annotations

from kafkalite.protocol.fields import array, binary, int32, record_batches, string, struct, uuid
from kafkalite.protocol.kafka_json import message_to_json, record_type_name
from kafkalite.protocol.messages.control_records import KRaftVersionRecord
from kafkalite.protocol.messages.metadata_records import NoOpRecord, RegisterBrokerRecord
from kafkalite.protocol.schema import Message, Struct
from kafkalite.types import Uuid


class Inner(Struct):
    small_number: int = int32("0+")
    later: int = int32("1+")


class Sample(Message, versions="0-1", flexible="1+"):
    inner_struct: Inner = struct(Inner, "0+")
    some_inners: list[Inner] = array(Inner, "0+")
    names: list[str] | None = array(string, "0+", nullable="0+")
    some_bytes: bytes = binary("0+")
    an_id: Uuid = uuid("0+")
    tagged_number: int = int32("1+", default=-1, tag=0)
    tagged_list: list[int] = array(int32, "1+", tag=1)
    records: bytes | None = record_batches("0+")  # type: ignore[assignment]  # Any kind of bytes.


def test_a_version_has_its_own_fields() -> None:
    inner = Inner(small_number=7, later=8)
    message = Sample(inner_struct=inner, some_inners=[inner], names=None, some_bytes=b"\xff")
    assert message_to_json(message, 0) == {
        "innerStruct": {"smallNumber": 7},
        "someInners": [{"smallNumber": 7}],
        "names": None,
        "someBytes": "/w==",
        "anId": "AAAAAAAAAAAAAAAAAAAAAA",
    }


def test_tagged_fields_are_told_where_they_say_something() -> None:
    assert "taggedNumber" not in message_to_json(Sample(), 1)
    document = message_to_json(Sample(tagged_number=3, tagged_list=[1, 2]), 1)
    assert (document["taggedNumber"], document["taggedList"]) == (3, [1, 2])


def test_names_as_kafka_has_them() -> None:
    assert message_to_json(KRaftVersionRecord(k_raft_version=1), 0) == {
        "version": 0,
        "kRaftVersion": 1,
    }
    assert record_type_name(RegisterBrokerRecord) == "REGISTER_BROKER_RECORD"
    assert record_type_name(NoOpRecord) == "NO_OP_RECORD"
