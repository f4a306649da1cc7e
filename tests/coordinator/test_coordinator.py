from __future__ import annotations

from kafkalite.coordinator.groups.administration_events import (
    DeleteGroups,
    DescribeGroups,
    GroupsDeleted,
    GroupsDescribed,
    GroupsListed,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.events import (
    Heartbeat,
    HeartbeatSeen,
    InitialDelayOver,
    Joined,
    JoinTimedOut,
    LeaveGroup,
    LeavingMember,
    Left,
    Loaded,
    Synced,
)
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.coordinator.groups.offset_events import (
    DeleteOffsets,
    ExpireOffsets,
    FetchOffsets,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsFetched,
    OffsetToCommit,
    TopicPartitions,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import Reply
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
)
from kafkalite.types import Offset, TimestampMs
from tests.coordinator.golden_log import golden_records
from tests.coordinator.sample_groups import GROUP, Stage


def test_the_reply_bears_the_events_token() -> None:
    core = GroupCoordinator()
    outcome = core.decide(Heartbeat("mine", "g", 1, "m"), TimestampMs(0))
    assert [reply.token for reply in outcome.replies] == ["mine"]


def test_every_event_gets_its_kind_of_answer() -> None:
    stage = Stage()
    asked: list[tuple[Event, type]] = [
        (stage.join_event(), Joined),
        (stage.sync_event("c-1", 1), Synced),
        (Heartbeat("heartbeat", GROUP, 1, "c-1"), HeartbeatSeen),
        (FetchOffsets("fetch", GROUP, None), OffsetsFetched),
        (ListGroups("list"), GroupsListed),
        (DescribeGroups("describe", (GROUP, "absent")), GroupsDescribed),
        (LeaveGroup("leave", GROUP, (LeavingMember("c-1"),)), Left),
        (stage.commit_event(OffsetToCommit("t", 0, Offset(1))), OffsetsCommitted),
        (DeleteOffsets("offsets", GROUP, (TopicPartitions("t", (0,)),)), OffsetsDeleted),
        (DeleteGroups("delete", (GROUP,)), GroupsDeleted),
    ]
    for event, kind in asked:
        assert isinstance(stage.ask(event), kind), event
    for told in (TopicsDeleted(("t",)), Loaded(), ExpireOffsets(), JoinTimedOut(GROUP)):
        assert not stage.feed(told).replies


TOO_LARGE = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_group_whose_assignment_is_not_recorded_rebalances() -> None:
    """As in Kafka."""
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=0))
    member = stage.join(stage.join_event()).member_id
    assert stage.lose(stage.sync_event(member, 1), TOO_LARGE).replies == ()
    assert stage.state == "PreparingRebalance"
    beat = stage.ask(Heartbeat("beat", GROUP, 1, member))
    assert beat == HeartbeatSeen(ErrorCode.REBALANCE_IN_PROGRESS)
    again = stage.join(stage.join_event(member))
    assert (again.code, again.generation) == (ErrorCode.NONE, 2)


def test_a_group_whose_assignment_is_not_recorded_gives_up_members_who_do_not_join_anew() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=0))
    member = stage.join(stage.join_event(rebalance_ms=5_000)).member_id
    stage.lose(stage.sync_event(member, 1), TOO_LARGE)
    stage.advance(5_000)
    assert stage.state == "Empty"


def test_a_new_group_that_is_not_recorded_is_gone_and_who_waits_is_told() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=3000))
    join = stage.join_event()
    settled = stage.lose(join, TOO_LARGE)
    assert settled.replies == (Reply(join.token, Joined(TOO_LARGE.code, "")),)
    assert stage.state == "Dead"
    assert ("join", GROUP) not in stage.timers
    stage.advance(1_000_000)
    assert stage.state == "Dead"


def test_a_group_that_is_left_by_all_stays_empty_though_that_is_not_recorded() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=0))
    member = stage.join(stage.join_event()).member_id
    stage.ask(stage.sync_event(member, 1))
    stage.lose(LeaveGroup("leave", GROUP, (LeavingMember(member),)), TOO_LARGE)
    assert stage.state == "Empty"


