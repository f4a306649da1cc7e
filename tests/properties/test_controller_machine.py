"""Any history of a cluster's brokers, as its controller decides it: they come, stop, die and are
forgotten, leaders propose in-sync replicas, operators elect, move, create and delete.

- a leader is active, and in sync; in-sync replicas are replicas, and active; who is eligible is not
  in sync, and nobody is where enough are;
- one leader for each leader epoch, and the epochs rise;
- a leader was in sync before, or its leader said so, or was eligible, or led last; unless an
  unclean election was allowed or asked for;
- a proposal that did not see the newest state changes nothing;
- the log alone gives the same state, and so does a snapshot of it.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    FailDirectories,
    NewTopic,
    PartitionsToAdd,
    TopicToDelete,
)
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    ElectionType,
    ElectLeaders,
    PartitionsAltered,
    ProposedIsr,
    Reassignment,
    ReassignmentsOf,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.term_events import (
    BalanceLeaders,
    ElectUncleanLeaders,
    LoseBroker,
    RegisterBroker,
    StartTerm,
)
from kafkalite.core import Outcome
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.metadata.snapshot import changes_of
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId, IsrMember, LeaderEpoch, Uuid
from tests.controller.sample_cluster import NOW, broker_registration, uuid

BROKERS = tuple(map(BrokerId, range(1, 5)))
TOPICS = ("t", "u", "clean")
MIN_IN_SYNC = {"t": 2, "u": 1, "clean": 3}
UNCLEAN = "unclean.leader.election.enable"

brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(TOPICS)
some_brokers = st.frozensets(brokers, max_size=2)
indexes = st.integers(0, 3)
rarely = st.sampled_from((False,) * 7 + (True,))
seen_epochs = st.sampled_from(((0, 0),) * 8 + ((0, -1), (0, 1), (-1, 0), (1, 0)))

Where = tuple[Uuid, int]


class ControllerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.controller = Controller()
        self.log: list[Change] = []
        self.fresh = 0
        self.leaders: dict[tuple[Where, LeaderEpoch], BrokerId] = {}
        self.before: dict[Where, PartitionImage] = {}
        self.may_be_unclean = False
        """In this step, as the next."""
        self.proposed: frozenset[BrokerId] = frozenset()
        """To be in sync: one of them may lead at once, where a reassignment is completed by it."""

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    def feed(self, event: Event) -> Outcome[Event, Change] | None:
        """None when it was refused as a whole, or there was nobody to ask."""
        try:
            outcome = self.controller.decide(event, NOW)
        except KafkaError:
            return None
        for record in outcome.records:
            self.controller.apply(record)
        self.log += outcome.records
        return outcome

    def next(self) -> int:
        self.fresh += 1
        return self.fresh

    def epoch_of(self, id: BrokerId) -> BrokerEpoch:
        broker = self.image.brokers.get(id)
        return BrokerEpoch(0) if broker is None else broker.epoch

    @initialize()
    def start(self) -> None:
        self.feed(StartTerm(()))
        for id in BROKERS:
            self.register(id, clean=False)
        for name in TOPICS:
            self.create(name, partitions=2, factor=3)

    # Brokers.

    @rule(id=brokers, clean=st.booleans())
    def register(self, id: BrokerId, clean: bool) -> None:
        number = self.next()
        registration = broker_registration(id, incarnation=number)
        if clean:
            registration = registration._replace(previous_broker_epoch=self.epoch_of(id))
        self.feed(RegisterBroker(None, registration, BrokerEpoch(number)))

    @rule(
        id=brokers, how=st.sampled_from(("dies", "dies", "stops", "stops", "folder", "forgotten"))
    )
    def lose(self, id: BrokerId, how: str) -> None:
        epoch = self.epoch_of(id)
        match how:
            case "dies":
                self.feed(LoseBroker(id, epoch))
            case "stops":
                self.feed(ShutDownBroker("token", id, epoch))
            case "folder":
                self.feed(FailDirectories("token", id, epoch, (uuid(2000 + id),)))
            case _:
                self.feed(UnregisterBroker("token", id))

    # Topics.

    def create(self, name: str, *, partitions: int, factor: int) -> None:
        in_sync = (("min.insync.replicas", str(MIN_IN_SYNC[name])),)
        topic = NewTopic(name, partitions, factor, configs=in_sync)
        self.feed(CreateTopics("token", (topic,), (uuid(self.next()),), self.next()))

    @rule(name=topics, partitions=st.integers(1, 4), factor=st.integers(1, 4), gone=rarely)
    def change_topic(self, name: str, partitions: int, factor: int, gone: bool) -> None:
        """It is deleted, or made, or has more partitions."""
        if gone:
            self.feed(DeleteTopics("token", (TopicToDelete(name),)))
        elif name in self.image.topics:
            more = PartitionsToAdd(name, partitions)
            self.feed(CreatePartitions("token", (more,), self.next()))
        else:
            self.create(name, partitions=partitions, factor=factor)

    @rule(allowed=st.booleans())
    def allow_unclean_elections(self, allowed: bool) -> None:
        record = ConfigRecord(
            resource_type=2, resource_name="u", name=UNCLEAN, value=str(allowed).lower()
        )
        if "u" in self.image.topics:
            self.controller.apply(record)
            self.log.append(record)

    # Replicas and leaders.

    @rule(name=topics, index=indexes, out=some_brokers, seen=seen_epochs, recovering=rarely)
    def propose(
        self,
        name: str,
        index: int,
        out: frozenset[BrokerId],
        seen: tuple[int, int],
        recovering: bool,
    ) -> None:
        """All replicas but those that are `out` are to be in sync. `seen`: how far the leader's
        epochs are from the true ones."""
        before = self.image.partition(name, index)
        if before is None or before.leader == NO_LEADER:
            return
        members = tuple(
            IsrMember(id, self.epoch_of(id))
            for id in before.replicas
            if id == before.leader or id not in out
        )
        self.proposed = frozenset(member.broker_id for member in members)
        proposed = ProposedIsr(
            self.image.topics[name].id,
            index,
            LeaderEpoch(before.leader_epoch + seen[0]),
            before.partition_epoch + seen[1],
            members,
            int(recovering),
        )
        event = AlterPartitions("token", before.leader, self.epoch_of(before.leader), (proposed,))
        outcome = self.feed(event)
        assert outcome is not None, "the leader is registered"
        (reply,) = outcome.replies
        assert isinstance(reply.body, PartitionsAltered)
        (answer,) = reply.body.partitions
        if seen != (0, 0):
            assert answer.code is not ErrorCode.NONE
            assert outcome.records == ()

    @rule(name=topics, index=indexes, order=st.permutations(BROKERS), count=st.integers(0, 4))
    def move(self, name: str, index: int, order: list[BrokerId], count: int) -> None:
        """To so many of the brokers that are registered; to none: back to where it was."""
        there = [id for id in order if id in self.image.brokers]
        wanted = Reassignment(index, tuple(there[:count]) or None)
        self.feed(AlterReassignments("token", (ReassignmentsOf(name, (wanted,)),)))

    @rule(type=st.sampled_from(ElectionType))
    def elect(self, type: ElectionType) -> None:
        self.may_be_unclean = type is ElectionType.UNCLEAN
        self.feed(ElectLeaders("token", type, None))

    @rule(event=st.sampled_from((BalanceLeaders(), ElectUncleanLeaders())))
    def time_passes(self, event: BalanceLeaders | ElectUncleanLeaders) -> None:
        self.feed(event)

    # What always holds.

    @invariant()
    def replicas_and_leaders_are_in_order(self) -> None:
        active = {broker.id for broker in self.image.active_brokers()}
        for where, partition in self.partitions().items():
            replicas, isr = set(partition.replicas), partition.isr
            eligible = partition.eligible_leader_replicas
            assert len(replicas) == len(partition.replicas) > 0, where
            assert len({*isr, *eligible}) == len((*isr, *eligible)), where
            min_in_sync = MIN_IN_SYNC[self.image.topics_by_id[where[0]].name]
            assert not eligible or len(isr) < min_in_sync, where
            assert set(isr) <= replicas, where
            assert {*partition.adding_replicas, *partition.removing_replicas} <= replicas, where
            assert set(isr) <= active, where
            assert partition.leader == NO_LEADER or partition.leader in set(isr) & active, where

    @invariant()
    def epochs_rise(self) -> None:
        now = self.partitions()
        for where, partition in now.items():
            epoch = partition.leader_epoch
            if partition.leader != NO_LEADER:
                assert self.leaders.setdefault((where, epoch), partition.leader) == (
                    partition.leader
                ), where
            before = self.before.get(where)
            if before is None:
                continue
            assert epoch >= before.leader_epoch, where
            assert (partition == before) == (partition.partition_epoch == before.partition_epoch)
            assert partition.partition_epoch >= before.partition_epoch, where
            if partition.leader not in (before.leader, NO_LEADER):
                assert epoch > before.leader_epoch, where
                may_be_unclean = self.may_be_unclean or where[0] == self.unclean_topic()
                had_all = {*before.isr, *self.proposed, *before.eligible_leader_replicas}
                led_last = partition.leader in before.last_known_elr
                assert may_be_unclean or partition.leader in had_all or led_last, where
        self.before = now
        self.may_be_unclean = False
        self.proposed = frozenset()

    def unclean_topic(self) -> Uuid | None:
        topic = self.image.topics.get("u")
        return None if topic is None else topic.id

    @invariant()
    def the_log_gives_the_same(self) -> None:
        for changes in (self.log, changes_of(self.image)):
            other = Controller()
            for change in changes:
                other.apply(change)
            assert other.image == self.image

    def partitions(self) -> dict[Where, PartitionImage]:
        return {
            (topic.id, index): partition
            for topic in self.image.topics.values()
            for index, partition in enumerate(topic.partitions)
        }


TestControllerMachine = ControllerMachine.TestCase
TestControllerMachine.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
