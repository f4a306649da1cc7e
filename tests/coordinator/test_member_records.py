"""Records of consumer groups: ours from values and back, and the real Kafka's."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.member_records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    group_tombstones,
    member_record,
    regex_record,
    target_record,
)
from kafkalite.coordinator.groups.consumer.replay import ConsumerGroups, replay
from kafkalite.coordinator.groups.consumer.state import (
    ConsumerGroup,
    Member,
    MemberState,
    ResolvedRegex,
)
from kafkalite.coordinator.groups.log_record import Record, decode_record, encode_record
from kafkalite.protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    TopicPartitions,
)
from kafkalite.types import TimestampMs
from tests.coordinator.golden_log import golden_bytes
from tests.coordinator.sample_consumers import id_of

MEMBER = Member(
    "m",
    "i",
    "r",
    "c",
    "/h",
    ("t", "u"),
    "x.*",
    5,
    "range",
    4,
    3,
    MemberState.UNREVOKED_PARTITIONS,
    {id_of("t"): {0: 2, 1: 4}},
    {id_of("t"): {2: 1}},
)


def read(*records: Record) -> ConsumerGroup:
    """The group that these records, as bytes, make."""
    groups: ConsumerGroups = {}
    for record in records:
        replay(groups, decode_record(*encode_record(record)))
    return groups["g"]


def test_a_member_is_as_its_two_records_say() -> None:
    assert read(member_record("g", MEMBER), current_record("g", MEMBER)).members == {"m": MEMBER}


def test_the_group_is_as_its_records_say() -> None:
    resolved = ResolvedRegex(frozenset({"b", "a"}), 3, TimestampMs(4))
    group = read(
        epoch_record("g", 7, -1),
        target_record("g", "m", {id_of("t"): (0, 1)}),
        assignment_epoch_record("g", 6, TimestampMs(5)),
        regex_record("g", "x.*", resolved),
    )
    assert (group.epoch, group.metadata_hash) == (7, -1)
    assert group.targets == {"m": {id_of("t"): (0, 1)}}
    assert (group.assignment_epoch, group.assignment_timestamp) == (6, 5)
    assert group.regexes == {"x.*": resolved}


def test_tombstones_leave_nothing() -> None:
    groups: ConsumerGroups = {}
    records = [
        member_record("g", MEMBER),
        target_record("g", "m", {}),
        current_record("g", MEMBER),
        regex_record("g", "x.*", ResolvedRegex(frozenset(), 0, TimestampMs(0))),
    ]
    for record in records:
        replay(groups, record)
    for record in list(group_tombstones(groups["g"])):
        replay(groups, record)
    assert groups == {}


def test_records_of_older_and_of_later_releases() -> None:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m")
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=1,
        previous_member_epoch=0,
        state=77,
        assigned_partitions=[TopicPartitions(topic_id=id_of("t"), partitions=[3])],
    )
    member = read(Record(key, value)).members["m"]
    assert member.state is MemberState.UNKNOWN
    assert member.assigned == {id_of("t"): {3: 0}}


def test_kafkas_own_groups_are_read_and_written_again_byte_by_byte() -> None:
    groups: ConsumerGroups = {}
    seen = set()
    for key, value in golden_bytes():
        record = decode_record(key, value)
        group_id = replay(groups, record)
        if group_id is None or value is None:
            continue
        group = groups[group_id]
        match record.key:
            case ConsumerGroupMemberMetadataKey(member_id=member_id):
                ours = member_record(group_id, group.members[member_id])
            case ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
                ours = current_record(group_id, group.members[member_id])
            case ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
                ours = target_record(group_id, member_id, group.targets[member_id])
            case _:
                continue
        assert encode_record(ours) == (key, value)
        seen.add(type(record.key))
    assert len(seen) == 3
