"""Any history of one consumer group: members that join, go on, leave, fall silent and come back,
topics that come, grow and go, and a coordinator that is loaded anew at any moment.

- each partition has one owner at a time: members do at once what they are told, no sooner;
- a member's epoch never falls while it is one, and no epoch is above the one it follows;
- the log alone gives the recorded state;
- the hash of what is read is of the topics as they are;
- in the end everybody comes to the target, and all partitions are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatSeen
from kafkalite.coordinator.groups.consumer.state import GroupState, names_of_all
from kafkalite.coordinator.groups.consumer.targets import metadata_hash
from kafkalite.coordinator.groups.settings import ConsumerSettings, GroupSettings
from kafkalite.errors import ErrorCode, KafkaError
from tests.coordinator.sample_consumers import REBALANCE_MS, ConsumerStage, image_of
from tests.coordinator.sample_groups import GROUP

NAMES = ("a", "b", "c", "d")
STATIC = {"c": "i", "d": "j"}
TOPICS = ("t", "u", "v")
GONE = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNRELEASED_INSTANCE_ID,
}
SETTINGS = GroupSettings(consumer=ConsumerSettings(assignment_interval_ms=500))

names = st.sampled_from(NAMES)
subscriptions = st.frozensets(st.sampled_from(TOPICS))
assignors = st.sampled_from([None, "uniform", "range"])


@dataclass
class Client:
    """What a consumer remembers."""

    member_id: str = ""
    epoch: int = 0
    is_in: bool = False
    topics: tuple[str, ...] = ()
    assigned: set[tuple[str, int]] = field(default_factory=set)
    """What it was told last."""
    owned: set[tuple[str, int]] = field(default_factory=set)
    """What it uses: until it has given up the rest, no more than before."""


class ConsumerGroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stage = ConsumerStage(SETTINGS, t=3, u=2)
        self.clients = {name: Client() for name in NAMES}
        self.born = 0

    # What clients do.

    @rule(name=names, topics=subscriptions, assignor=assignors)
    def join(self, name: str, topics: frozenset[str], assignor: str | None) -> None:
        client = self.clients[name]
        if not client.is_in:
            self.born += 1
            client.member_id = f"{name}{self.born}"
        client.epoch, client.topics = 0, tuple(sorted(topics))
        client.owned.clear()
        self.beat(name, full=True, assignor=assignor)

    @rule(name=names)
    def go_on(self, name: str) -> None:
        client = self.clients[name]
        if client.is_in:
            client.owned &= client.assigned
            client.owned |= client.assigned
            self.beat(name, reports=True)

    @rule(name=names)
    def go_on_without_a_report(self, name: str) -> None:
        if self.clients[name].is_in:
            self.beat(name)

    @rule(name=names, topics=subscriptions)
    def subscribe(self, name: str, topics: frozenset[str]) -> None:
        client = self.clients[name]
        if client.is_in:
            client.topics = tuple(sorted(topics))
            self.beat(name, subscribes=True)

    @rule(name=names, for_a_while=st.booleans())
    def leave(self, name: str, for_a_while: bool) -> None:
        client = self.clients[name]
        if not client.is_in:
            return
        epoch = -2 if for_a_while and name in STATIC else -1
        client.owned.clear()
        self.ask(name, self.stage.event(client.member_id, epoch, instance=STATIC.get(name)))
        client.is_in = False

    @rule(name=names)
    def die(self, name: str) -> None:
        """What it had is nobody's until its session ends."""
        client = self.clients[name]
        client.is_in = False
        client.owned.clear()

    # What happens around them.

    @rule(ms=st.sampled_from([100, 600, 11_000, REBALANCE_MS]))
    def time_passes(self, ms: int) -> None:
        """Members that do not hear from the coordinator for their session stop reading."""
        if ms > SETTINGS.consumer.session_timeout_ms:
            for client in self.clients.values():
                client.owned.clear()
        self.stage.advance(ms)

    @rule(topic=st.sampled_from(TOPICS))
    def topic_grows(self, topic: str) -> None:
        counts = self.stage.counts
        self.stage.set_topics({**counts, topic: min(counts.get(topic, 0) + 1, 6)})

    @rule(topic=st.sampled_from(TOPICS))
    def topic_goes(self, topic: str) -> None:
        self.stage.set_topics({t: n for t, n in self.stage.counts.items() if t != topic})

    @rule()
    def reload(self) -> None:
        before = self.stage.core.recorded
        self.stage.reload()
        assert self.stage.core.recorded.consumer_groups == before.consumer_groups

    # What must hold.

    @invariant()
    def a_partition_has_one_owner(self) -> None:
        used = [slot for client in self.clients.values() for slot in client.owned]
        assert len(used) == len(set(used)), self.clients

    @invariant()
    def epochs_follow_each_other(self) -> None:
        group = self.stage.core.recorded.consumer_groups.get(GROUP)
        if group is None:
            return
        assert group.epoch >= group.assignment_epoch
        for member in group.members.values():
            assert member.epoch <= group.assignment_epoch
        owned = {
            (topic, index)
            for member in group.members.values()
            for part in (member.assigned, member.revoking)
            for topic, indexes in part.items()
            for index in indexes
        }
        assert owned == group.owner_epochs.keys()

    def teardown(self) -> None:
        """Everybody who is in goes on until nothing changes."""
        assert self.stage.replayed().consumer_groups == self.stage.core.recorded.consumer_groups
        self.stage.advance(11_000)
        for client in self.clients.values():
            client.is_in = False
            client.owned.clear()
        members = NAMES[:3]
        for name in members:
            self.join(name, frozenset(TOPICS), None)
        for _ in range(8):
            self.stage.advance(600)
            for name in members:
                self.go_on(name)
        group = self.stage.core.recorded.consumer_groups[GROUP]
        assert group.state is GroupState.STABLE
        used = {slot for client in self.clients.values() for slot in client.owned}
        assert used == {(t, i) for t, n in self.stage.counts.items() for i in range(n)}

    # The protocol.

    def beat(
        self,
        name: str,
        *,
        full: bool = False,
        reports: bool = False,
        subscribes: bool = False,
        assignor: str | None = None,
    ) -> None:
        client = self.clients[name]
        report: dict[str, list[int]] = {}
        for topic, index in sorted(client.owned):
            report.setdefault(topic, []).append(index)
        event = self.stage.event(
            client.member_id,
            client.epoch,
            topics=client.topics if full or subscribes else None,
            owned=report if full or reports else None,
            rebalance_ms=REBALANCE_MS if full else -1,
            instance=STATIC.get(name),
            assignor=assignor,
        )
        seen = self.ask(name, event)
        if seen is None:
            return
        assert full or seen.member_epoch >= client.epoch
        client.is_in, client.epoch = True, seen.member_epoch
        group, image = self.stage.group, image_of(self.stage.counts)
        assert group.metadata_hash == metadata_hash(names_of_all(group.subscriptions, {}), image)
        if seen.assigned is not None:
            client.assigned = {
                (topic.strip(b".").decode(), index)
                for topic, indexes in seen.assigned.items()
                for index in indexes
            }
            client.owned &= client.assigned

    def ask(self, name: str, event: ConsumerHeartbeat) -> ConsumerHeartbeatSeen | None:
        """None where the member is out, or has no place yet."""
        client = self.clients[name]
        try:
            reply = self.stage.ask(event)
        except KafkaError as error:
            if error.code not in GONE:
                raise
            client.is_in = False
            client.owned.clear()
            return None
        assert isinstance(reply, ConsumerHeartbeatSeen)
        return reply


TestConsumerGroups = ConsumerGroupMachine.TestCase
TestConsumerGroups.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
