"""A controller for tests, with brokers that have registered, and short ways to ask it."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import (
    CreatedTopic,
    CreateTopics,
    DeleteTopics,
    Event,
    NewTopic,
    PartitionAssignment,
    RefusedTopic,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
)
from kafkalite.controller.features import SUPPORTED
from kafkalite.controller.settings import ControllerSettings, TopicDefaults
from kafkalite.controller.term_events import RegisterBroker, StartTerm
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import Endpoint
from kafkalite.metadata.store import BrokerRegistration
from kafkalite.types import BrokerEpoch, BrokerId, TimestampMs, Uuid

NOW = TimestampMs(1_000_000)


def uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16))


def broker_registration(
    id: int,
    *,
    incarnation: int = 0,
    rack: str | None = None,
    log_dirs: Sequence[Uuid] | None = None,
) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=BrokerId(id),
        incarnation_id=uuid(1000 + 10 * id + incarnation),
        endpoints=(Endpoint("PLAINTEXT", f"host-{id}", 9092),),
        features=tuple(SUPPORTED.items()),
        rack=rack,
        log_dirs=(uuid(2000 + id),) if log_dirs is None else tuple(log_dirs),
    )


def assignment(partition: int, *replicas: int) -> PartitionAssignment:
    return PartitionAssignment(partition, tuple(map(BrokerId, replicas)))


class Cluster:
    """Decides and applies at once, as a driver over a store that never fails."""

    def __init__(
        self,
        *brokers: int,
        defaults: TopicDefaults | None = None,
        settings: ControllerSettings | None = None,
    ) -> None:
        self.settings = settings or ControllerSettings(topics=defaults or TopicDefaults())
        self.controller = Controller(self.settings)
        self.records: tuple[Change, ...] = ()
        """Of the last event."""
        self.log: list[Change] = []
        self._next_id = 0
        self.feed(StartTerm(()))
        for id in brokers:
            self.feed(RegisterBroker(None, broker_registration(id), BrokerEpoch(id)))

    def feed(self, event: Event) -> object:
        """The body of the reply; None without one."""
        outcome = self.controller.decide(event, NOW)
        self.records = outcome.records
        self.log += outcome.records
        for record in outcome.records:
            self.controller.apply(record)
        assert len(outcome.replies) <= 1
        return outcome.replies[0].body if outcome.replies else None

    def create(
        self, *topics: NewTopic, validate_only: bool = False, seed: int = 0
    ) -> tuple[CreatedTopic | RefusedTopic, ...]:
        ids = tuple(uuid(self._next_id + n + 1) for n in range(len(topics)))
        self._next_id += len(topics)
        answer = self.feed(CreateTopics("token", topics, ids, seed, validate_only))
        assert isinstance(answer, TopicsCreated)
        return answer.topics

    def create_one(self, topic: NewTopic) -> CreatedTopic | RefusedTopic:
        (answer,) = self.create(topic)
        return answer

    def delete(self, *topics: TopicToDelete) -> TopicsDeleted:
        answer = self.feed(DeleteTopics("token", topics))
        assert isinstance(answer, TopicsDeleted)
        return answer
