"""Requests of groups that are well formed and make no sense: wrong ids, epochs, protocols and
bytes, in any order, to a group of either kind or none; and some that do, so that there are groups.

Each is answered, or refused with an error of Kafka's; the log alone gives the recorded state; each
record can be read again; and two groups that nobody asks for anything do not notice.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.coordinator.groups.classic.events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    DeleteGroups,
    DeleteOffsets,
    DescribeGroups,
    FetchOffsets,
    GroupProtocol,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    ListGroups,
    MemberAssignment,
    MemberDisconnected,
    OffsetToCommit,
    SyncGroup,
    TopicPartitions,
)
from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat, DescribeConsumerGroups
from kafkalite.coordinator.groups.events import Event
from kafkalite.errors import KafkaError
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId
from tests.coordinator.sample_consumers import id_of
from tests.coordinator.sample_migrations import MixedStage, subscription_bytes

QUIET_CLASSIC, QUIET_CONSUMER = "quiet classic", "quiet consumer"
QUIET = (QUIET_CLASSIC, QUIET_CONSUMER)

groups = st.sampled_from(["g", "h"])
members = st.sampled_from(["", "a", "b", "g-1", "-2", "i-3", "drawn", "\ud800"])
instances = st.sampled_from([None, None, "", "i", "j"])
numbers = st.sampled_from([-(1 << 31), -3, -2, -1, 0, 1, 2, 3, 7, (1 << 31) - 1])
times = st.sampled_from([-1, 0, 1, 6_000, 30_000, 1_800_000])
topics = st.sampled_from(["t", "u", "", "gone"])
texts = st.sampled_from(["", "range", "uniform", "consumer", "connect", "x" * 5000])
data = st.sampled_from(
    [
        b"",
        b"\0",
        b"\xff\xff",
        b"\0\x03" + b"\xff" * 9,
        subscription_bytes(["t"], {}),
        subscription_bytes(["t", "gone"], {"t": [0, 9], "gone": [1]}, "rack"),
    ]
)
protocols = st.lists(st.builds(GroupProtocol, texts, data), max_size=3).map(tuple)
offsets = st.lists(
    st.builds(
        OffsetToCommit,
        topics,
        st.integers(0, 3),
        numbers.map(Offset),
        numbers.map(LeaderEpoch),
        st.one_of(st.none(), texts),
        topics.map(id_of),
    ),
    max_size=3,
).map(tuple)
named = st.lists(st.builds(TopicPartitions, topics, st.just((0, 1, 5))), max_size=2).map(tuple)
owned = st.one_of(
    st.none(),
    st.dictionaries(topics.map(id_of), st.frozensets(st.integers(0, 5), max_size=3), max_size=2),
)
commits = st.builds(
    CommitOffsets,
    st.none(),
    groups,
    numbers,
    members,
    instances,
    offsets,
    times,
    st.booleans(),
)
who = st.sampled_from(["a", "b", "c"])
RANGE = (GroupProtocol("range", subscription_bytes(["t"], {})),)
sensible: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        lambda group, member, epoch, instance: ConsumerHeartbeat(
            None,
            group,
            member,
            epoch,
            instance,
            None,
            30_000 if epoch == 0 else -1,
            ("t", "u") if epoch == 0 else None,
            None,
            None,
            {},
            "c",
            "/h",
            "drawn",
        ),
        groups,
        who,
        st.sampled_from([0, 0, 0, 1, 2, 3, 4, -1, -2]),
        st.sampled_from([None, None, "i"]),
    ),
    st.builds(
        lambda group, member, instance: JoinGroup(
            None,
            group,
            member,
            instance,
            "consumer",
            RANGE,
            6_000,
            30_000,
            "c",
            "/h",
            "1",
            requires_known_member_id=False,
            new_member_id="a",
        ),
        groups,
        st.sampled_from(["", "", "a", "c-1", "i-1"]),
        st.sampled_from([None, None, "i"]),
    ),
    st.builds(
        LeaveGroup, st.none(), groups, st.builds(LeavingMember, who).map(lambda each: (each,))
    ),
    st.builds(Heartbeat, st.none(), groups, st.integers(1, 5), who),
    st.builds(SyncGroup, st.none(), groups, st.integers(1, 5), st.sampled_from(["a", "c-1"])),
)
senseless: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        JoinGroup,
        st.none(),
        groups,
        members,
        instances,
        texts,
        protocols,
        times,
        st.one_of(st.none(), times),
        st.just("-"),
        st.just("/h"),
        st.sampled_from("123456789"),
        st.booleans(),
        st.booleans(),
        st.just("drawn"),
        texts,
    ),
    st.builds(
        SyncGroup,
        st.none(),
        groups,
        numbers,
        members,
        instances,
        st.one_of(st.none(), texts),
        st.one_of(st.none(), texts),
        st.lists(st.builds(MemberAssignment, members, data), max_size=3).map(tuple),
    ),
    st.builds(Heartbeat, st.none(), groups, numbers, members, instances),
    st.builds(
        LeaveGroup,
        st.none(),
        groups,
        st.lists(st.builds(LeavingMember, members, instances, texts), max_size=3).map(tuple),
    ),
    st.builds(
        ConsumerHeartbeat,
        st.none(),
        groups,
        members,
        numbers,
        instances,
        st.one_of(st.none(), texts),
        times,
        st.one_of(st.none(), st.lists(topics, max_size=3).map(tuple)),
        st.sampled_from([None, None, "", "t.*", "(", "x" * 300]),
        st.one_of(st.none(), texts),
        owned,
        st.just("c"),
        st.just("/h"),
        st.just("drawn"),
        st.booleans(),
    ),
    commits,
    st.builds(
        CommitTransactionalOffsets,
        st.none(),
        commits,
        st.just(ProducerId(5)),
        st.just(ProducerEpoch(0)),
    ),
    st.builds(
        FetchOffsets,
        st.none(),
        groups,
        st.one_of(st.none(), named),
        require_stable=st.booleans(),
        member_id=st.one_of(st.none(), members),
        member_epoch=numbers,
    ),
    st.builds(DeleteOffsets, st.none(), groups, named),
    st.builds(DeleteGroups, st.none(), st.lists(groups, max_size=2).map(tuple)),
    st.builds(DescribeGroups, st.none(), st.lists(groups, max_size=2).map(tuple)),
    st.builds(DescribeConsumerGroups, st.none(), st.lists(groups, max_size=2).map(tuple)),
    st.builds(ListGroups, st.none()),
    st.builds(MemberDisconnected, groups, members),
)


def prepared() -> MixedStage:
    """Two groups that nobody asks for anything from then on."""
    stage = MixedStage(None, t=4, u=2)
    joined = stage.join(stage.join_event("", group=QUIET_CLASSIC))
    assignment = (MemberAssignment(joined.member_id, b"all"),)
    stage.feed(SyncGroup(None, QUIET_CLASSIC, 1, joined.member_id, assignments=assignment))
    stage.beat(
        stage.event("quiet", 0, topics=["t"], owned={}, rebalance_ms=30_000, group=QUIET_CONSUMER)
    )
    return stage


def seen(stage: MixedStage) -> list[object]:
    """All that there is of the quiet ones."""
    recorded = stage.core.recorded
    return [
        recorded.groups[QUIET_CLASSIC],
        recorded.consumer_groups[QUIET_CONSUMER],
        *(timer for timer in stage.timers.values() if set(QUIET) & {*timer.key}),  # type: ignore[misc]  # Tuples.
    ]


events = st.one_of(sensible, senseless)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(events, st.sampled_from([0, 0, 0, 1, 7_000])), min_size=8, max_size=30))
def test_no_nonsense_breaks_a_group_or_reaches_another(
    history: list[tuple[Event, int]],
) -> None:
    stage = prepared()
    before = repr(seen(stage))
    for event, ms in history:
        if ms and stage.now + ms < 1_000_000 + 10_000:  # The sessions of the quiet ones.
            stage.advance(ms)
        try:
            stage.feed(event)
        except KafkaError:
            continue
    assert repr(seen(stage)) == before
    recorded, replayed = stage.core.recorded, stage.replayed()
    assert replayed.groups == recorded.groups
    assert replayed.consumer_groups == recorded.consumer_groups
    assert not recorded.groups.keys() & recorded.consumer_groups.keys()
