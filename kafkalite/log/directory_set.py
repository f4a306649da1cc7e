"""All log folders of a broker (`log.dirs`): which holds a partition, which takes a new one, and
which have failed.

A new partition goes to the folder with the fewest (Kafka's rule), but for those in
`cordoned.log.dirs`. The first folder has the metadata log too; without it there is no broker. Any
other that cannot be read or written counts as failed: what it holds is offline until a restart
finds it in order.

Kafka differs: it does not start while one of its folders is missing; when a person has formatted a
new one, it makes what was assigned to the old one anew, without its records. Here a start formats
an empty folder by itself, nobody has agreed to a loss, and so what was in the old one stays
offline.

Source: Kafka's `LogManager` and `MetaPropertiesEnsemble`.
"""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.errors import InvariantError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.log.validation import RecordValidation
from kafkalite.types import BrokerId, TopicPartition, Uuid

if TYPE_CHECKING:
    from kafkalite.log.unfinished_moves import UnfinishedCopy

_log = logging.getLogger(__name__)

ALL = "*"
"""In place of the folders' names: each of them."""

_PASSING = (
    errno.ENOSPC,
    getattr(errno, "EDQUOT", errno.ENOSPC),
    errno.EMFILE,
    errno.ENFILE,
    errno.EFBIG,
    errno.ENOMEM,
    errno.EINTR,
    errno.EAGAIN,
)
"""Errors that end by themselves, or by what somebody does: the folder is as good as before."""
_OF_THE_DISK = (errno.EIO, errno.EROFS, errno.ENXIO, errno.ENODEV)
"""Errors after which nothing on that disk can be relied on."""
_PROBE = ".probe"


class Place(NamedTuple):
    """One of the `log.dirs`, before it is opened."""

    location: str
    """Its name for people."""
    files: Files
    """With the folder at their root."""


class LogFolderFailedError(InvariantError):
    """The folder without which there is no broker has failed."""


class FailedFolder(NamedTuple):
    """One that holds nothing any more, as far as the broker can tell."""

    location: str
    reason: str


