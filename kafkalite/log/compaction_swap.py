"""How a cleaned segment takes the place of those that it was made of, whatever the disk does.

The files of a segment are renamed one after the other, the `.log` first: from `.cleaned` to
`.swap`; then the old ones to `.deleted`, oldest first; then from `.swap` to their names. What a
crash amid this leaves, the next start brings to an end: see `unfinished_swaps.py`.

Source: Kafka's `LocalLog.replaceSegments`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress

from kafkalite.log.compaction_filter import CleanedBatch
from kafkalite.log.files import File, Files
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import DELETED_SUFFIX
from kafkalite.log.segment import Segment
from kafkalite.log.segment_indexes import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    SegmentIndexes,
)
from kafkalite.log.transaction_index import (
    TRANSACTION_INDEX_SUFFIX,
    AbortedTransaction,
    format_transaction_index,
)
from kafkalite.log.unfinished_swaps import CLEANED_SUFFIX, SWAP_SUFFIX
from kafkalite.types import Offset


class CleanedSegment:
    """The segment that is written beside those that it will replace."""

    __slots__ = (
        "_file",
        "_files",
        "_indexes",
        "_interval_bytes",
        "_path",
        "_suffixes",
        "base_offset",
    )

    def __init__(
        self, files: Files, folder: str, base_offset: Offset, index_interval_bytes: int
    ) -> None:
        self._files = files
        self._path = f"{folder}/{base_offset:020d}"
        self._interval_bytes = index_interval_bytes
        self._indexes = SegmentIndexes.empty()
        self._suffixes = [LOG_SUFFIX]
        self.base_offset = base_offset
        self._file: File = files.open(self._path + LOG_SUFFIX + CLEANED_SUFFIX)
        if self._file.size:
            self._file.truncate(0)  # Left by a cleaning that failed.

    def append(self, batches: Sequence[CleanedBatch]) -> None:
        """Write these at the end."""
        position = self._file.size
        self._file.append(b"".join(batch.data for batch in batches))
        for header, _ in batches:
            self._indexes.add(
                header.last_offset - self.base_offset,
                header.max_timestamp,
                position,
                self._interval_bytes,
            )
            position += header.size_bytes

    def finish(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Write the indexes too: no more batches come."""
        self._file.close()
        indexes = self._indexes
        indexes.seal()
        content = {
            INDEX_SUFFIX: indexes.offsets.to_bytes(),
            TIME_INDEX_SUFFIX: indexes.times.to_bytes(),
        }
        transactions = format_transaction_index(aborted)
        if transactions:
            content[TRANSACTION_INDEX_SUFFIX] = transactions
        for suffix, data in content.items():
            self._suffixes.append(suffix)
            self._files.replace(self._path + suffix + CLEANED_SUFFIX, data, sync=False)

    def sync(self) -> None:
        """Return when a loss of power would leave it. Safe in a worker, after `finish`."""
        for suffix in self._suffixes:
            self._files.sync_file(self._path + suffix + CLEANED_SUFFIX)
        self._files.sync_folder(self._path.rpartition("/")[0])

    def discard(self) -> None:
        """It is not wanted any more."""
        self._file.close()
        for suffix in self._suffixes:
            with suppress(OSError):
                self._files.remove(self._path + suffix + CLEANED_SUFFIX)

    def swap_in(self, log: PartitionLog, replaced: Sequence[Segment]) -> list[str]:
        """Take the place of `replaced`, neighbours of which the first begins here too: the names
        that their files have now. Synced once the folder is.

        After an `OSError` the log is as it was, if the disk takes the way back.
        """
        files, path = self._files, self._path
        retired: list[str] = []
        with ExitStack() as undo:
            for suffix in self._suffixes:
                name = path + suffix
                files.rename(name + CLEANED_SUFFIX, name + SWAP_SUFFIX, sync=False)
                undo.callback(files.rename, name + SWAP_SUFFIX, name + CLEANED_SUFFIX, sync=False)
            for segment in replaced:
                renamed = segment.files.retire()
                for name in renamed:
                    was = name.removesuffix(DELETED_SUFFIX)
                    undo.callback(files.rename, name, was, sync=False)
                retired += renamed
            for suffix in self._suffixes:
                name = path + suffix
                files.rename(name + SWAP_SUFFIX, name, sync=False)
                undo.callback(files.rename, name, name + SWAP_SUFFIX, sync=False)
            last = replaced[-1]
            new = Segment.existing(
                files, log.folder.path, self.base_offset, last.config, last.created_ms
            )
            undo.pop_all()
        log.folder.segments.replace(replaced, new)
        return retired
