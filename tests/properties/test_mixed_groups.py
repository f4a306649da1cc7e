"""Any history of one group whose members speak both protocols: it is upgraded and downgraded at any
moment, while members join, go on, leave, change over, fall silent and come back.

- each partition has one owner at a time, whatever its owners speak;
- no committed offset is lost on the way from one kind of group to the other;
- the log alone gives the recorded state;
- in the end, with either protocol, everybody comes to rest and all partitions are read.

Classic members here are eager: they give up everything before they join again.

Not tried is what does not hold in Kafka either: a coordinator that is lost just after a downgrade,
before all have joined again, and a static member that goes back to the classic protocol, while
others of the classic protocol still pass partitions on. The record says who is to have what; nobody
knows then who still has it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafkalite.coordinator.groups.classic.embedded import read_assignment, write_assignment
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    HeartbeatSeen,
    Joined,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    Synced,
    SyncGroup,
)
from kafkalite.coordinator.groups.classic.events import Heartbeat as ClassicHeartbeat
from kafkalite.coordinator.groups.classic.state import GroupState
from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeatSeen
from kafkalite.coordinator.groups.offset_events import OffsetToCommit
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Offset
from tests.coordinator.sample_consumers import id_of
from tests.coordinator.sample_groups import GROUP
from tests.coordinator.sample_migrations import MixedStage, subscription_bytes

CLASSICS = ("a", "b", "c")
CONSUMERS = ("m", "n", "o")
STATIC = {"c": "i", "o": "i"}
"""`o` takes the place of `c`."""
TOPIC = "t"
SESSION_MS = 10_000
REBALANCE_MS = 30_000
Slots = set[tuple[str, int]]

classics = st.sampled_from(CLASSICS)
consumers = st.sampled_from(CONSUMERS)


@dataclass
class Client:
    """What a member remembers."""

    member_id: str = ""
    epoch: int = -1
    """Or generation."""
    is_in: bool = False
    owned: Slots = field(default_factory=set)
    assigned: Slots = field(default_factory=set)
    waits: Hashable = None
    """For the answer to this request."""

    def forget(self) -> None:
        self.is_in, self.waits, self.epoch = False, None, -1
        self.owned.clear()
        self.assigned.clear()


class MixedGroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stage = MixedStage(None, t=4)
        self.clients = {name: Client() for name in (*CLASSICS, *CONSUMERS)}
        self.born = 0
        self.committed: dict[str, int] = {}

    # Members of the classic protocol.

    @rule(name=classics)
    def classic_join(self, name: str) -> None:
        client = self.clients[name]
        if client.waits is not None or self._is_taken(name):
            return
        client.owned.clear()
        if not client.is_in:
            client.member_id = ""
        event = self.stage.join_event(
            client.member_id,
            GroupProtocol("range", subscription_bytes([TOPIC], {})),
            instance=STATIC.get(name),
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
            client=name,
        )
        self.born += 1
        client.waits = event.token
        self.feed(name, event._replace(new_member_id=f"{name}{self.born}"))

    def _is_taken(self, name: str) -> bool:
        """By a member that speaks the other protocol: see the module."""
        group = self.stage.core.recorded.consumer_groups.get(GROUP)
        holder = None if group is None else group.static_member(STATIC.get(name, ""))
        return holder is not None and holder.classic is None

    @rule(name=classics)
    def sync(self, name: str) -> None:
        client = self.clients[name]
        if client.waits is not None or not client.is_in:
            return
        group = self.stage.core.group(GROUP)
        given: tuple[MemberAssignment, ...] = ()
        if group is not None and group.leader == client.member_id:
            ids = list(group.members)
            parts: dict[str, list[int]] = {id: [] for id in ids}
            for index in range(self.stage.counts[TOPIC]):
                parts[ids[index % len(ids)]].append(index)
            given = tuple(
                MemberAssignment(id, write_assignment({TOPIC: part}, 3))
                for id, part in parts.items()
            )
        event = SyncGroup(
            self.stage.token(),
            GROUP,
            client.epoch,
            client.member_id,
            STATIC.get(name),
            assignments=given,
        )
        client.waits = event.token
        self.feed(name, event)

    @rule(name=classics)
    def classic_beat(self, name: str) -> None:
        client = self.clients[name]
        if client.waits is not None or not client.is_in:
            return
        event = ClassicHeartbeat(
            self.stage.token(), GROUP, client.epoch, client.member_id, STATIC.get(name)
        )
        client.waits = event.token
        self.feed(name, event)

    @rule(name=classics)
    def classic_leave(self, name: str) -> None:
        client = self.clients[name]
        if client.is_in:
            event = LeaveGroup(self.stage.token(), GROUP, (LeavingMember(client.member_id),))
            client.forget()
            self.feed(name, event)

    # Members of the consumer protocol.

    @rule(name=consumers)
    def consumer_join(self, name: str) -> None:
        client = self.clients[name]
        if not client.is_in:
            self.born += 1
            client.member_id = f"{name}{self.born}"
        client.owned.clear()
        self._beat(name, 0)

    @rule(name=consumers)
    def go_on(self, name: str) -> None:
        client = self.clients[name]
        if client.is_in:
            client.owned |= client.assigned
            self._beat(name, client.epoch)

    @rule(name=consumers)
    def consumer_leave(self, name: str) -> None:
        client = self.clients[name]
        if client.is_in:
            event = self.stage.event(client.member_id, -1, instance=STATIC.get(name))
            client.forget()
            self.feed(name, event)

    def _beat(self, name: str, epoch: int) -> None:
        client = self.clients[name]
        joins = epoch == 0
        event = self.stage.event(
            client.member_id,
            epoch,
            topics=[TOPIC] if joins else None,
            owned={} if joins else {TOPIC: [index for _, index in client.owned]},
            rebalance_ms=REBALANCE_MS if joins else -1,
            instance=STATIC.get(name),
        )
        client.waits = event.token
        self.feed(name, event)

    # Anybody.

    @rule(name=st.sampled_from((*CLASSICS, *CONSUMERS)), offset=st.integers(0, 99))
    def commit(self, name: str, offset: int) -> None:
        client = self.clients[name]
        if not client.owned or client.waits is not None:
            return
        topic, index = min(client.owned)
        kept = OffsetToCommit(topic, index, Offset(offset), topic_id=id_of(topic))
        event = self.stage.commit_event(kept, member_id=client.member_id, generation=client.epoch)
        try:
            self.stage.feed(event)
        except KafkaError:
            return
        self.committed[f"{topic}-{index}"] = offset

    @rule(name=st.sampled_from((*CLASSICS, *CONSUMERS)))
    def die(self, name: str) -> None:
        self.clients[name].forget()

    @rule(ms=st.sampled_from([100, 5_000, 11_000, REBALANCE_MS]))
    def time_passes(self, ms: int) -> None:
        """Members that do not hear from the coordinator for their session stop reading."""
        self.stage.advance(ms)
        self.hear()
        if ms > SESSION_MS:
            for client in self.clients.values():
                client.owned.clear()
                client.assigned.clear()

    @rule()
    def reload(self) -> None:
        group = self.stage.core.group(GROUP)
        if group is not None and group.state not in (GroupState.STABLE, GroupState.EMPTY):
            return
        before = self.stage.core.recorded
        self.stage.reload()
        assert self.stage.core.recorded.consumer_groups == before.consumer_groups
        assert self.stage.core.recorded.groups == before.groups

    # What must hold.

    @invariant()
    def a_partition_has_one_owner(self) -> None:
        used = [slot for client in self.clients.values() for slot in client.owned]
        assert len(used) == len(set(used)), self.clients

    @invariant()
    def nothing_that_was_committed_is_lost(self) -> None:
        assert self.stage.fetched() == self.committed

    @invariant()
    def a_group_is_of_one_kind(self) -> None:
        recorded = self.stage.core.recorded
        assert not recorded.groups.keys() & recorded.consumer_groups.keys()

    def teardown(self) -> None:
        replayed = self.stage.replayed()
        assert replayed.consumer_groups == self.stage.core.recorded.consumer_groups
        assert replayed.groups == self.stage.core.recorded.groups
        for client in self.clients.values():
            client.forget()
        self.stage.advance(2 * REBALANCE_MS)
        self.hear()
        self.converge(("m",), ("a", "b"))
        self.consumer_leave("m")
        self.converge((), ("a", "b"))
        assert self.stage.core.group(GROUP) is not None, "it is downgraded"

    def converge(self, consumers: tuple[str, ...], classics: tuple[str, ...]) -> None:
        """Everybody does what it is told, until all partitions are read."""
        for _ in range(20):
            for name in consumers:
                self.go_on(name) if self.clients[name].is_in else self.consumer_join(name)
            for name in classics:
                self.clients[name].is_in or self.classic_join(name)
            for name in classics:
                self.classic_beat(name)
            for name in classics:
                self.sync(name)
            self.stage.advance(1)
            self.hear()
        clients = [self.clients[name] for name in (*consumers, *classics)]
        used = {slot for client in clients for slot in client.owned}
        assert used == {(TOPIC, index) for index in range(self.stage.counts[TOPIC])}, clients
        assert all(client.owned for client in clients), clients

    # The protocol.

    def feed(self, name: str, event: object) -> None:
        try:
            self.stage.feed(event)  # type: ignore[arg-type]  # All are events.
        except KafkaError:
            self.clients[name].forget()
        self.hear()

    def hear(self) -> None:
        """Everybody takes the answers that have come, and what follows from them: a classic member
        that is told to join again does so at once, as clients do with their next poll."""
        heard = True
        while heard:
            heard = False
            for name, client in self.clients.items():
                if client.waits is not None and client.waits in self.stage.replies:
                    body, client.waits = self.stage.replies[client.waits], None
                    self.take(name, client, body)
                    heard = True

    def take(self, name: str, client: Client, body: object) -> None:
        match body:
            case Joined(ErrorCode.NONE, member_id, generation):
                client.member_id, client.epoch, client.is_in = member_id, generation, True
            case Joined(ErrorCode.REBALANCE_IN_PROGRESS, member_id):
                client.member_id, client.is_in = member_id or client.member_id, True
                self.classic_join(name)
            case Synced(ErrorCode.NONE):
                read = read_assignment(body.assignment)
                client.owned = {
                    (part.topic, index)
                    for part in read.assigned_partitions
                    for index in part.partitions
                }
            case HeartbeatSeen(ErrorCode.NONE):
                pass
            case Synced(code) | HeartbeatSeen(code) if code is ErrorCode.REBALANCE_IN_PROGRESS:
                self.classic_join(name)
            case ConsumerHeartbeatSeen():
                client.is_in, client.epoch = True, body.member_epoch
                if body.assigned is not None:
                    client.assigned = {
                        (topic.strip(b".").decode(), index)
                        for topic, indexes in body.assigned.items()
                        for index in indexes
                    }
                    client.owned &= client.assigned
            case _:
                client.forget()


TestMixedGroups = MixedGroupMachine.TestCase
TestMixedGroups.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