class DirectorySet:
    """At least one folder, whose first has the metadata log."""

    __slots__ = (
        "_cordoned",
        "_homes",
        "_lost",
        "are_several",
        "failed",
        "live",
        "undone_moves",
    )

    def __init__(self, live: Sequence[LogDirectory], failed: Sequence[FailedFolder] = ()) -> None:
        """`LogDirectoryError` when two folders have the same partition."""
        self.live: list[LogDirectory] = list(live)
        """Those in use, in the order of the setting."""
        self.failed: list[FailedFolder] = list(failed)
        self.are_several = len(self.live) + len(self.failed) > 1
        self._homes: dict[TopicPartition, LogDirectory] = {}
        self._lost: set[TopicPartition] = set()
        self._cordoned: frozenset[str] = frozenset()
        self.undone_moves: dict[TopicPartition, UnfinishedCopy] = {}
        """Where logs were to go when the last run ended."""
        if self.are_several:
            self._look_for_homes()

    def _look_for_homes(self) -> None:
        for directory in list(self.live):
            try:
                found = directory.find_partitions(lambda _: False)
            except OSError as error:
                if directory is self.metadata:
                    raise
                _log.error("the log folder %s cannot be used: %s", directory.location, error)
                self.fail(directory, error)
                directory.abandon()
                continue
            for partition in found:
                other = self._homes.setdefault(partition, directory)
                if other is not directory:
                    raise LogDirectoryError(
                        f"{partition} is in two log folders, {other.location} and "
                        f"{directory.location}: remove one of them"
                    )
        if not self.failed:
            self._end_moves()

    def _end_moves(self) -> None:
        from kafkalite.log.unfinished_moves import end_unfinished  # Most have one folder.

        try:
            moves = end_unfinished(self.live, self._homes)
        except OSError as error:
            _log.error("what was to move between log folders stays as it is: %s", error)
            return
        self._homes |= moves.finished
        self.undone_moves = moves.undone

    @classmethod
    def open(
        cls,
        places: Sequence[Place],
        *,
        node_id: BrokerId,
        new_cluster_id: str,
        new_directory_ids: Sequence[Uuid],
        record_validation: RecordValidation,
        producer_expiration_ms: int,
    ) -> DirectorySet:
        """Take them all; see `ClaimedFolder.take`. `LogDirectoryError` when one must not be used,
        `OSError` when the first cannot be. None is held then."""
        live: list[LogDirectory] = []
        failed: list[FailedFolder] = []
        cluster_id = new_cluster_id
        try:
            for place, new_id in zip(places, new_directory_ids, strict=True):
                try:
                    directory = LogDirectory.open(
                        place.files,
                        location=place.location,
                        node_id=node_id,
                        new_cluster_id=cluster_id,
                        new_directory_id=new_id,
                        record_validation=record_validation,
                        producer_expiration_ms=producer_expiration_ms,
                    )
                except OSError as error:
                    if not live:
                        raise
                    _log.error("the log folder %s cannot be used: %s", place.location, error)
                    failed.append(FailedFolder(place.location, str(error)))
                    continue
                live.append(directory)
                _check_kinship(live)
                cluster_id = directory.claimed.meta.cluster_id
            return cls(live, failed)
        except BaseException:
            for directory in live:
                directory.claimed.undo()
                directory.abandon()
            raise

    @property
    def metadata(self) -> LogDirectory:
        """The one with the metadata log."""
        return self.live[0]

    @property
    def ids(self) -> tuple[Uuid, ...]:
        """Of those in use."""
        return tuple(directory.id for directory in self.live)

    def find(self, id: Uuid) -> LogDirectory | None:
        """The one in use with that id."""
        return next((directory for directory in self.live if directory.id == id), None)

    # Which partition is where.

    def home(self, partition: TopicPartition) -> LogDirectory | None:
        """The folder that holds it, or was chosen for it; None: none in use. A folder that is the
        only one is nobody's in particular."""
        return self._homes.get(partition)

    def of(self, partition: TopicPartition) -> LogDirectory | None:
        """Where its folder would be, if it has one: its home, or the only one that there is."""
        return self._homes.get(partition) if self.are_several else self.live[0]

    def is_lost(self, partition: TopicPartition) -> bool:
        """Whether its home has failed since the start."""
        return partition in self._lost

    def settle(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """It lives there from now on."""
        self._homes[partition] = directory

    @property
    def settled(self) -> tuple[TopicPartition, ...]:
        """All that have a home."""
        return tuple(self._homes)

    def forget(self, partition: TopicPartition) -> None:
        """It lives nowhere any more."""
        self._homes.pop(partition, None)
        self._lost.discard(partition)

    def cordon(self, locations: Collection[str]) -> None:
        """Have these take no new partitions from now on."""
        self._cordoned = frozenset(locations)

    def is_cordoned(self, location: str) -> bool:
        """Whether it takes no new partitions."""
        return location in self._cordoned or ALL in self._cordoned

    def choose(self) -> LogDirectory:
        """The folder for one more partition. All cordoned are as none."""
        open_ones = [each for each in self.live if not self.is_cordoned(each.location)] or self.live
        if len(open_ones) == 1:
            return open_ones[0]
        counts = Counter(directory.location for directory in self._homes.values())
        return min(open_ones, key=lambda directory: counts[directory.location])

    # Failure.

    def has_failed(self, directory: LogDirectory, error: OSError) -> bool:
        """Whether that error means that the whole folder is of no use. Writes a small file, unless
        the error says enough."""
        if error.errno in _PASSING:
            return False
        if error.errno in _OF_THE_DISK:
            return True
        try:
            directory.probe(_PROBE)
        except OSError as another:
            return another.errno not in _PASSING
        return False

    def fail(self, directory: LogDirectory, error: OSError) -> list[TopicPartition]:
        """Use it no more: the partitions that it held. It must not be the last one."""
        self.live.remove(directory)
        self.failed.append(FailedFolder(directory.location, str(error)))
        held = [key for key, home in self._homes.items() if home is directory]
        for key in held:
            del self._homes[key]
        self._lost.update(held)
        return held


def _check_kinship(live: Sequence[LogDirectory]) -> None:
    """The last one must be of the same cluster as the first, and no copy of another."""
    last, first = live[-1], live[0]
    if last.claimed.meta.cluster_id != first.claimed.meta.cluster_id:
        raise LogDirectoryError(
            f"the log folder {last.location} belongs to the cluster "
            f"{last.claimed.meta.cluster_id}, and {first.location} to "
            f"{first.claimed.meta.cluster_id}"
        )
    for other in live[:-1]:
        if other.id == last.id:
            raise LogDirectoryError(
                f"the log folders {other.location} and {last.location} have the same directory.id: "
                "one is a copy of the other"
            )
