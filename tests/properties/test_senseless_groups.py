"""Requests of groups that are well formed and make no sense: wrong ids, epochs, protocols and
bytes, in any order, to a group of either kind, of both, or none; and some that do, so that there
are groups. Topics come and go, offsets expire, transactions end.

Each is answered, or refused with an error of Kafka's; what a group says of itself fits together;
the log alone gives the recorded state; each record can be read again; and two groups that nobody
asks for anything do not notice, nor lose what they have committed.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.coordinator.groups.administration_events import (
    DeleteGroups,
    DescribeGroups,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    MemberDisconnected,
    SyncGroup,
)
from kafkalite.coordinator.groups.consumer.events import (
    ConsumerHeartbeat,
    DescribeConsumerGroups,
    MetadataChanged,
)
from kafkalite.coordinator.groups.consumer.state import ConsumerGroup
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    DeleteOffsets,
    EndTransactionalOffsets,
    ExpireOffsets,
    FetchOffsets,
    OffsetToCommit,
    TopicPartitions,
    TopicsDeleted,
)
from kafkalite.errors import KafkaError
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId
from tests.coordinator.sample_consumers import id_of, image_of
from tests.coordinator.sample_migrations import MixedStage, mixed, subscription_bytes

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
OF_BOTH = ("old-1", "new")
"""Members of the group that has some of both protocols, if there is one."""
who = st.sampled_from(["a", "b", "c", *OF_BOTH])
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
        st.sampled_from(["", "", "a", "c-1", "i-1", *OF_BOTH]),
        st.sampled_from([None, None, "i"]),
    ),
    st.builds(
        LeaveGroup, st.none(), groups, st.builds(LeavingMember, who).map(lambda each: (each,))
    ),
    st.builds(Heartbeat, st.none(), groups, st.integers(1, 5), who),
    st.builds(
        SyncGroup, st.none(), groups, st.integers(1, 5), st.sampled_from(["a", "c-1", "old-1"])
    ),
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
    st.builds(MemberDisconnected, groups, st.one_of(members, who)),
    st.builds(
        EndTransactionalOffsets,
        st.none(),
        st.just(ProducerId(5)),
        st.just(ProducerEpoch(0)),
        st.booleans(),
        st.just(0),
    ),
    st.just(TopicsDeleted(("u", "gone"))),
    st.just(ExpireOffsets()),
    st.sampled_from([{"t": 4}, {"t": 4, "u": 5}, {"t": 6, "u": 2}])
    .map(image_of)
    .map(MetadataChanged),
)


def prepared(*, has_both: bool) -> MixedStage:
    """Two groups that nobody asks for anything from then on. `has_both`: another has a member of
    each protocol already."""
    stage = mixed(t=4, u=2) if has_both else MixedStage(None, t=4, u=2)
    joined = stage.join(stage.join_event("", group=QUIET_CLASSIC))
    assignment = (MemberAssignment(joined.member_id, b"all"),)
    stage.feed(SyncGroup(None, QUIET_CLASSIC, 1, joined.member_id, assignments=assignment))
    seen = stage.beat(
        stage.event("quiet", 0, topics=["t"], owned={}, rebalance_ms=30_000, group=QUIET_CONSUMER)
    )
    kept = (OffsetToCommit("t", 0, Offset(7), topic_id=id_of("t")),)
    stage.feed(CommitOffsets(None, QUIET_CLASSIC, 1, joined.member_id, None, kept))
    stage.feed(CommitOffsets(None, QUIET_CONSUMER, seen.member_epoch, "quiet", None, kept))
    return stage


def seen(stage: MixedStage) -> list[object]:
    """All that there is of the quiet ones."""
    recorded = stage.core.recorded
    return [
        recorded.groups[QUIET_CLASSIC],
        recorded.consumer_groups[QUIET_CONSUMER],
        *(recorded.offsets.of_group(each) for each in QUIET),
        *(timer for timer in stage.timers.values() if set(QUIET) & {*timer.key}),  # type: ignore[misc]  # Tuples.
    ]


def check_consumers(group: ConsumerGroup) -> None:
    """What the members have, and what is kept beside them."""
    owners = Counter(
        (topic, index)
        for member in group.members.values()
        for owned in (member.assigned, member.revoking)
        for topic, epochs in owned.items()
        for index in epochs
    )
    assert set(owners.values()) <= {1}, group
    assert owners.keys() == group.owner_epochs.keys()
    targets = Counter(
        (topic, index)
        for target in group.targets.values()
        for topic, indexes in target.items()
        for index in indexes
    )
    assert set(targets.values()) <= {1}, group
    assert group.targets.keys() <= group.members.keys()
    assert group.assignment_epoch <= group.epoch
    assert all(member.epoch <= group.assignment_epoch for member in group.members.values())
    statics = {m.instance_id: id for id, m in group.members.items() if m.instance_id is not None}
    assert statics == group.static_members
    members = group.members.values()
    assert group.subscriptions == Counter(m.subscription for m in members)
    assert group.assignors == Counter(m.assignor for m in members if m.assignor)
    assert group.classic == Counter(m.classic_protocols for m in members if m.classic)


def check(stage: MixedStage) -> None:
    """Whether each group fits together."""
    recorded = stage.core.recorded
    for group in recorded.consumer_groups.values():
        check_consumers(group)
    for group_id in recorded.groups:
        live = stage.core.group(group_id)
        assert live is not None
        assert live.leader in live.members if live.members else live.leader is None
        assert live.pending_sync.keys() <= live.members.keys()
        statics = {m.instance_id: i for i, m in live.members.items() if m.instance_id is not None}
        assert statics == live.static_members
    assert not recorded.groups.keys() & recorded.consumer_groups.keys()


events = st.one_of(sensible, senseless)


@settings(max_examples=100, deadline=None)
@given(
    st.booleans(),
    st.lists(st.tuples(events, st.sampled_from([0, 0, 0, 1, 7_000])), min_size=8, max_size=30),
)
def test_no_nonsense_breaks_a_group_or_reaches_another(
    has_both: bool, history: list[tuple[Event, int]]
) -> None:
    stage = prepared(has_both=has_both)
    before = repr(seen(stage))
    for event, ms in history:
        if ms and stage.now + ms < 1_000_000 + 10_000:  # The sessions of the quiet ones.
            stage.advance(ms)
        try:
            stage.feed(event)
        except KafkaError:
            continue
        check(stage)
    assert repr(seen(stage)) == before
    recorded, replayed = stage.core.recorded, stage.replayed()
    assert replayed.groups == recorded.groups
    assert replayed.consumer_groups == recorded.consumer_groups
    assert vars(replayed.offsets) == vars(recorded.offsets)


def test_there_is_a_group_of_both_protocols() -> None:
    group = prepared(has_both=True).core.recorded.consumer_groups["g"]
    assert tuple(group.members) == OF_BOTH
    assert [member.classic is None for member in group.members.values()] == [False, True]
