"""The partitions that this broker holds: found by name or id, made and dropped as metadata says.

What the metadata says of many partitions is carried out over many turns of the loop, so that it
holds up nobody; who asks for one of them has its turn at once. So whatever is in the metadata can
be used as soon as `apply` returns. A log without records has no folder at first: those of a few new
partitions are made at once, those of many by a worker.

A partition whose disk refuses, or whose files cannot be read, is offline: it is answered with
KAFKA_STORAGE_ERROR and told in the log, and the others go on. What the metadata next says of it
tries again.

When a whole log folder has failed, all that it holds is offline, and the controller is told; the
broker stops when that was the folder of the metadata log, or the last one. Errors that pass, such
as a full disk, refuse what met them and no more.

Kafka differs: it takes any error of a disk for the end of its folder, a full disk too, and the
broker has to be started again once the cause is gone. Here a full disk needs no restart. One that
is read-only, is gone or answers I/O errors does, as there: its partitions stay offline until then,
though it is in order again, and hold all that was acknowledged.

Source: Kafka's `ReplicaManager.applyDelta` and `getPartitionOrError`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.core import Pause
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import LogFolderFailedError
from kafkalite.metadata.delta import MetadataDelta, PartitionChange
from kafkalite.metadata.image import (
    ConfigResourceType,
    MetadataImage,
    TopicImage,
)
from kafkalite.ports.clock import Clock, Timer
from kafkalite.server.disk_troubles import DiskTroubles
from kafkalite.server.opening_progress import OpeningProgress
from kafkalite.server.partition import Partition
from kafkalite.server.partition_homes import PartitionHomes, ToCheck
from kafkalite.server.replica_roles import ReplicaRoles
from kafkalite.types import BrokerId, Offset, TopicPartition, Uuid

_log = logging.getLogger(__name__)

PER_TURN = 16
"""Partitions that are opened, changed or dropped in one turn of the loop: a few milliseconds."""

RETRY_MS = 1_000
"""After a disk's refusal, before an offline partition is tried again for whoever asks for it."""

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
        homes: PartitionHomes,
        roles: ReplicaRoles,
        *,
        clock: Clock,
        on_failed: Callable[[LogDirectory], None],
        stop: Callable[[LogFolderFailedError], None],
    ) -> None:
        """`on_failed` is told of a log folder that has failed, unless the broker cannot do without:
        then `stop` is called."""
        self._broker_id = broker_id
        self._config = config
        """With what the metadata has for this broker and for all."""
        self.homes = homes
        """Strays are to be set aside there before the first `apply`."""
        self._roles = roles
        self.throttles = roles.throttles
        """What slows down copies between brokers."""
        self._clock = clock
        self._on_failed = on_failed
        self._stop = stop
        self.recompresses = False
        """Whether any partition is of a topic that recompresses, or was."""
        self.troubles = DiskTroubles()
        """What disks refuse at the moment."""
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
        self._keeps_names = False
        """Whether a disk refused to take one of them away."""
        self._pauses: dict[_Key, Pause] = {}
        """Of those that are offline for a reason that may pass: after it whoever asks has it tried
        again."""
        self._turn: Timer | None = None
        self._is_starting = True
        self._progress: OpeningProgress | None = None

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
        key = (topic.id, index)
        if key in self._pauses:
            self._retry(topic, index)
        if key in self._behind:
            self._catch_up(topic, index, makes_folder=key in self._pauses)
            partition = self._by_id[topic.id].get(index)
            if partition is not None:
                return partition
        if not 0 <= index < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        image = topic.partitions[index]
        if self._broker_id in image.replicas and (
            image.leader == self._broker_id
            or key in self._offline
            or self.homes.directories.is_lost(TopicPartition(topic.name, index))
        ):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "its log cannot be used")
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def high_watermarks(self) -> dict[TopicPartition, Offset]:
        """To be remembered over a stop."""
        return {
            TopicPartition(partition.topic, partition.index): partition.high_watermark
            for partition in (*self._open_ones(), *self._offline.values())
        }

    def _retry(self, topic: TopicImage, index: int) -> None:
        """Have one that is offline tried again, if it is time."""
        key = (topic.id, index)
        now = self._clock.now_ms()
        if self._pauses[key].is_over(now):
            self._pauses[key] = Pause.of(RETRY_MS, now)
            self._behind[key] = self._offline.pop(key, None)

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

    def held(self, directory: LogDirectory) -> list[Partition]:
        """Those in that folder that are open and in use at the moment."""
        return [each for each in self._open_ones() if each.directory is directory]

    def _open_ones(self) -> Iterator[Partition]:
        for held in self._by_id.values():
            yield from held.values()
        yield from (partition for partition in self._behind.values() if partition is not None)

    def is_lost(self, topic_id: Uuid, index: int) -> bool:
        """Whether this broker has a replica of that in a log folder that has failed."""
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None or index >= len(topic.partitions):
            return False
        is_here = self._broker_id in topic.partitions[index].replicas
        return is_here and self.homes.is_lost(topic, index)

    def lost(self) -> tuple[tuple[Uuid, int], ...]:
        """Those that are, by topic id and partition."""
        return tuple(
            (topic.id, index)
            for topic in self.image.topics.values()
            for index in range(len(topic.partitions))
            if self.is_lost(topic.id, index)
        )

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
        if delta.brokers:
            self._roles.follow_brokers(image)
        if any(resource.type == ConfigResourceType.BROKER for resource in delta.configs):
            self.throttles.configure(image)
        for topic in delta.deleted:
            self._delete(topic)
        for change in delta.partitions():
            self._fall_behind(change)
        for resource in delta.configs:
            if resource.type == ConfigResourceType.TOPIC:
                self._configure(resource.name)
        if delta.brokers:
            now = self._clock.now_ms()
            for partition in self._open_ones():
                partition.brokers_changed(now)
        if self._is_starting:
            self._begin()
        elif self._turn is None:
            self._go_on(makes_folders=True)

    @property
    def is_deleting(self) -> bool:
        """Whether a folder may still have the name of a partition that is deleted: until the next
        start, if its disk has refused, or is in no use."""
        homes = self.homes
        return bool(
            self._doomed or self._keeps_names or homes.directories.failed or homes.have_strays
        )

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

    def abandon(self) -> None:
        """Open, change and drop nothing more, as when the process has died: the folders may be
        another's by now."""
        if self._turn is not None:
            self._turn.cancel()
        self._behind.clear()
        self._doomed.clear()

    def _begin(self) -> None:
        """All that was there before can wait, but for what takes long to check after a crash: that
        would hold up those who ask for anything later."""
        self._is_starting = False
        total = len(self._behind)
        progress = self._progress = OpeningProgress(self._clock, total)
        late = [(self.image.topics_by_id[topic_id], index) for topic_id, index in self._behind]
        late = [each for each in late if self.homes.takes_long(each[0].name, each[1], LARGE_BYTES)]
        steps = self.homes.check(
            ToCheck(TopicPartition(topic.name, index), topic.id, self._topic_config(topic.name))
            for topic, index in late
        )
        for done, _ in enumerate(steps, start=1):
            progress.left(total - done)
        for topic, index in late:
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
        if self._progress is not None:
            self._progress.left(len(self._behind))
            self._progress = None if is_over else self._progress
        self._turn = None if is_over else self._clock.call_at(self._clock.now_ms(), self._go_on)

    def _delete(self, topic: TopicImage) -> None:
        self._by_name.pop(topic.name, None)  # Before any wait ends: whoever looks finds nothing.
        held = self._by_id.pop(topic.id, {})
        for index in range(len(topic.partitions)):
            self._pauses.pop((topic.id, index), None)
            behind = self._behind.pop((topic.id, index), None)
            partition = held.get(index) or behind or self._offline.pop((topic.id, index), None)
            self._doom(topic, index, partition)

    def _doom(self, topic: TopicImage, index: int, partition: Partition | None) -> None:
        # One of that name that is still doomed has kept this one from having a folder.
        self._doomed.setdefault(TopicPartition(topic.name, index), _Doomed(topic.id, partition))
        if partition is not None:
            self._roles.leave(partition)

    def _drop(self, key: TopicPartition) -> None:
        """Let go of a deleted partition's log, and have its folder removed."""
        doomed = self._doomed.pop(key)
        try:
            self.homes.drop(key, doomed.topic_id, doomed.partition)
        except OSError as error:
            self._keeps_names = True
            _log.error("%s is deleted, and its folder stays: %s", key, str(error))

    def _fall_behind(self, change: PartitionChange) -> None:
        topic, key = change.topic, (change.topic.id, change.partition)
        if self._broker_id not in change.after.replicas:
            if change.before is not None and self._broker_id in change.before.replicas:
                self._take_away(topic, change.partition)
            return
        held = self._by_id.setdefault(topic.id, {})
        self._by_name[topic.name] = held
        self._pauses.pop(key, None)
        if key not in self._behind:
            partition = held.pop(change.partition, None)
            self._behind[key] = partition or self._offline.pop(key, None)

    def _take_away(self, topic: TopicImage, index: int) -> None:
        """The partition has its replicas elsewhere now."""
        key = (topic.id, index)
        self._pauses.pop(key, None)
        partition = self._by_id[topic.id].pop(index, None) if topic.id in self._by_id else None
        partition = partition or self._behind.pop(key, None) or self._offline.pop(key, None)
        self._doom(topic, index, partition)

    def _catch_up(self, topic: TopicImage, index: int, *, makes_folder: bool = False) -> None:
        """Make one that is behind as the image has it, or take it offline. A folder that it lacks
        is made now, or later."""
        held, key = self._by_id[topic.id], (topic.id, index)
        partition = self._behind.pop(key)
        name = TopicPartition(topic.name, index)
        if name in self._doomed:
            self._drop(name)
        if partition is None and self.homes.is_lost(topic, index):
            return  # Told when the folder failed.
        try:
            if partition is None:
                partition = self._open(topic, index)
            else:
                self._configure_one(partition)
            self.recompresses |= partition.log.validator.target is not None
            held[index] = partition  # First: whoever is woken by what follows looks here.
            self._roles.take(partition, topic.partitions[index])
            if makes_folder:
                partition.log.folder.make()
        except _UNUSABLE as error:
            if key not in self._pauses:
                # Whoever keeps the record keeps no traceback, in which are views of a request.
                _log.error("%s-%d is offline: %s", topic.name, index, str(error))
            if partition is not None:
                del held[index]
                self._offline[key] = partition
                self._roles.leave(partition)
            if isinstance(error, OSError):
                self._pauses[key] = Pause.of(RETRY_MS, self._clock.now_ms())
                directory = self.homes.directories.of(name)
                if directory is not None:
                    self._has_failed(directory, error)
            return
        if self._pauses.pop(key, None) is not None:
            _log.warning("%s-%d is in use again", topic.name, index)
        self.homes.make_folder_later(partition)

    def _open(self, topic: TopicImage, index: int) -> Partition:
        config = self._topic_config(topic.name)
        partition = self.homes.open(topic, index, config)
        partition.on_refused = self.disk_refused
        return partition

    # Told by whoever met an error.

    def disk_refused(self, directory: LogDirectory, error: OSError) -> None:
        """Refused it is what a request needs: say so, unless the whole folder has failed."""
        if not self._has_failed(directory, error):
            self.troubles.refused(directory, error)

    def upkeep_refused(self, directory: LogDirectory, error: OSError) -> None:
        """No request waits for it, and it was told of: find out whether the whole folder has
        failed."""
        self._has_failed(directory, error)

    def _has_failed(self, directory: LogDirectory, error: OSError) -> bool:
        """Whether the whole folder has, which is carried out."""
        directories = self.homes.directories
        if directory not in directories.live:
            return True
        if not directories.has_failed(directory, error):
            return False
        self.folder_failed(directory, error)
        return True

    def folder_failed(self, directory: LogDirectory, error: OSError) -> None:
        """Whatever else it answers, it is not to be trusted any more."""
        directories = self.homes.directories
        if directory is directories.metadata:
            self._stop(
                LogFolderFailedError(
                    f"the log folder {directory.location}, which has the metadata log, has failed: "
                    f"{error}"
                )
            )
        elif directory in directories.live:
            self._fail(directory, error)

    def _fail(self, directory: LogDirectory, error: OSError) -> None:
        lost = self.homes.directories.fail(directory, error)
        _log.error(
            "the log folder %s has failed, and %d partitions are offline: %s",
            directory.location,
            len(lost),
            str(error),  # Its traceback has the views of a request.
        )
        for key in lost:
            topic = self.image.topics.get(key.topic)
            if topic is None:
                continue
            index = key.partition
            self._pauses.pop((topic.id, index), None)
            partition = self._by_id.get(topic.id, {}).pop(index, None)
            partition = partition or self._offline.pop((topic.id, index), None)
            if (topic.id, index) in self._behind:
                partition = self._behind.pop((topic.id, index)) or partition
            if partition is not None:
                self._roles.leave(partition)
        with suppress(OSError):  # Such a disk may refuse even to close a file.
            directory.abandon()
        self._on_failed(directory)

    # Settings.

    def _configure(self, topic: str) -> None:
        held = self._by_name.get(topic)
        if held:
            for partition in held.values():
                self._configure_one(partition)

    def _configure_one(self, partition: Partition) -> None:
        config = self._topic_config(partition.topic)
        if config != partition.config:
            partition.configure(config)
            self.recompresses |= partition.log.validator.target is not None

    def _topic_config(self, topic: str) -> TopicConfig:
        return TopicConfig.of(self.image.topic_config(topic), self._config)
