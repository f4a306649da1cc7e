"""Plays `tests/scenarios/controller/*.txt`.

start [LIVE...]             a term begins; these brokers are live
register ID [epoch=] [incarnation=] [rack=] [dirs=]
lose ID [epoch=]            its session is over
create NAME... [partitions=] [factor=] [assign=1,2;2,1] [config=KEY:VALUE,...] [validate=yes]
    [seed=]
delete NAME... [ids=1,2]
grow NAME... total= [assign=1,2;2,1] [validate=yes]
alter NAME... [type=] [set=KEY:VALUE,...] [delete=KEY,...] [append=KEY:VALUE]
    [subtract=KEY:VALUE] [replace=yes] [validate=yes]; `+` stands for a comma in a value
producer-ids ID [epoch=]
propose ID TOPIC-INDEX isr=1,2 [leader-epoch=] [partition-epoch=] [state=] [epoch=]
elect preferred|unclean [TOPIC-INDEX...]
reassign TOPIC-INDEX... [to=1,2] [factor=stays]; without `to`: cancel
reassignments [TOPIC-INDEX...]
shut-down ID [epoch=]
unregister ID
advance MS                  time passes; timers that are due fire
image                       what the metadata is now
reload                      a new controller loads the log

After each scenario a controller that has read the log alone must have the same image.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path

import pytest

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import (
    AllocateProducerIds,
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    NewTopic,
    PartitionsToAdd,
    ResourceEdits,
    TopicToDelete,
)
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    ElectionType,
    ElectLeaders,
    ListReassignments,
    PartitionsOf,
    ProposedIsr,
    Reassignment,
    ReassignmentsOf,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.term_events import LoseBroker, RegisterBroker, StartTerm
from kafkalite.core import CancelTimer, SetTimer
from kafkalite.errors import KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, LeaderEpoch, TimestampMs
from tests.controller.sample_cluster import assignment, broker_registration, uuid
from tests.scenarios.transcript import Command, check, told

FOLDER = Path(__file__).parent / "controller"


class Stage:
    """A controller, its log, its timers and the time."""

    def __init__(self) -> None:
        self.controller = Controller()
        self.log: list[Change] = []
        self.now = 0
        self.timers: dict[Hashable, SetTimer[Event]] = {}
        self.epochs: dict[int, int] = {}
        self.next_id = 1

    def run(self, command: Command) -> Iterator[str]:
        yield from getattr(self, "do_" + command.verb.replace("-", "_"))(command)

    def feed(self, event: Event) -> Iterator[str]:
        try:
            outcome = self.controller.decide(event, TimestampMs(self.now))
        except KafkaError as error:
            yield f"refused {error.code.name}: {error.message}"
            return
        yield from told(outcome)  # type: ignore[arg-type]  # it reads events, and writes none.
        for record in outcome.records:
            self.controller.apply(record)
        self.log += outcome.records
        for timer in outcome.timers:
            self.timers.pop(timer.key, None)
            if not isinstance(timer, CancelTimer):
                self.timers[timer.key] = timer

    def do_start(self, command: Command) -> Iterator[str]:
        live = tuple(BrokerId(int(word)) for word in command.words)
        yield from self.feed(StartTerm(live))

    def do_register(self, command: Command) -> Iterator[str]:
        id, options = int(command.words[0]), command.options
        epoch = int(options.get("epoch", len(self.log)))
        self.epochs[id] = epoch
        dirs = options.get("dirs")
        registration = broker_registration(
            id,
            incarnation=int(options.get("incarnation", 0)),
            rack=options.get("rack"),
            log_dirs=None if dirs is None else [uuid(int(n)) for n in dirs.split(",") if n],
        )
        yield from self.feed(RegisterBroker("token", registration, BrokerEpoch(epoch)))

    def do_lose(self, command: Command) -> Iterator[str]:
        yield from self.feed(LoseBroker(*self.broker(command)))

    def do_create(self, command: Command) -> Iterator[str]:
        options = command.options
        assigned = [part.split(",") for part in options.get("assign", "").split(";") if part]
        pairs = [pair.partition(":") for pair in options.get("config", "").split(",") if pair]
        topics = [
            NewTopic(
                name,
                int(options.get("partitions", -1)),
                int(options.get("factor", -1)),
                tuple(assignment(i, *map(int, ids)) for i, ids in enumerate(assigned)),
                tuple((key, value or None) for key, _, value in pairs),
            )
            for name in command.words
        ]
        ids = tuple(uuid(self.next_id + n) for n in range(len(topics)))
        self.next_id += len(topics)
        yield from self.feed(
            CreateTopics(
                "token",
                tuple(topics),
                ids,
                int(options.get("seed", 0)),
                validate_only="validate" in options,
            )
        )

    def do_delete(self, command: Command) -> Iterator[str]:
        named = [TopicToDelete(name) for name in command.words]
        ids = [int(id) for id in command.options.get("ids", "").split(",") if id]
        by_id = [TopicToDelete(id=uuid(id)) for id in ids]
        yield from self.feed(DeleteTopics("token", (*named, *by_id)))

    def do_grow(self, command: Command) -> Iterator[str]:
        options = command.options
        total = int(options["total"])
        assigned = None
        if "assign" in options:
            assigned = tuple(
                tuple(BrokerId(int(id)) for id in part.split(",") if id)
                for part in options["assign"].split(";")
            )
        topics = tuple(PartitionsToAdd(name, total, assigned) for name in command.words)
        yield from self.feed(
            CreatePartitions("token", topics, 0, validate_only="validate" in options)
        )

    def do_alter(self, command: Command) -> Iterator[str]:
        options = command.options
        edits = []
        for operation in ConfigOperation:
            for pair in options.get(operation.name.lower(), "").split(","):
                key, _, value = pair.partition(":")
                if pair:
                    edits.append(ConfigEdit(key, operation, value.replace("+", ",")))
        type = int(options.get("type", 2))
        yield from self.feed(
            AlterConfigs(
                "token",
                tuple(
                    ResourceEdits(ConfigResource(type, name), tuple(edits))
                    for name in command.words
                ),
                BrokerId(1),
                own_settings={},
                replaces_all="replace" in options,
                validate_only="validate" in options,
            )
        )

    def do_producer_ids(self, command: Command) -> Iterator[str]:
        yield from self.feed(AllocateProducerIds("token", *self.broker(command)))

    def broker(self, command: Command) -> tuple[BrokerId, BrokerEpoch]:
        id = int(command.words[0])
        epoch = int(command.options.get("epoch", self.epochs.get(id, 0)))
        return BrokerId(id), BrokerEpoch(epoch)

    def do_propose(self, command: Command) -> Iterator[str]:
        name, index = _partition(command.words[1])
        topic = self.controller.image.topics[name]
        before, options = topic.partitions[index], command.options
        proposed = ProposedIsr(
            topic.id,
            index,
            LeaderEpoch(int(options.get("leader-epoch", before.leader_epoch))),
            int(options.get("partition-epoch", before.partition_epoch)),
            tuple(IsrMember(id, BrokerEpoch(self.epochs[id])) for id in _brokers(options["isr"])),
            int(options.get("state", 0)),
        )
        yield from self.feed(AlterPartitions("token", *self.broker(command), (proposed,)))

    def do_elect(self, command: Command) -> Iterator[str]:
        type, *words = command.words
        topics = _by_topic(words) if words else None
        yield from self.feed(ElectLeaders("token", ElectionType[type.upper()], topics))

    def do_reassign(self, command: Command) -> Iterator[str]:
        to = command.options.get("to")
        replicas = None if to is None else _brokers(to)
        topics = tuple(
            ReassignmentsOf(topic, tuple(Reassignment(index, replicas) for index in indexes))
            for topic, indexes in _by_topic(command.words)
        )
        yield from self.feed(
            AlterReassignments(
                "token", topics, allow_replication_factor_change="factor" not in command.options
            )
        )

    def do_reassignments(self, command: Command) -> Iterator[str]:
        topics = _by_topic(command.words) if command.words else None
        yield from self.feed(ListReassignments("token", topics))

    def do_shut_down(self, command: Command) -> Iterator[str]:
        yield from self.feed(ShutDownBroker("token", *self.broker(command)))

    def do_unregister(self, command: Command) -> Iterator[str]:
        yield from self.feed(UnregisterBroker("token", BrokerId(int(command.words[0]))))

    def do_advance(self, command: Command) -> Iterator[str]:
        self.now += int(command.words[0])
        due = [timer for timer in self.timers.values() if timer.at_ms <= self.now]
        for timer in due:
            del self.timers[timer.key]
            yield from self.feed(timer.event)

    def do_image(self, command: Command) -> Iterator[str]:
        image = self.controller.image
        yield f"features {dict(image.features)} next_producer_id {image.next_producer_id}"
        for broker in image.brokers.values():
            state = "active" if broker.active else "fenced" if broker.fenced else "stopping"
            yield f"broker {broker.id} epoch={broker.epoch} {state}"
        for topic in image.topics.values():
            yield f"topic {topic.name} {dict(image.topic_config(topic.name))}"
            for index, p in enumerate(topic.partitions):
                yield (
                    f"  {index} leader={p.leader} epoch={p.leader_epoch} replicas={p.replicas}"
                    f" isr={p.isr}"
                    + (f" elr={elr}" if (elr := p.eligible_leader_replicas) else "")
                    + (f" adding={p.adding_replicas}" if p.adding_replicas else "")
                    + (f" removing={p.removing_replicas}" if p.removing_replicas else "")
                    + (" recovering" if p.leader_recovery_state else "")
                )

    def do_reload(self, command: Command) -> Iterator[str]:
        self.controller = self.loaded()
        self.timers.clear()
        yield f"{len(self.log)} records"

    def loaded(self) -> Controller:
        """One that knows the log alone; its image is as ours."""
        controller = Controller()
        for record in self.log:
            controller.apply(record)
        assert controller.image == self.controller.image
        return controller


def _partition(word: str) -> tuple[str, int]:
    topic, _, index = word.rpartition("-")
    return topic, int(index)


def _by_topic(words: list[str]) -> tuple[PartitionsOf, ...]:
    topics: dict[str, list[int]] = {}
    for topic, index in map(_partition, words):
        topics.setdefault(topic, []).append(index)
    return tuple(PartitionsOf(topic, tuple(indexes)) for topic, indexes in topics.items())


def _brokers(text: str) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(int(id)) for id in text.split(",") if id)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_scenario(path: Path, rewrite: bool) -> None:
    stage = Stage()
    check(path, stage.run, rewrite=rewrite)
    stage.loaded()


def test_there_are_scenarios() -> None:
    assert len(list(FOLDER.glob("*.txt"))) >= 4
