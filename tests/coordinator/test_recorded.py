"""What the log says, among it the real Kafka's."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.state import ConsumerGroup
from kafkalite.coordinator.groups.log_record import Record, TransactionEnded
from kafkalite.coordinator.groups.recorded import RecordedState
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.protocol.messages.consumer_group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from kafkalite.types import ProducerId, TopicPartition
from tests.coordinator.golden_log import golden_records

PRODUCER = ProducerId(5)
KEY = OffsetCommitKey(group="g", topic="t", partition=0)


def test_a_groups_last_record_counts() -> None:
    state = RecordedState()
    value = GroupMetadataValue(generation=2)
    state.apply(Record(GroupMetadataKey(group="g"), GroupMetadataValue(generation=1)))
    state.apply(Record(GroupMetadataKey(group="g"), value))
    assert state.groups == {"g": value}
    state.apply(Record(GroupMetadataKey(group="g"), None))
    state.apply(Record(GroupMetadataKey(group="g"), None))
    assert state.groups == {}


def test_an_offset_makes_a_group_where_there_is_none() -> None:
    state = RecordedState()
    state.apply(Record(KEY, OffsetCommitValue(offset=3)))
    assert state.groups == {"g": None}
    state.apply(Record(KEY, None))
    assert state.groups == {"g": None}
    assert not state.offsets.of_group("g")


def test_an_offset_leaves_a_group_as_it_is() -> None:
    state = RecordedState()
    value = GroupMetadataValue(generation=2)
    state.apply(Record(GroupMetadataKey(group="g"), value))
    state.apply(Record(KEY, OffsetCommitValue(offset=3)))
    assert state.groups == {"g": value}


def test_transactions_end() -> None:
    state = RecordedState()
    state.apply(Record(KEY, OffsetCommitValue(offset=3), PRODUCER))
    assert not state.offsets.of_group("g")
    state.apply(TransactionEnded(PRODUCER, committed=True))
    assert state.offsets.of_group("g")[TopicPartition("t", 0)].offset == 3


def test_other_kinds_of_groups_are_passed_over() -> None:
    state = RecordedState()
    state.apply(Record(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue()))
    assert state.groups == {}


def test_kafkas_own_log_says_what_its_tool_says() -> None:
    """`classic-group`, `txn-group` and `consumer-group` (of the new protocol) are left, empty since
    their only member left; one was deleted; one transaction committed its offset, another was
    aborted."""
    state = RecordedState()
    for record in golden_records():
        state.apply(record)
    classic = {id: value for id, value in state.groups.items() if value is not None}
    told = {
        id: (v.protocol_type, v.generation, v.protocol, v.leader, v.current_state_timestamp)
        for id, v in classic.items()
    }
    assert told == {
        "classic-group": ("consumer", 2, None, None, 1795958824508),
        "txn-group": ("consumer", 2, None, None, 1795958825226),
    }
    assert state.consumer_groups == {
        "consumer-group": ConsumerGroup("consumer-group", epoch=3, assignment_epoch=3)
    }
    kept = {
        (id, str(at)): (offset.offset, offset.leader_epoch, offset.metadata)
        for id in state.offsets.groups()
        for at, offset in state.offsets.of_group(id).items()
    }
    assert kept == {
        ("classic-group", "plain-0"): (17, -1, "some metadata\0"),
        ("consumer-group", "plain-0"): (17, -1, "some metadata\0"),
        ("txn-group", "plain-0"): (33, -1, ""),
        ("streams-streams", "plain-0"): (60, 0, "AgAAAYvP5k54"),
    }
    assert not list(state.offsets.pending_groups())
