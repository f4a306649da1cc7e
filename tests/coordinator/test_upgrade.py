"""A classic group becomes a consumer group."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.embedded import write_assignment
from kafkalite.coordinator.groups.classic.events import GroupProtocol, Synced
from kafkalite.coordinator.groups.consumer.state import MemberState
from kafkalite.coordinator.groups.settings import (
    ConsumerSettings,
    GroupSettings,
    MigrationPolicy,
)
from kafkalite.errors import ErrorCode, KafkaError
from tests.coordinator.sample_consumers import ConsumerStage, id_of
from tests.coordinator.sample_groups import GROUP
from tests.coordinator.sample_migrations import (
    SESSION_MS,
    Classic,
    MixedStage,
    Owned,
    settings_with,
    subscription_bytes,
)

ALL: Owned = {"t": (0, 1, 2, 3)}


def why_not(stage: ConsumerStage) -> KafkaError:
    return stage.why(stage.event("new", 0, topics=["t"], owned={}, rebalance_ms=1))


def test_generation_members_and_what_they_have_are_taken_over() -> None:
    stage = MixedStage()
    stage.assign(old={"t": (0, 1, 2, 3)}, older={})
    before = len(stage.log)
    generation = stage.classics["old"].generation
    stage.join_as("new")
    first, *_ = stage.written[before:]
    assert first == "GroupMetadata gone"
    member = stage.group.members[stage.classics["old"].member_id]
    assert member.assigned == {id_of("t"): dict.fromkeys(range(4), generation)}
    assert (member.epoch, member.state) == (generation, MemberState.STABLE)
    assert member.classic is not None
    assert member.classic.session_timeout_ms == SESSION_MS
    assert (member.topics, member.client_id) == (("t",), "old")
    assert stage.core.group(GROUP) is None
    assert stage.group.epoch == generation + 1
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups
    assert stage.replayed().groups == {}


def test_both_go_on_and_share() -> None:
    stage = MixedStage()
    stage.assign(old=ALL)
    stage.commit("t", 7, member_id=stage.classics["old"].member_id, generation=1)
    stage.join_as("new")
    stage.settle_all()
    assert stage.all_owned() == {"old": {"t": (0, 1)}, "new": {"t": (2, 3)}}
    assert stage.fetched() == {"t-0": 7}


def test_a_member_that_sends_a_heartbeat_of_the_new_protocol_is_of_it() -> None:
    """Though it says nothing of itself."""
    stage = MixedStage()
    stage.assign(old=ALL)
    stage.join_as("new")
    member = stage.group.members[stage.classics["old"].member_id]
    beat = stage.event(member.member_id, member.epoch)._replace(
        client_id=member.client_id, client_host=member.client_host
    )
    stage.beat(beat)
    assert member.classic is not None
    assert stage.group.members[member.member_id].classic is None


def test_what_of_topics_that_are_gone_was_assigned_is_left_out() -> None:
    stage = MixedStage(t=4, u=2)
    stage.classics["old"] = Classic(topics=("t", "u"))
    stage.assign(old={"t": (0, 1, 2, 3), "u": (0, 1)})
    stage.set_topics({"t": 4})
    stage.join_as("new")
    assert stage.group.members[stage.classics["old"].member_id].assigned.keys() == {id_of("t")}


def test_who_waits_joins_again() -> None:
    stage = MixedStage()
    stage.assign(old=ALL)
    waits = stage.classic_event("another")
    stage.feed(waits)
    assert waits.token not in stage.replies
    stage.join_as("new")
    assert stage.joined(waits).code is ErrorCode.REBALANCE_IN_PROGRESS
    stage.classics["another"].member_id = stage.joined(waits).member_id
    assert stage.classic_join("another").code is ErrorCode.NONE
    kinds = {key[0] for key in stage.timers if isinstance(key, tuple)}
    assert kinds == {"consumer session", "member sync"}


def test_who_waits_for_an_assignment_joins_again() -> None:
    stage = MixedStage()
    stage.assign(old=ALL)
    another = stage.classic_event("another")
    stage.feed(another)
    old = stage.classic_event("old")
    stage.feed(old)
    for name, event in (("old", old), ("another", another)):
        stage.joined_as(name, stage.joined(event))
    sync = stage.sync_event(stage.classics["another"].member_id, 2)
    stage.feed(sync)
    stage.join_as("new")
    assert stage.replies[sync.token] == Synced(ErrorCode.REBALANCE_IN_PROGRESS)


def test_ids_that_were_given_are_forgotten_without_harm() -> None:
    stage = MixedStage()
    stage.assign(old=ALL)
    given = stage.join(stage.classic_event("late", first=True))
    assert given.code is ErrorCode.MEMBER_ID_REQUIRED
    stage.join_as("new")
    stage.classics["late"].member_id = given.member_id
    assert stage.classic_join("late").code is ErrorCode.NONE


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_the_policy_forbids_it(policy: MigrationPolicy) -> None:
    stage = MixedStage(settings_with(policy))
    stage.assign(old=ALL)
    refused = why_not(stage)
    assert refused.code is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused.message == (
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    )
    assert stage.classic_beat("old") is ErrorCode.NONE


def test_a_group_of_another_type_stays() -> None:
    stage = ConsumerStage()
    stage.stable("c", type="connect")
    assert "does not use the consumer embedded protocol" in why_not(stage).message


def test_a_group_that_is_too_large_stays() -> None:
    stage = MixedStage(GroupSettings(consumer=ConsumerSettings(max_size=1)))
    stage.assign(old=ALL, older={})
    assert "exceeds the consumer group maximum size" in why_not(stage).message


def test_what_cannot_be_read_stays() -> None:
    stage = ConsumerStage()
    stage.stable("c")
    refused = why_not(stage)
    assert refused.message.endswith("because the embedded consumer protocol is malformed.")
    assert stage.core.group(GROUP) is not None


def test_what_an_assignor_of_ones_own_told_would_be_lost() -> None:
    stage = MixedStage()
    protocol = GroupProtocol("range", subscription_bytes(["t"], {}))
    joined = stage.join(stage.join_event("", protocol))
    told = write_assignment({}, 0)[:-4] + b"\0\0\0\1x"
    stage.sync(stage.sync_event(joined.member_id, 1, assignments={joined.member_id: told}))
    assert "unsupported custom assignor is in use" in why_not(stage).message


def test_a_group_without_a_generation_cannot_be_upgraded_yet() -> None:
    stage = MixedStage(GroupSettings(initial_rebalance_delay_ms=3000))
    waits = stage.classic_event("old")
    stage.feed(waits)
    assert why_not(stage).code is ErrorCode.UNKNOWN_SERVER_ERROR
    stage.advance(3000)
    assert stage.joined(waits).code is ErrorCode.NONE


def test_a_consumer_that_is_refused_leaves_the_classic_group_as_it_was() -> None:
    stage = MixedStage(GroupSettings(consumer=ConsumerSettings(max_size=1)))
    stage.assign(old=ALL)
    assert why_not(stage).code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.classic_beat("old") is ErrorCode.NONE
    assert stage.core.recorded.consumer_groups == {}


def test_a_log_that_does_not_take_it() -> None:
    stage = MixedStage()
    stage.assign(old=ALL)
    event = stage.event("new", 0, topics=["t"], owned={}, rebalance_ms=1)
    stage.lose(event, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert stage.core.recorded.consumer_groups == {}
    assert ("session", GROUP, stage.classics["old"].member_id) in stage.timers
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS
