"""Compaction: of each key the last record stays, at its offset; what came before it goes.

One round cleans one log. First the keys of its dirty part are read into a map, then all segments
from the start on are written anew, group by group, without what the map says is superseded, and
swapped in. The active segment, and all that is not decided yet, is left alone.

The records are read and written in pieces: each is worked on elsewhere (`Step.run`, in a worker),
while files are opened, written and renamed between two steps, where nothing else runs. What is read
is on lease and does not change: closed segments.

Source: Kafka's `Cleaner.doClean`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from kafkalite.errors import CorruptRecordError
from kafkalite.log.compaction_filter import BatchFilter, LastRecord
from kafkalite.log.compaction_pieces import Piece, PieceToFilter, PieceToIndex, Step, Sync, taken
from kafkalite.log.compaction_plan import LogToClean, between, group_segments
from kafkalite.log.compaction_records import OffsetMap
from kafkalite.log.compaction_swap import CleanedSegment
from kafkalite.log.compaction_transactions import CleanedTransactions
from kafkalite.log.files import Files
from kafkalite.log.producers import ProducerState
from kafkalite.log.retired_files import RetiredFiles, unless_some
from kafkalite.log.segment import Segment
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.types import Offset, ProducerId, TimestampMs

_LEAST_PIECE_BYTES = 4096
_ZERO = Offset(0)


class CleaningAbortedError(Exception):
    """The log has changed under the cleaning, or is gone: nothing of it is kept."""


class LogCleaning:
    """One round of one log."""

    def __init__(
        self,
        files: Files,
        to_clean: LogToClean,
        *,
        offsets: OffsetMap,
        piece_bytes: int,
        now: TimestampMs,
        on_retired: Callable[[RetiredFiles], None],
    ) -> None:
        """`offsets` is empty. At most `piece_bytes` are read at once, or one batch. `on_retired` is
        given what may be removed."""
        self._files = files
        self._to_clean = to_clean
        self._log = to_clean.log
        self._start = to_clean.first_dirty_offset
        self._upper = to_clean.first_uncleanable_offset
        self._high_watermark = to_clean.high_watermark
        self._offsets = offsets
        self._piece_bytes = max(piece_bytes, _LEAST_PIECE_BYTES)
        self._now = now
        self._on_retired = on_retired
        self.end_offset = self._start
        """The first dirty offset once all steps were taken."""
        self.read_bytes = 0
        self.written_bytes = 0
        self.keyless = 0
        """Records that went because they have no key."""
        self.oversized = 0
        """Batches that stayed as they are: see `BatchFilter`."""

    def steps(self) -> Generator[Step, None, None]:
        """Run each, and then ask for the next. Ending it early, with `close`, leaves the log as it
        was, but for the groups that are done.

        `CleaningAbortedError` when segments went away meanwhile, `CorruptRecordError` for records
        that are damaged, `OSError` when the disk refuses.
        """
        segments = self._log.segments
        aborted = [entry for segment in segments for entry in segment.aborted_since(_ZERO)]
        dirty = between(segments, self._start, self._upper)
        if not dirty:
            return
        yield from self._index(dirty, aborted)
        end_offset = Offset(self._offsets.latest_offset + 1)
        config = self._log.config
        transactions = CleanedTransactions(aborted)
        for group in group_segments(
            between(segments, 0, end_offset),
            segment_bytes=config.segment_bytes,
            index_bytes=config.segment_index_bytes,
            first_uncleanable_offset=self._upper,
        ):
            yield from self._clean(group, transactions)
        self.end_offset = end_offset

    def _index(
        self, dirty: Sequence[Segment], aborted: Sequence[AbortedTransaction]
    ) -> Iterator[Step]:
        start, offsets = self._start, self._offsets
        transactions = CleanedTransactions(
            entry
            for entry in aborted
            if entry.last_offset >= start and entry.first_offset < self._upper
        )
        for at, segment in enumerate(dirty):
            position = segment.indexes.offsets.lookup(max(start - segment.base_offset, 0))
            size = self._piece_bytes
            while position < segment.size:
                self._check_unchanged(dirty)
                piece = PieceToIndex(
                    segment,
                    position,
                    min(size, segment.size - position),
                    offsets=offsets,
                    transactions=transactions,
                    start=start,
                )
                yield from taken(piece)
                if piece.is_full:
                    return
                position += piece.taken_bytes
                size = self._next_size(piece, segment.size - position)
            end = dirty[at + 1].base_offset if at + 1 < len(dirty) else self._upper
            offsets.latest_offset = end - 1

    def _clean(self, group: Sequence[Segment], transactions: CleanedTransactions) -> Iterator[Step]:
        log = self._log
        self._check_unchanged(group)
        decide = BatchFilter(
            self._offsets,
            transactions,
            _last_records(log.producers.active()),
            high_watermark=self._high_watermark,
            now=self._now,
            delete_retention_ms=log.config.delete_retention_ms,
        )
        folder = log.folder.path
        cleaned = CleanedSegment(
            self._files, folder, group[0].base_offset, log.config.index_interval_bytes
        )
        try:
            for segment in group:
                yield from self._filter(segment, group, decide, cleaned)
            self.keyless += decide.keyless
            self.oversized += decide.oversized
            cleaned.finish(transactions.kept_aborted)
            transactions.kept_aborted.clear()
            yield Sync(cleaned.sync)
            self._check_unchanged(group)
            retired = cleaned.swap_in(log, group)
        except BaseException:
            cleaned.discard()
            raise
        swapped = between(log.segments, cleaned.base_offset, cleaned.base_offset + 1)
        with unless_some(retired):
            gone = [segment.base_offset for segment in group[1:]]
            retired += log.folder.snapshots.retire_at(gone)
        self._on_retired(RetiredFiles(self._files, tuple(retired)))
        yield Sync(lambda: self._files.sync_folder(folder))
        self._check_unchanged(swapped)  # If the log was cut, what comes there next is not clean.

    def _filter(
        self,
        segment: Segment,
        group: Sequence[Segment],
        decide: BatchFilter,
        cleaned: CleanedSegment,
    ) -> Iterator[Step]:
        position, size = 0, self._piece_bytes
        while position < segment.size:
            self._check_unchanged(group)
            piece = PieceToFilter(segment, position, min(size, segment.size - position), decide)
            yield from taken(piece)
            if piece.kept:
                cleaned.append(piece.kept)
            position += piece.taken_bytes
            self.read_bytes += piece.taken_bytes
            self.written_bytes += sum(batch.header.size_bytes for batch in piece.kept)
            size = self._next_size(piece, segment.size - position)

    def _next_size(self, piece: Piece, left: int) -> int:
        """Of the next piece: more, for a batch that is longer."""
        if piece.taken_bytes:
            return self._piece_bytes
        if not self._piece_bytes < piece.first_batch_bytes <= left:
            raise CorruptRecordError(
                f"a batch of {piece.first_batch_bytes} bytes where {left} are left"
            )
        return piece.first_batch_bytes

    def _check_unchanged(self, segments: Sequence[Segment]) -> None:
        if self._to_clean.was_cut or not self._log.folder.segments.has_closed(segments):
            raise CleaningAbortedError(f"segments of {self._log.name} went away meanwhile")


def _last_records(states: Sequence[ProducerState]) -> dict[ProducerId, LastRecord]:
    """What the producers of the log would go on from."""
    return {
        state.producer_id: LastRecord(
            state.batches[-1].last_offset if state.batches else None, state.epoch
        )
        for state in states
    }