def test_offsets_that_are_not_recorded_are_not_there() -> None:
    stage = Stage()
    stage.lose(stage.commit_event(OffsetToCommit("t", 0, Offset(1))), TOO_LARGE)
    assert stage.state == "Dead"


def test_timers_reach_the_group_that_set_them() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=3000))
    join = stage.join_event(rebalance_ms=5000)
    stage.feed(join)
    stage.advance(3000)
    a = stage.joined(join).member_id
    late = stage.join_event(rebalance_ms=5000)
    stage.feed(late)
    stage.advance(5000)
    assert stage.joined(late).generation == 2
    stage.advance(5000)
    assert stage.state == "Empty"
    assert stage.heartbeat(a, 2) is ErrorCode.UNKNOWN_MEMBER_ID
    id = stage.join(stage.join_event(first=True)).member_id
    stage.advance(10_000)
    assert stage.join(stage.join_event(id)).code is ErrorCode.UNKNOWN_MEMBER_ID
    stage.feed(InitialDelayOver(GROUP, 0, 0))
    stage.feed(JoinTimedOut("no such group"))
    assert stage.state == "Empty"


def test_who_cannot_join() -> None:
    stage = Stage()
    codes = [
        stage.join(event).code
        for event in (
            stage.join_event(group=""),
            stage.join_event(session_ms=1),
            stage.join_event("nobody"),
        )
    ]
    assert codes == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert not stage.log


def test_deciding_leaves_the_recorded_state_alone() -> None:
    stage = Stage()
    stage.core.decide(stage.commit_event(OffsetToCommit("t", 0, Offset(1))), TimestampMs(0))
    stage.core.decide(stage.join_event(), TimestampMs(0))
    assert not stage.core.recorded.groups
    assert not list(stage.core.recorded.offsets.groups())


def test_a_new_group_is_recorded_before_it_has_members() -> None:
    stage = Stage()
    stage.join(stage.join_event(first=True))
    assert stage.log == [
        Record(
            GroupMetadataKey(group=GROUP),
            GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=stage.now),
        )
    ]


def test_members_of_a_loaded_group_have_a_fresh_session() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    stage.now += 3_600_000
    stage.reload()
    stage.advance(9_999)
    assert stage.heartbeat(a, 2) is ErrorCode.NONE
    stage.advance(1)
    assert [member.member_id for member in stage.describe().members] == [a]
    assert stage.heartbeat(b, 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_loaded_group_is_as_it_was_recorded() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    described = stage.describe()
    stage.commit("t", 5, member_id=a, generation=1)
    stage.feed(stage.join_event())
    stage.reload()
    assert stage.describe() == described
    assert stage.fetched() == {"t-0": 5}


def test_a_loaded_group_that_is_too_large_rebalances() -> None:
    stage = Stage(GroupSettings(max_size=2))
    stage.stable("a", "b")
    stage.reload()
    assert stage.state == "Stable"
    stage.settings = GroupSettings(max_size=1)
    stage.reload()
    assert stage.state == "PreparingRebalance"


def test_expiry_is_looked_for_again_and_again() -> None:
    stage = Stage(GroupSettings(offsets_retention_ms=1_500_000))
    stage.feed(Loaded())
    stage.commit("t", 5)
    stage.advance(1_799_999)
    assert stage.fetched() == {"t-0": 5}
    stage.advance(1)
    assert stage.fetched() == {}


def test_kafkas_own_log_can_be_gone_on_with() -> None:
    stage = Stage()
    for record in golden_records():
        stage.core.apply(record)
    stage.feed(Loaded())
    reply = stage.join(stage.join_event(group="classic-group"))
    assert (reply.code, reply.generation) == (ErrorCode.NONE, 3)
    assert stage.fetched("classic-group") == {"plain-0": 17}
    assert stage.describe("deleted-group").state == "Dead"


def test_a_reply_is_given_once() -> None:
    stage = Stage()
    outcome = stage.feed(stage.join_event())
    assert [type(reply) for reply in outcome.replies] == [Reply]


def test_each_rebalance_has_its_reason_once() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.leave(a)
    told = [(each.group_id, each.reason) for each in stage.core.take_rebalances()]
    assert told == [(GROUP, f"{a} joins"), (GROUP, f"left: {a}")]
    assert stage.core.take_rebalances() == []
