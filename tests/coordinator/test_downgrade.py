"""A consumer group becomes a classic group."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.embedded import read_assignment
from kafkalite.coordinator.groups.classic.events import LeavingMember
from kafkalite.coordinator.groups.settings import GroupSettings, MigrationPolicy
from kafkalite.errors import ErrorCode, KafkaError
from tests.coordinator.sample_groups import GROUP
from tests.coordinator.sample_migrations import (
    REBALANCE_MS,
    SESSION_MS,
    Classic,
    MixedStage,
    mixed,
    settings_with,
)


def test_the_last_one_of_the_new_protocol_leaves() -> None:
    stage = mixed()
    old = stage.classics["old"]
    stage.commit("t", 7, member_id=old.member_id, generation=old.generation)
    before = len(stage.log)
    epoch = stage.group.epoch
    stage.beat(stage.event("new", -1))
    kinds = [kind.split()[0] for kind in stage.written[before:]]
    assert kinds == [
        *("CurrentMemberAssignment",) * 2,
        *("TargetAssignmentMember",) * 2,
        "TargetAssignmentMetadata",
        *("MemberMetadata",) * 2,
        *("PartitionMetadata", "Metadata", "GroupMetadata"),
    ]
    assert stage.core.recorded.consumer_groups == stage.replayed().consumer_groups == {}
    group = stage.core.group(GROUP)
    assert group is not None
    assert (group.generation, group.protocol, list(group.members)) == (
        epoch,
        "range",
        [old.member_id],
    )
    read = read_assignment(group.members[old.member_id].assignment)
    assert [(p.topic, p.partitions) for p in read.assigned_partitions] == [("t", [0, 1])]
    assert stage.fetched() == {"t-0": 7}


def test_the_others_join_again_and_have_a_leader() -> None:
    stage = mixed()
    stage.beat(stage.event("new", -1))
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS
    joined = stage.classic_join("old")
    assert joined.leader == joined.member_id == stage.classics["old"].member_id
    assert stage.state == "CompletingRebalance"


def test_a_member_that_does_not_join_again_is_out() -> None:
    stage = mixed()
    stage.beat(stage.event("new", -1))
    stage.advance(min(SESSION_MS, REBALANCE_MS))
    assert stage.state == "Empty"


def test_the_last_one_of_the_new_protocol_falls_silent() -> None:
    stage = mixed()
    for _ in range(5):
        stage.advance(5_000)
        if stage.core.group(GROUP) is None:
            stage.classic_beat("old")
    group = stage.core.group(GROUP)
    assert group is not None
    assert list(group.members) == [stage.classics["old"].member_id]


def test_as_loaded_from_the_log() -> None:
    stage = mixed()
    stage.beat(stage.event("new", -1))
    stage.reload()
    assert stage.state == "Stable"
    assert stage.classic_beat("old") is ErrorCode.NONE
    assert stage.classic_join("old").leader == stage.classics["old"].member_id


def test_not_while_another_one_is_left() -> None:
    stage = mixed()
    stage.join_as("newer")
    stage.settle_all()
    stage.beat(stage.event("new", -1))
    assert stage.core.group(GROUP) is None


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.UPGRADE])
def test_the_policy_forbids_it(policy: MigrationPolicy) -> None:
    stage = mixed()
    stage.settings = settings_with(policy)
    stage.reload()
    stage.beat(stage.event("new", -1))
    assert stage.core.group(GROUP) is None
    assert list(stage.group.members) == [stage.classics["old"].member_id]


def test_a_group_that_would_be_too_large_stays() -> None:
    stage = mixed()
    stage.settings = GroupSettings(max_size=0)
    stage.reload()
    stage.beat(stage.event("new", -1))
    assert stage.core.group(GROUP) is None


def test_nobody_is_left() -> None:
    stage = mixed()
    members = ("new", stage.classics["old"].member_id)
    left = stage.classic_leave(*(LeavingMember(id) for id in members))
    assert [member.code for member in left.members] == [ErrorCode.NONE] * 2
    assert stage.core.group(GROUP) is None
    assert stage.describe_consumers().state == "Empty"


def test_a_static_one_is_replaced_by_one_of_the_old_protocol() -> None:
    stage = mixed()
    stage.beat(stage.event("new", -1))
    stage = MixedStage()
    stage.join_as("new", instance="i")
    stage.classics["back"] = Classic(instance="i")
    epoch = stage.group.epoch
    joined = stage.classic_join("back")
    assert (joined.code, joined.generation, joined.leader) == (ErrorCode.NONE, epoch, "")
    assert stage.core.recorded.consumer_groups == stage.replayed().consumer_groups == {}
    assert stage.state == "Stable"
    stage.classic_sync("back")
    assert stage.classics["back"].owned == {"t": (0, 1, 2, 3)}
    assert stage.classic_beat("back") is ErrorCode.NONE


def test_a_static_one_is_replaced_by_one_who_reads_something_else() -> None:
    stage = MixedStage(t=4, u=2)
    stage.join_as("new", instance="i")
    stage.classics["back"] = Classic(instance="i", topics=("u",))
    assert stage.classic_join("back").generation == 0
    assert stage.state == "PreparingRebalance"
    assert stage.classic_beat("back") is ErrorCode.ILLEGAL_GENERATION
    assert stage.classic_join("back").code is ErrorCode.NONE


def with_a_protocol_that_cannot_be_read() -> MixedStage:
    """The two who prefer it outvote the one who says nothing under it."""
    stage = mixed()
    event = stage.classic_event("old")
    (good,) = event.protocols
    other = good._replace(name="other")
    stage.join(event._replace(protocols=(good, other._replace(metadata=b""))))
    for name in ("third", "fourth"):
        stage.join(stage.classic_event(name)._replace(protocols=(other, good)))
    return stage


def test_where_it_cannot_be_read_what_members_say_the_group_stays() -> None:
    stage = with_a_protocol_that_cannot_be_read()
    stage.beat(stage.event("new", -1))
    assert stage.core.group(GROUP) is None
    assert len(stage.group.members) == 3


def test_where_it_cannot_be_read_what_members_say_nobody_is_replaced() -> None:
    stage = with_a_protocol_that_cannot_be_read()
    stage.beat(stage.event("new2", 0, topics=["t"], owned={}, instance="i", rebalance_ms=1))
    stage.beat(stage.event("new", -1))
    stage.classics["back"] = Classic(instance="i")
    event = stage.classic_event("back")
    other = event.protocols[0]._replace(name="other")
    refused = stage.code_of(event._replace(protocols=(*event.protocols, other)))
    assert refused is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_log_that_does_not_take_it() -> None:
    stage = mixed()
    stage.lose(stage.event("new", -1), KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert stage.core.group(GROUP) is None
    assert set(stage.group.members) == {"new", stage.classics["old"].member_id}
    assert ("consumer session", GROUP, "new") in stage.timers
    assert ("join", GROUP) not in stage.timers
    assert stage.classic_beat("old") is ErrorCode.NONE
