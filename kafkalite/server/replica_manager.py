"""The partitions that this broker holds: found by name or id, made and dropped as metadata says.

What the metadata says of many partitions is carried out over many turns of the loop, so that it
holds up nobody; who asks for one of them has its turn at once. So whatever is in the metadata can
be used as soon as `apply` returns. A log without records has no folder at first: those of a few new
partitions are made at once, those of many by a worker.

A partition whose disk refuses, or whose files cannot be read, is offline: it is answered with
KAFKA_STORAGE_ERROR and told in the log, and the others go on. What the metadata next says of it
tries again.

Kafka differs: at a disk's first error it takes every partition of the folder offline; here the one
partition that met it.

Source: Kafka's `ReplicaManager.applyDelta` and `getPartitionOrError`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.partition_log import PartitionLog
from kafkalite.metadata.delta import MetadataDelta, PartitionChange
from kafkalite.metadata.image import (
    ConfigResourceType,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.entropy import Entropy
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.partition import Partition
from kafkalite.server.strays import Strays
from kafkalite.types import BrokerId, Offset, TopicPartition, Uuid

_log = logging.getLogger(__name__)

PER_TURN = 16
"""Partitions that are opened, changed or dropped in one turn of the loop: a few milliseconds."""

LARGE_BYTES = 4 << 20
"""Of a log: to check it after a crash takes longer than one turn of the loop should."""

_UNUSABLE = (OSError, CorruptRecordError, KafkaError)
"""What may keep one partition offline: the disk, its files, another topic's folder."""

_Key = tuple[Uuid, int]


