"""The records of consumer groups, folded into groups."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.member_records import (
    current_record,
    epoch_record,
    member_record,
    regex_record,
    removal_records,
    target_record,
)
from kafkalite.coordinator.groups.consumer.replay import ConsumerGroups, replay
from kafkalite.coordinator.groups.consumer.state import ConsumerGroup, Member
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.protocol.messages import consumer_group_records as wire
from kafkalite.protocol.messages.classic_group_records import GroupMetadataKey
from tests.coordinator.sample_consumers import id_of

T = id_of("t")


def folded(*records: Record) -> ConsumerGroups:
    groups: ConsumerGroups = {}
    for record in records:
        replay(groups, record)
    return groups


def test_records_of_other_kinds_of_groups() -> None:
    assert replay({}, Record(GroupMetadataKey(group="g"), None)) is None


def test_a_tombstone_of_a_group_that_is_not_there() -> None:
    groups: ConsumerGroups = {}
    assert replay(groups, regex_record("g", "x", None)) == "g"
    assert groups == {}


def test_what_releases_before_kept_of_topics_is_passed_over() -> None:
    key = wire.ConsumerGroupPartitionMetadataKey(group_id="g")
    value = wire.ConsumerGroupPartitionMetadataValue()
    assert folded(Record(key, value)) == {"g": ConsumerGroup("g")}


def test_partitions_pass_from_owner_to_owner() -> None:
    a = Member("a", epoch=2, assigned={T: {0: 2}}, revoking={T: {1: 2}})
    group = folded(member_record("g", a), current_record("g", a))["g"]
    assert group.owner_epochs == {(T, 0): 2, (T, 1): 2}
    gave = Member("a", epoch=3, assigned={T: {0: 2}})
    b = Member("b", epoch=3, assigned={T: {1: 3}})
    for member in (gave, b):
        replay({"g": group}, current_record("g", member))
    assert group.owner_epochs == {(T, 0): 3, (T, 1): 3}
    for record in removal_records("g", "a"):
        replay({"g": group}, record)
    assert group.owner_epochs == {(T, 1): 3}
    assert list(group.members) == ["b"]


def test_a_compacted_log_may_lack_the_first_of_a_members_tombstones() -> None:
    a = Member("a", epoch=2, assigned={T: {0: 2}})
    _, _, last = removal_records("g", "a")
    group = folded(member_record("g", a), current_record("g", a), last)["g"]
    assert (group.members, group.owner_epochs) == ({}, {})


def test_tombstones_of_what_is_not_there() -> None:
    group = folded(epoch_record("g", 2, 0), *removal_records("g", "a"))["g"]
    assert group == ConsumerGroup("g", epoch=2)


def test_a_static_member_takes_the_place_of_another_and_keeps_it() -> None:
    old, new = Member("old", "i"), Member("new", "i")
    group = folded(member_record("g", old), member_record("g", new), *removal_records("g", "old"))[
        "g"
    ]
    assert group.static_members == {"i": "new"}
    assert group.static_member("i") == group.members["new"]
    replay({"g": group}, member_record("g", Member("new", "j")))
    assert group.static_members == {"j": "new"}
    for record in removal_records("g", "new"):
        replay({"g": group}, record)
    assert group.static_members == {}


def test_targets_go() -> None:
    group = folded(
        target_record("g", "a", {T: (1, 0)}),
        Record(wire.ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="a"), None),
        Record(wire.ConsumerGroupTargetAssignmentMetadataKey(group_id="g"), None),
    )["g"]
    assert (group.targets, group.assignment_epoch) == ({}, -1)
