"""The files of one segment, all named by its first offset: how they come, what of them the disk may
not have, and how they go.

    <offset>.log            made first and removed first: without it the others mean nothing
    .index .timeindex       written when the segment rolls or closes (segment_indexes.py), or when
                            there is no room for them in memory (held_indexes.py)
    .txnindex               likewise, if transactions were aborted (transaction_index.py)

Not what is in them: that is the segment's.
"""

from __future__ import annotations

from contextlib import suppress

from kafkalite.config.views import TopicConfig
from kafkalite.log.files import Files
from kafkalite.log.log_file import LogFile
from kafkalite.log.retired_files import retire
from kafkalite.log.segment_indexes import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    SegmentIndexes,
    peek_latest,
)
from kafkalite.log.transaction_index import TRANSACTION_INDEX_SUFFIX, AbortedTransactions
from kafkalite.types import Offset, TimestampMs

SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


class SegmentFiles:
    """Those in one folder that begin with one offset."""

    __slots__ = ("_files", "_path", "aborted", "has_indexes", "has_new_names", "is_synced", "log")

    def __init__(self, files: Files, folder: str, base_offset: Offset) -> None:
        """They are there, and synced."""
        self._files = files
        self._path = f"{folder}/{base_offset:020d}"
        self.log = LogFile(files, self._path + LOG_SUFFIX)
        self.aborted = AbortedTransactions(files, self._path)
        self.is_synced = True
        """Whether all that was written since the segment was opened has been synced."""
        self.has_indexes = True
        """False: the disk has none of them, or not all."""
        self.has_new_names = False
        """Whether files were made or replaced that the folder must be synced for."""

    def begin(self) -> None:
        """None is there yet; the `.log` comes with its first use, or with `make`."""
        self.aborted.begin()
        self.log.begin()
        self.has_indexes = False
        self.is_synced = False
        self.has_new_names = True

    def make(self, config: TopicConfig) -> None:
        """Make the `.log`, empty. After an `OSError` it can be tried again."""
        self.log.make(config)

    def log_size(self) -> int:
        """Bytes of the `.log`, which is there."""
        return self._files.size(self.log.name)

    def load_indexes(self, log_size: int, *, was_checked: bool) -> SegmentIndexes | None:
        """See `SegmentIndexes.load`."""
        return SegmentIndexes.load(self._files, self._path, log_size, was_checked=was_checked)

    def peek_latest(self) -> TimestampMs:
        """The latest timestamp, if the index of a sealed segment tells it; see `peek_latest`."""
        return peek_latest(self._files, self._path)

    def save(self, indexes: SegmentIndexes, *, sync: bool = False) -> None:
        """Write the indexes; the segment rolls or closes. With `sync` those of offsets and times
        are durable then."""
        if self.log.trim():
            self.is_synced = False
        if indexes.save(self._files, self._path, sync=sync):
            self.has_indexes = True
            self.is_synced = False
            self.has_new_names = self.has_new_names or len(indexes.offsets) > 0
        self.save_aborted()

    def spill(self, indexes: SegmentIndexes) -> SegmentIndexes:
        """Write what these, and the aborted transactions, have and the files lack: what is to be
        held of the indexes from now on. The segment goes on growing."""
        if indexes.is_unsaved:
            self.is_synced = False
            self.has_new_names = True
        rest = indexes.spill(self._files, self._path)
        self.save_aborted()
        return rest

    def save_aborted(self) -> None:
        """Write what the aborted transactions lack."""
        if self.aborted.save():
            self.is_synced = False
            self.has_new_names = True

    def unsynced(self, log_size: int, indexes: SegmentIndexes | None) -> list[str]:
        """Those whose bytes the disk may not have: the `.log`, which has so many, and the indexes
        as far as they were written. None: they are not in memory, and are not read for this.

        Indexes of a log too short for an entry by offset are not worth a sync: lost, they are made
        again."""
        self.log.check(log_size)
        has_entries = self._has_entries() if indexes is None else len(indexes.offsets) > 0
        suffixes = (INDEX_SUFFIX, TIME_INDEX_SUFFIX) if has_entries else ()
        paths = (*(self._path + suffix for suffix in suffixes), self.aborted.name)
        return [self.log.name, *filter(self._files.exists, paths)]

    def _has_entries(self) -> bool:
        path = self._path + INDEX_SUFFIX
        return self._files.exists(path) and self._files.size(path) > 0

    def synced(self) -> None:
        """The disk has them."""
        self.is_synced = True
        self.has_new_names = False

    def not_synced(self) -> None:
        """The disk may have nothing of what was written, although it counted as synced."""
        self.is_synced = False
        self.has_new_names = True

    def delete(self) -> None:
        """Close, and remove them all; slices given out stay readable."""
        self.log.close()
        for name in filter(self._files.exists, self._names()):
            self._files.remove(name)

    def retire(self) -> list[str]:
        """Close, and rename them all: their new names. Slices given out stay readable.

        `OSError` when the `.log` keeps its name. Indexes without it are removed by the next start.
        """
        self.log.close()
        log, *indexes = self._names()
        renamed = retire(self._files, [log])
        with suppress(OSError):
            renamed += retire(self._files, indexes)
        return renamed

    def _names(self) -> list[str]:
        return [self._path + suffix for suffix in SEGMENT_SUFFIXES]