class _Doomed(NamedTuple):
    """What is left of a deleted partition."""

    topic_id: Uuid
    partition: Partition | None
    """None: it is not open."""


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
        make_later: Callable[[TopicPartition, PartitionLog], None],
    ) -> None:
        """`remove_later` is given the folders of deleted partitions, which may take long to go,
        `make_later` logs that have no folder yet."""
        self._broker_id = broker_id
        self._config = config
        """With what the metadata has for this broker and for all."""
        self._directory = directory
        self._clock = clock
        self._entropy = entropy
        self._remove_later = remove_later
        self._make_later = make_later
        self.image = MetadataImage()
        """The newest metadata that this broker has folded; replaced, never changed."""
        self._by_name: dict[str, dict[int, Partition]] = {}
        self._by_id: dict[Uuid, dict[int, Partition]] = {}
        self._behind: dict[_Key, Partition | None] = {}
        """Not yet as the image has them, and in neither of these; None: not open. In the order in
        which they fell behind."""
        self._offline: dict[_Key, Partition] = {}
        """Open, yet out of use, until the disk takes what the metadata says of them."""
        self._doomed: dict[TopicPartition, _Doomed] = {}
        """Deleted, with a folder that may still have its name."""
        self.strays = Strays(directory, entropy, remove_later)
        """To be set aside before the first `apply`."""
        self._turn: Timer | None = None
        self._is_starting = True

    # Asked by handlers.

    def find(self, topic: str, index: int) -> Partition:
        """The replica here. UNKNOWN_TOPIC_OR_PARTITION when there is no such partition at all,
        NOT_LEADER_OR_FOLLOWER when only other brokers hold it."""
        held = self._by_name.get(topic)
        partition = None if held is None else held.get(index)
        if partition is not None:
            return partition
        known = self.image.topics.get(topic)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._find_late(known, index)

    def find_by_id(self, topic_id: Uuid, index: int) -> Partition:
        """As `find`; UNKNOWN_TOPIC_ID when no topic has the id."""
        held = self._by_id.get(topic_id)
        partition = None if held is None else held.get(index)
        if partition is not None:
            return partition
        known = self.image.topics_by_id.get(topic_id)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return self._find_late(known, index)

    def _find_late(self, topic: TopicImage, index: int) -> Partition:
        """One that is behind has its turn now."""
        if (topic.id, index) in self._behind:
            self._catch_up(topic, index)
            partition = self._by_id[topic.id].get(index)
            if partition is not None:
                return partition
        if not 0 <= index < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._broker_id in topic.partitions[index].replicas:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "its log cannot be used")
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def high_watermarks(self) -> dict[TopicPartition, Offset]:
        """To be remembered over a stop."""
        return {
            TopicPartition(partition.topic, partition.index): partition.high_watermark
            for partition in (*self._open_ones(), *self._offline.values())
        }

    @property
    def directory(self) -> LogDirectory:
        """The folder that all of them are in."""
        return self._directory

    def catch_up_each(self) -> Iterator[None]:
        """Give those that are behind their turn now, one at each step, which takes some tenths of a
        millisecond."""
        for key in list(self._behind):
            if key in self._behind:  # Its topic may be deleted between two steps.
                self._catch_up(self.image.topics_by_id[key[0]], key[1])
                yield

    def partitions(self) -> Iterable[Partition]:
        """All replicas that are open here."""
        return list(self._open_ones())

    def held(self) -> list[Partition]:
        """Those that are open and in use at the moment."""
        return list(self._open_ones())

    def _open_ones(self) -> Iterator[Partition]:
        for held in self._by_id.values():
            yield from held.values()
        yield from (partition for partition in self._behind.values() if partition is not None)

    # Told by the metadata.

    def configure(self, config: BrokerConfig) -> None:
        """Give topics these defaults from now on."""
        self._config = config
        for topic in self._by_name:
            self._configure(topic)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Hold what `image` gives this broker. When it returns, partitions led here are usable, or
        offline."""
        self.image = image
        for topic in delta.deleted:
            self._delete(topic)
        for change in delta.partitions():
            self._fall_behind(change)
        for resource in delta.configs:
            if resource.type == ConfigResourceType.TOPIC:
                self._configure(resource.name)
        if self._is_starting:
            self._begin()
        elif self._turn is None:
            self._go_on(makes_folders=True)

    def wake_all(self) -> None:
        """Answer everyone who waits, with what there is: the broker stops."""
        for partition in list(self._open_ones()):
            partition.wake_all()

    def stop(self) -> None:
        """What is behind stays so, and the next start goes on with it; but no folder keeps the name
        of a deleted partition."""
        if self._turn is not None:
            self._turn.cancel()
        for key in list(self._doomed):
            self._drop(key)

    def _begin(self) -> None:
        """All that was there before can wait, but for what takes long to check after a crash: that
        would hold up those who ask for anything later."""
        self._is_starting = False
        directory = self._directory
        if not directory.claimed.was_clean:
            for topic_id, index in list(self._behind):
                topic = self.image.topics_by_id[topic_id]
                if directory.size_bytes(TopicPartition(topic.name, index)) > LARGE_BYTES:
                    self._catch_up(topic, index)
        self._turn = self._clock.call_at(self._clock.now_ms(), self._go_on)

    def _go_on(self, *, makes_folders: bool = False) -> None:
        """As much as one turn may take."""
        for _ in range(PER_TURN):
            if self._doomed:
                self._drop(next(iter(self._doomed)))
            elif self._behind:
                topic_id, index = next(iter(self._behind))
                topic = self.image.topics_by_id[topic_id]
                self._catch_up(topic, index, makes_folder=makes_folders)
            else:
                break
        is_over = not (self._doomed or self._behind)
        self._turn = None if is_over else self._clock.call_at(self._clock.now_ms(), self._go_on)

    def _delete(self, topic: TopicImage) -> None:
        self._by_name.pop(topic.name, None)  # Before any wait ends: whoever looks finds nothing.
        held = self._by_id.pop(topic.id, {})
        for index in range(len(topic.partitions)):
            behind = self._behind.pop((topic.id, index), None)
            partition = held.get(index) or behind or self._offline.pop((topic.id, index), None)
            # One of that name that is still doomed has kept this one from having a folder.
            self._doomed.setdefault(TopicPartition(topic.name, index), _Doomed(topic.id, partition))
            if partition is not None:
                partition.resign()

    def _drop(self, key: TopicPartition) -> None:
        """Let go of a deleted partition's log, and have its folder removed."""
        doomed = self._doomed.pop(key)
        directory = self._directory
        try:
            if doomed.partition is None and directory.read_topic_id(key) != doomed.topic_id:
                return
            folder = directory.delete_partition(key, self._entropy.uuid())
        except OSError as error:
            _log.error("%s is deleted, and its folder stays: %s", key, error)
        else:
            if folder is not None:
                self._remove_later(folder)

    def _fall_behind(self, change: PartitionChange) -> None:
        if self._broker_id not in change.after.replicas:
            return  # Reassignment, which takes replicas away, comes with the cluster.
        topic, key = change.topic, (change.topic.id, change.index)
        held = self._by_id.setdefault(topic.id, {})
        self._by_name[topic.name] = held
        if key not in self._behind:
            partition = held.pop(change.index, None)
            self._behind[key] = partition or self._offline.pop(key, None)

    def _catch_up(self, topic: TopicImage, index: int, *, makes_folder: bool = False) -> None:
        """Make one that is behind as the image has it, or take it offline. A folder that it lacks
        is made now, or later."""
        held, key = self._by_id[topic.id], (topic.id, index)
        partition = self._behind.pop(key)
        try:
            if partition is None:
                partition = self._open(topic, index)
            else:
                self._configure_one(partition)
            held[index] = partition  # First: whoever is woken by what follows looks here.
            self._follow(partition, topic.partitions[index])
            if makes_folder:
                partition.log.folder.make()
        except _UNUSABLE as error:
            _log.error("%s-%d is offline: %s", topic.name, index, error)
            if partition is not None:
                del held[index]
                self._offline[key] = partition
                partition.resign()
            return
        if not partition.log.folder.exists:
            self._make_later(TopicPartition(topic.name, index), partition.log)

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
        checkpointed = self._directory.checkpoints.high_watermarks.get(key, log.log_start_offset)
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
        key = TopicPartition(topic.name, index)
        if key in self._doomed:
            self._drop(key)
        try:
            log = self._open_log(key, topic.id, config)
        except KafkaError as error:
            if error.code is not ErrorCode.INCONSISTENT_TOPIC_ID:
                raise
            self.strays.set_aside(key)
            log = self._open_log(key, topic.id, config)
        for cut in log.cuts:
            _log.warning("%s: %s", key, cut)
        return Partition(topic.name, topic.id, index, log, config)

    def _open_log(self, key: TopicPartition, topic_id: Uuid, config: TopicConfig) -> PartitionLog:
        return self._directory.open_partition(
            key, topic_id=topic_id, config=config, now=self._clock.now_ms()
        )

    def _configure(self, topic: str) -> None:
        held = self._by_name.get(topic)
        if held:
            for partition in held.values():
                self._configure_one(partition)

    def _configure_one(self, partition: Partition) -> None:
        config = self._topic_config(partition.topic)
        if config != partition.config:
            partition.config = config
            partition.log.configure(config)

    def _topic_config(self, topic: str) -> TopicConfig:
        return TopicConfig.of(self.image.topic_config(topic), self._config)
