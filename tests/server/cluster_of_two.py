"""A broker beside another one, which is there in the metadata alone and is the controller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from kafkalite.controller.events import (
    CreatedTopic,
    CreateTopics,
    DeleteTopics,
    NewTopic,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import KafkaError
from kafkalite.log.files import Files
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResourceType
from kafkalite.metadata.store import CommitResult, Committed
from kafkalite.protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
)
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId, format_uuid
from tests.controller.sample_cluster import assignment, broker_registration
from tests.server.running import Running, start

OTHER = BrokerId(2)
OTHER_HOST = "host-2"


class Other:
    """Broker 2: controls the cluster, holds replicas, never fetches."""

    def __init__(self, simulation: Simulation, rack: str | None) -> None:
        self._entropy = simulation.entropy
        cluster_id = format_uuid(simulation.entropy.uuid())
        self.store = MemoryStore(cluster_id, simulation.clock)
        self._driver = ControllerDriver(simulation.clock, ControllerSettings())
        self._session = self.store.open_session(OTHER, self._driver.on_store_event)
        self._driver.start(self._session)
        self._session.register(broker_registration(OTHER, rack=rack))

    def create(
        self, name: str, *replicas: Sequence[int], configs: Mapping[str, str] | None = None
    ) -> None:
        """A topic with one partition for each list of replicas, the first of which leads."""
        topic = NewTopic(
            name,
            assignments=tuple(assignment(index, *ids) for index, ids in enumerate(replicas)),
            configs=tuple((configs or {}).items()),
        )
        replies: list[TopicsCreated | KafkaError] = []
        self._driver.submit(
            CreateTopics(None, (topic,), (self._entropy.uuid(),), 0), replies.append
        )
        (reply,) = replies
        assert isinstance(reply, TopicsCreated), reply
        assert isinstance(reply.topics[0], CreatedTopic), reply

    def change(
        self,
        name: str,
        index: int = 0,
        *,
        isr: Sequence[int] | None = None,
        leader: int | None = None,
        replicas: Sequence[int] | None = None,
    ) -> None:
        """Change a partition, as an election or a shrinking ISR would."""
        topic_id = self.store.image.topics[name].id
        record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
        if isr is not None:
            record.isr = list(isr)
        if leader is not None:
            record.leader = leader
        if replicas is not None:
            record.replicas = list(replicas)
        self._commit(record)

    def configure(self, topic: str, name: str, value: str | None) -> None:
        """Set a setting of the topic; None takes it back."""
        resource = ConfigResourceType.TOPIC
        self._commit(
            ConfigRecord(resource_type=resource, resource_name=topic, name=name, value=value)
        )

    def add_partition(self, topic: str, *replicas: int) -> None:
        """One more, led by the first of these."""
        image = self.store.image.topics[topic]
        self._commit(
            PartitionRecord(
                partition_id=len(image.partitions),
                topic_id=image.id,
                replicas=list(replicas),
                isr=list(replicas),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[self.store.image.brokers[BrokerId(id)].log_dirs[0] for id in replicas],
            )
        )

    def delete(self, name: str) -> None:
        replies: list[TopicsDeleted | KafkaError] = []
        self._driver.submit(DeleteTopics(None, (TopicToDelete(name),)), replies.append)
        assert isinstance(replies[0], TopicsDeleted), replies

    def leave(self) -> None:
        """End its session. Broker 1 becomes the controller."""
        self._driver.stop()
        self._session.close()

    def _commit(self, *changes: Change) -> None:
        results: list[CommitResult] = []
        self._session.commit(self.store.image.epoch, changes, results.append)
        assert isinstance(results[0], Committed), results


@asynccontextmanager
async def two_brokers(
    simulation: Simulation,
    files: Files | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    other_rack: str | None = None,
) -> AsyncIterator[tuple[Running, Other]]:
    """Broker 1 runs, with these settings, broker 2 controls."""
    other = Other(simulation, other_rack)
    async with start(simulation, files, settings=settings, store=other.store) as running:
        yield running, other
