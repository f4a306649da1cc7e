"""Where partitions live: each in one of the broker's log folders, from its opening until it goes.

Opens their logs, has their folders made and removed, sets strays aside, and carries out what a
folder's failure means for them. Whether and when, the replica manager says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet
from kafkalite.log.partition_log import PartitionLog
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.server.partition import Partition
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.strays import Strays
from kafkalite.types import BrokerId, TopicPartition, Uuid

_log = logging.getLogger(__name__)


class Settled(NamedTuple):
    """A replica is in a folder that the metadata does not know it in."""

    topic_id: Uuid
    partition: int
    directory: LogDirectory


class ToCheck(NamedTuple):
    """A log that is to be checked after a crash."""

    partition: TopicPartition
    topic_id: Uuid
    config: TopicConfig


class PartitionHomes:
    """Of one broker."""

    def __init__(
        self,
        broker_id: BrokerId,
        directories: DirectorySet,
        folders: Mapping[str, PartitionFolders],
        *,
        clock: Clock,
        entropy: Entropy,
        workers: Workers,
        on_settled: Callable[[Settled], None],
        flush_later: Callable[[Partition], None],
    ) -> None:
        """`folders`: by the location of each log folder."""
        self._broker_id = broker_id
        self.directories = directories
        self._folders = folders
        self._clock = clock
        self._entropy = entropy
        self._workers = workers
        self._on_settled = on_settled
        self._flush_later = flush_later
        self._strays = {
            directory.location: Strays(
                broker_id, directory, entropy, folders[directory.location].remove_later
            )
            for directory in directories.live
        }

    def set_strays_aside(self, image: MetadataImage, removed: Container[Uuid]) -> None:
        """All that the image does not name; before the first opening. `removed` are ids of deleted
        topics."""
        for directory in self.directories.live:
            self._strays[directory.location].set_aside_all(image, removed)
        for key in self.directories.settled:
            topic = image.topics.get(key.topic)
            if topic is None or key.partition >= len(topic.partitions):
                self.directories.forget(key)

    @property
    def have_strays(self) -> bool:
        """Whether folders that are not to be here have their names still."""
        return any(strays.has_refused for strays in self._strays.values())

    def is_lost(self, topic: TopicImage, index: int) -> bool:
        """Whether it was, or is by what the metadata says, in a folder that is not in use: it has
        failed, or is in the settings no more."""
        directories = self.directories
        key = TopicPartition(topic.name, index)
        if topic.partitions[index].is_offline(self._broker_id, directories.ids):
            found = directories.of(key)
            return found is None or found.read_topic_id(key) != topic.id
        return directories.is_lost(key)

    def takes_long(self, topic: str, index: int, large_bytes: int) -> bool:
        """Whether much is to be checked after a crash before it can be used."""
        key = TopicPartition(topic, index)
        directory = self.directories.of(key)
        if directory is None or directory.claimed.was_clean:
            return False
        return directory.size_bytes(key) > large_bytes

    def check(self, wanted: Iterable[ToCheck]) -> Iterator[None]:
        """Check those that `takes_long`, the folders side by side; a step for each."""
        chains: dict[str, list[ToCheck]] = {}
        for each in wanted:
            directory = self.directories.of(each.partition)
            assert directory is not None
            chains.setdefault(directory.location, []).append(each)
        by_location = {directory.location: directory for directory in self.directories.live}
        now = self._clock.now_ms()

        def steps(directory: LogDirectory, those: Iterable[ToCheck]) -> Iterator[None]:
            for key, topic_id, config in those:
                directory.opener.check(key, topic_id=topic_id, config=config, now=now)
                yield

        return self._workers.side_by_side(
            [steps(by_location[location], those) for location, those in chains.items()]
        )

    def open(self, topic: TopicImage, index: int, config: TopicConfig) -> Partition:
        """Open its log where it is; a new one in a folder chosen for it. KAFKA_STORAGE_ERROR for
        one that `is_lost`."""
        key = TopicPartition(topic.name, index)
        if self.is_lost(topic, index):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "its log folder has failed")
        directory = self.directories.home(key)
        assigned = topic.partitions[index].directory_of(self._broker_id)
        if directory is None:
            directory = self.directories.find(assigned) or self.directories.choose()
        if self.directories.are_several:
            self.directories.settle(key, directory)
        log = self._open_log(directory, key, topic.id, config)
        for cut in log.cuts:
            _log.warning("%s: %s", key, cut)
        if log.is_held_back:
            log.sync()  # Or else what was acknowledged before a kill would be seen only later.
        is_told = assigned == directory.id or not topic.partitions[index].directories
        if self.directories.are_several and not is_told:
            self._on_settled(Settled(topic.id, index, directory))
        partition = Partition(topic.name, topic.id, index, log, config, directory)
        partition.flush_later, partition.flushed_ms = self._flush_later, self._clock.now_ms()
        known = directory.checkpoints.high_watermarks.get(key, log.log_start_offset)
        partition.last_high_watermark = min(max(known, log.log_start_offset), log.end_offset)
        return partition

    def _open_log(
        self, directory: LogDirectory, key: TopicPartition, topic_id: Uuid, config: TopicConfig
    ) -> PartitionLog:
        now = self._clock.now_ms()
        try:
            return directory.open_partition(key, topic_id=topic_id, config=config, now=now)
        except KafkaError as error:
            if error.code is not ErrorCode.INCONSISTENT_TOPIC_ID:
                raise
        self._strays[directory.location].set_aside(key)
        return directory.open_partition(key, topic_id=topic_id, config=config, now=now)

    def make_folder_later(self, partition: Partition) -> None:
        """If it has none yet."""
        if not partition.log.folder.exists:
            key = TopicPartition(partition.topic, partition.index)
            self._folders[partition.directory.location].make_later(key, partition.log)

    def drop(self, key: TopicPartition, topic_id: Uuid, partition: Partition | None) -> None:
        """Let go of a deleted partition's log, and have its folder removed. `OSError`: it stays."""
        directory = self.directories.of(key) if partition is None else partition.directory
        if directory is None or directory not in self.directories.live:
            self.directories.forget(key)  # The next start that finds it removes it.
            return
        if partition is None and directory.read_topic_id(key) != topic_id:
            return
        self.directories.forget(key)
        folder = directory.delete_partition(key, self._entropy.uuid())
        if folder is not None:
            self._folders[directory.location].remove_later(folder)
