"""The leader epochs of a log as its batches tell them, where the file does not.

After a crash: of what may not have been on the disk. All of them, where the file is missing, or is
not what was written to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from kafkalite.errors import CorruptRecordError
from kafkalite.log.epochs import EpochStart, LeaderEpochs
from kafkalite.log.scan import scan_batches
from kafkalite.log.segment import Segment
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.types import NO_LEADER_EPOCH, LeaderEpoch, Offset


class FoundEpochs:
    """Those that begin below an offset, as the file has them, and what batches add to them."""

    __slots__ = ("_known", "end_offset", "latest", "starts")

    def __init__(self, epochs: LeaderEpochs, since: Offset) -> None:
        """From `since` on the batches tell, all of them."""
        self._known = dict(epochs.starts)
        self.starts = [start for start in epochs.starts if start.start_offset < since]
        """Oldest first."""
        self.latest = self.starts[-1].epoch if self.starts else NO_LEADER_EPOCH
        self.end_offset = since
        """Of the last segment with batches that was taken in; compaction may leave some without."""

    def begins(self, epoch: LeaderEpoch, end_before: Offset, base_offset: Offset) -> None:
        """A batch is of another epoch than `latest`; where the one before it ends, and it begins.

        Compaction may have taken others between the two. Then the epoch begins where the file says,
        if that can be, and else as early as can be: with a later one followers would keep records
        that their leader never had. Epochs ascend, and what does not is left out, as in Kafka.
        """
        if epoch > self.latest:
            end_before = min(end_before, base_offset)  # Not known, if the file alone told so far.
            start = self._known.get(epoch, end_before)
            if not end_before <= start <= base_offset:
                start = end_before
            self.starts.append(EpochStart(epoch, start))
            self.latest = epoch

    def read(self, segments: Sequence[Segment], following: Segment | None) -> None:
        """Take in these neighbours, and read no more of them than need be: a segment in which no
        epoch begins is told by its first batch and that of the next one. What stands behind a
        damaged batch in its segment is left out."""
        held = [segment for segment in segments if segment.size]
        for segment, after in zip(held, [*held[1:], following], strict=False):
            if not _first_epoch(segment) == self.latest == _first_epoch(after):
                self._read_all(segment)
            segment.close()

    def _read_all(self, segment: Segment) -> None:
        end = self.end_offset
        with suppress(CorruptRecordError):
            for batch in scan_batches(segment.file, 0, segment.size):
                header = batch.header
                if header.partition_leader_epoch != self.latest:
                    self.begins(header.partition_leader_epoch, end, header.base_offset)
                end = header.next_offset
        self.end_offset = end


def _first_epoch(segment: Segment | None) -> LeaderEpoch | None:
    """None where it cannot be told."""
    if segment is not None:
        with suppress(CorruptRecordError):
            return read_header(segment.file.read(0, HEADER_SIZE)).partition_leader_epoch
    return None
