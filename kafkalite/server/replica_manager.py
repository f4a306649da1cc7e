"""The partitions that this broker holds: found by name or id, made and dropped as metadata says.

A partition whose disk refuses, or whose files cannot be read, is offline: it is answered with
KAFKA_STORAGE_ERROR and told in the log, and the others go on. What the metadata next says of it
tries again.

Kafka differs: it takes every partition of the folder offline at the first error.

Source: Kafka's `ReplicaManager.applyDelta` and `getPartitionOrError`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.metadata.delta import MetadataDelta, PartitionChange
from kafkalite.metadata.image import (
    ConfigResource,
    ConfigResourceType,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.partition import Partition
from kafkalite.types import BrokerId, Offset, TopicPartition, Uuid

_log = logging.getLogger(__name__)

_UNUSABLE = (OSError, CorruptRecordError, KafkaError)
"""What may keep one partition offline: the disk, its files, another topic's folder."""


class ReplicaManager:
    """Holds one `Partition` for each replica of this broker."""

    def __init__(
        self,
        broker_id: BrokerId,
        config: BrokerConfig,
        directory: LogDirectory,
        *,
        clock: Clock,
        entropy: Entropy,
        remove_later: Callable[[str], None],
    ) -> None:
        """`remove_later` is given the folders of deleted partitions, which may take long to go."""
        self._broker_id = broker_id
        self._config = config
        self._effective_config = config
        """With what the metadata has for this broker and for all."""
        self._directory = directory
        self._clock = clock
        self._entropy = entropy
        self._remove_later = remove_later
        self._by_name: dict[str, dict[int, Partition]] = {}
        self._by_id: dict[Uuid, dict[int, Partition]] = {}
        self._offline: dict[tuple[Uuid, int], Partition] = {}
        """Open, yet out of use, until the disk takes what the metadata says of them."""
        self._image = MetadataImage()

    # Asked by handlers.

    def find(self, topic: str, index: int) -> Partition:
        """The replica here. UNKNOWN_TOPIC_OR_PARTITION when there is no such partition at all,
        NOT_LEADER_OR_FOLLOWER when only other brokers hold it."""
        held = self._by_name.get(topic)
        partition = None if held is None else held.get(index)
        return partition if partition is not None else self._refuse(topic, index)

    def find_by_id(self, topic_id: Uuid, index: int) -> Partition:
        """As `find`; UNKNOWN_TOPIC_ID when no topic has the id."""
        held = self._by_id.get(topic_id)
        partition = None if held is None else held.get(index)
        if partition is not None:
            return partition
        topic = self._image.topics_by_id.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return self._refuse(topic.name, index)

    def _refuse(self, topic: str, index: int) -> Partition:
        known = self._image.partition(topic, index)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._broker_id in known.replicas:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "its log cannot be used")
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def high_watermarks(self) -> dict[TopicPartition, Offset]:
        """To be remembered over a stop."""
        return {
            TopicPartition(partition.topic, partition.index): (
                partition.last_high_watermark
                if partition.leader is None
                else partition.leader.high_watermark
            )
            for partition in (*self.partitions(), *self._offline.values())
        }

    @property
    def directory(self) -> LogDirectory:
        """The folder that all of them are in."""
        return self._directory

    def partitions(self) -> Iterator[Partition]:
        """All replicas here, but for those that are offline."""
        for held in self._by_id.values():
            yield from held.values()

    # Told by the metadata.

    def set_strays_aside(self, image: MetadataImage) -> None:
        """Before the first `apply`: folders that the metadata does not know are renamed, not
        opened and not removed: a person may want to look."""
        for found in self._directory.find_partitions():
            topic = image.topics.get(found.partition.topic)
            is_known = (
                topic is not None
                and found.topic_id in (None, topic.id)
                and found.partition.partition < len(topic.partitions)
            )
            if is_known:
                continue
            try:
                folder = self._directory.set_stray(found.partition, self._entropy.uuid())
            except OSError as error:
                _log.error("%s is not in the metadata, and stays: %s", found.folder, error)
            else:
                _log.warning("%s is not in the metadata: set aside as %s", found.folder, folder)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Hold what `image` gives this broker. When it returns, partitions led here are usable, or
        offline."""
        self._image = image
        if any(resource.type == ConfigResourceType.BROKER for resource in delta.configs):
            self._configure_broker()
        for topic in delta.deleted:
            self._delete(topic)
        for change in delta.partitions():
            self._change(change)
        for resource in delta.configs:
            if resource.type == ConfigResourceType.TOPIC:
                self._configure(resource.name)

    def wake_all(self) -> None:
        """Answer everyone who waits, with what there is: the broker stops."""
        for partition in list(self.partitions()):
            partition.wake_all()

    def _delete(self, topic: TopicImage) -> None:
        self._by_name.pop(topic.name, None)  # Before any wait ends: whoever looks finds nothing.
        held = self._by_id.pop(topic.id, {})
        for index in range(len(topic.partitions)):
            partition = held.get(index) or self._offline.pop((topic.id, index), None)
            key = TopicPartition(topic.name, index)
            try:
                if partition is not None or self._directory.has_folder(key, topic.id):
                    folder = self._directory.delete_partition(key, self._entropy.uuid())
                    self._remove_later(folder)
            except (OSError, CorruptRecordError) as error:
                _log.error("%s-%d is deleted, and its folder stays: %s", topic.name, index, error)
            if partition is not None:
                partition.resign()

    def _change(self, change: PartitionChange) -> None:
        if self._broker_id not in change.after.replicas:
            return  # Reassignment, which takes replicas away, comes with the cluster.
        topic, index = change.topic, change.index
        held = self._by_id.setdefault(topic.id, {})
        self._by_name[topic.name] = held
        partition = held.get(index) or self._offline.pop((topic.id, index), None)
        try:
            if partition is None:
                partition = self._open(topic, index)
            held[index] = partition
            self._follow(partition, change.after)
        except _UNUSABLE as error:
            _log.error("%s-%d is offline: %s", topic.name, index, error)
            held.pop(index, None)
            if partition is not None:
                self._offline[topic.id, index] = partition
                partition.resign()

    def _follow(self, partition: Partition, image: PartitionImage) -> None:
        """Lead or cease to lead, as the metadata says."""
        if image.leader != self._broker_id:
            partition.resign()
            return
        leader = partition.leader
        if leader is not None and leader.leader_epoch == image.leader_epoch:
            partition.change_isr(frozenset(image.isr))
            return
        log = partition.log
        log.begin_epoch(image.leader_epoch)
        key = TopicPartition(partition.topic, partition.index)
        checkpointed = self._directory.high_watermarks.get(key, log.log_start_offset)
        before = partition.last_high_watermark if leader is None else leader.high_watermark
        partition.become_leader(
            PartitionLeader(
                self._broker_id,
                leader_epoch=image.leader_epoch,
                isr=frozenset(image.isr),
                end_offset=log.end_offset,
                high_watermark=min(max(checkpointed, before), log.end_offset),
            )
        )

    def _open(self, topic: TopicImage, index: int) -> Partition:
        config = self._topic_config(topic.name)
        log = self._directory.open_partition(
            TopicPartition(topic.name, index),
            topic_id=topic.id,
            config=config,
            now=self._clock.now_ms(),
        )
        for cut in log.cuts:
            _log.warning("%s-%d: %s", topic.name, index, cut)
        return Partition(topic.name, topic.id, index, log, config)

    def _configure(self, topic: str) -> None:
        held = self._by_name.get(topic)
        if held:
            config = self._topic_config(topic)
            for partition in held.values():
                partition.config = config
                partition.log.configure(config)

    def _topic_config(self, topic: str) -> TopicConfig:
        return TopicConfig.of(self._image.topic_config(topic), self._effective_config)

    def _configure_broker(self) -> None:
        """Settings in the metadata are above those of the broker's file (KIP-226)."""
        configs, broker = self._image.configs, ConfigResourceType.BROKER
        of_all = configs.get(ConfigResource(broker, ""), {})
        of_this = configs.get(ConfigResource(broker, str(self._broker_id)), {})
        try:
            self._effective_config = BrokerConfig.of({**self._config.settings, **of_all, **of_this})
        except KafkaError as error:
            _log.warning("settings of brokers in the metadata are not followed: %s", error.message)
            return
        for topic in self._by_name:
            self._configure(topic)
