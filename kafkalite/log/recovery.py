"""Opening a log: which files are segments, and what of them can be believed.

After a clean stop nothing is read but the last segment's end. After an unclean one, every segment
that reaches beyond the recovery point is scanned: at the first batch that is torn, corrupt or out
of order the log is cut, and the indexes, leader epochs and producer states are made again from what
is left.

Kafka differs: after a crash it keeps newer segments whose bytes reached the disk when those before
them did not. Here a log that was never compacted has no holes: what comes behind one goes.

Kafka differs: it reads records of the formats before 0.11 (magic 0 and 1) that old logs hold. Here
they are refused wherever they are met, and are not cut off either.

Source: Kafka's `LogLoader` and `LogSegment.recover`.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.epochs import FILE_NAME as EPOCHS
from kafkalite.log.epochs import LeaderEpochs
from kafkalite.log.files import Files
from kafkalite.log.folder_names import offset_of
from kafkalite.log.found_epochs import FoundEpochs
from kafkalite.log.scan import StoredBatch, is_legacy, scan_batches
from kafkalite.log.segment import Segment
from kafkalite.log.segment_indexes import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX
from kafkalite.log.transaction_index import TRANSACTION_INDEX_SUFFIX
from kafkalite.log.unfinished_swaps import finish_swaps
from kafkalite.protocol.records.batch import HEADER_SIZE, crc_is_valid
from kafkalite.types import Offset, TimestampMs

_INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
_TEMPORARY_SUFFIXES = (".deleted", ".tmp")
_ZERO, _NO_END = Offset(0), Offset(2**63 - 1)

_log = logging.getLogger(__name__)


class Cut(NamedTuple):
    """Bytes that recovery took off a segment, for the log of the broker."""

    file: str
    position: int
    size_bytes: int
    """0 where they were gone before, and nobody knows how many."""
    reason: str

    def __str__(self) -> str:
        size = f"{self.size_bytes} bytes" if self.size_bytes else "what stood"
        return f"{self.file} lost {size} from byte {self.position} on: {self.reason}"


class LoadedSegments(NamedTuple):
    """What a folder holds: at least one segment, oldest first."""

    segments: list[Segment]
    end_offset: Offset
    cuts: tuple[Cut, ...]


class LogLoader(NamedTuple):
    """Opens one folder."""

    files: Files
    folder: str
    config: TopicConfig
    now: TimestampMs
    epochs: LeaderEpochs
    was_compacted: bool
    """Then it may have holes, as one that `config` has compacted now."""

    def load(
        self, recovery_point: Offset, log_start_offset: Offset, *, clean: bool
    ) -> LoadedSegments:
        """The segments, with at least one to append to.

        `CorruptRecordError` when two of them hold the same offsets: nobody knows which are right.
        """
        segments = self._find_segments()
        # From this one on they may not have reached the disk.
        doubtful = len(segments) if clean else _last_below(segments, recovery_point)
        found = self._find_epochs(segments, doubtful)
        cuts = [] if clean else self._recover(segments, doubtful, found)
        if clean:
            _check_last(segments)
        end_offset = self._end_of(segments, cuts, found)
        if clean and not cuts and end_offset < recovery_point:
            name, size = (segments[-1].name, segments[-1].size) if segments else (self.folder, 0)
            reason = f"the log ends at offset {end_offset}, and was synced up to {recovery_point}"
            cuts.append(Cut(name, size, 0, reason))
        if segments and end_offset < log_start_offset:
            # Kafka: the log lost what its start says is gone already; it begins anew there.
            reason = f"the log ends at offset {end_offset}, below its start at {log_start_offset}"
            for segment in segments:
                cuts.append(Cut(segment.name, 0, segment.size, reason))
                segment.files.delete()
            segments = []
        if not segments:
            end_offset = log_start_offset
            segments = [Segment.create(self.files, self.folder, end_offset, self.config, self.now)]
        for segment in reversed(segments):
            if end_offset > recovery_point:
                segment.files.is_synced = False
            if segment.base_offset <= recovery_point:
                break
        self.epochs.become([each for each in found.starts if each.start_offset < end_offset])
        return LoadedSegments(segments, end_offset, tuple(cuts))

    def _find_segments(self) -> list[Segment]:
        names = finish_swaps(self.files, self.folder, self.files.list(self.folder))
        by_offset = {name: offset_of(name) for name in names}
        bases = {
            offset
            for name, offset in by_offset.items()
            if offset is not None and _suffix_of(name) == LOG_SUFFIX
        }
        for name, offset in by_offset.items():
            is_index = offset is not None and _suffix_of(name) in _INDEX_SUFFIXES
            if (is_index and offset not in bases) or name.endswith(_TEMPORARY_SUFFIXES):
                self.files.remove(f"{self.folder}/{name}")
        return [
            Segment.existing(self.files, self.folder, base, self.config, self.now)
            for base in sorted(bases)
        ]

    def _find_epochs(self, segments: list[Segment], doubtful: int) -> FoundEpochs:
        """Those of the segments before that one; its own and those behind it, recovery adds."""
        following = segments[doubtful] if doubtful < len(segments) else None
        if not self.epochs.is_lost:
            since = _NO_END if following is None else following.base_offset
            return FoundEpochs(self.epochs, since)
        found = FoundEpochs(self.epochs, segments[0].base_offset if segments else _ZERO)
        found.read(segments[:doubtful], following)
        if any(segment.size for segment in segments):
            _log.warning("%s told of no leader epochs: all batches do", f"{self.folder}/{EPOCHS}")
        return found

    def _recover(self, segments: list[Segment], doubtful: int, found: FoundEpochs) -> list[Cut]:
        """Scan what may not have reached the disk; after a cut, the segments behind it go."""
        may_have_holes = self.was_compacted or self.config.is_compacted
        cuts: list[Cut] = []
        for index, segment in enumerate(segments[doubtful:], doubtful):
            following = segments[index + 1] if index + 1 < len(segments) else None
            cut = recover_segment(segment, found)
            if cut is None and following is not None:
                segment.seal()
                segment.held.let_go()  # Of all that are scanned, the indexes would be a great deal.
                _check_order(segment, following)
                if segment.end_offset == following.base_offset or may_have_holes:
                    continue
            cuts += [] if cut is None else [cut]
            for lost in segments[index + 1 :]:
                # Newer bytes may reach the disk before older ones, but a log has no holes.
                cuts.append(Cut(lost.name, 0, lost.size, "what was before it is lost"))
                lost.files.delete()
            if following is not None:
                # Or else another loss of power brings them back, beside what is appended meanwhile.
                self.files.sync_folder(self.folder)
            del segments[index + 1 :]
            break
        return cuts

    def _end_of(self, segments: list[Segment], cuts: list[Cut], found: FoundEpochs) -> Offset:
        """Where the last segment ends. It is recovered if no clean stop can have left it so."""
        if not segments:
            return Offset(0)
        last = segments[-1]
        try:
            last.read_to_end()
            last.aborted.load()
        except CorruptRecordError:
            cut = recover_segment(last, found)
            cuts += [] if cut is None else [cut]
        return last.end_offset


def _last_below(segments: list[Segment], offset: Offset) -> int:
    """Of those that begin at or below it, or else the first: its place in the list."""
    at = bisect_right(segments, offset, key=lambda segment: segment.base_offset)
    return max(at - 1, 0)


def _suffix_of(name: str) -> str:
    """All from the first dot on."""
    return name[name.index(".") :]


def _check_order(segment: Segment, following: Segment) -> None:
    if segment.end_offset > following.base_offset:
        raise CorruptRecordError(
            f"{following.name} begins at offset {following.base_offset}, "
            f"and {segment.name} before it ends at {segment.end_offset}"
        )


def _check_last(segments: list[Segment]) -> None:
    """What a clean stop leaves is not scanned; yet the end of the log must be its end."""
    if len(segments) > 1:
        try:
            segments[-2].read_to_end()
        except CorruptRecordError:
            return  # Told to whoever reads there.
        _check_order(segments[-2], segments[-1])
        segments[-2].close()


def recover_segment(segment: Segment, epochs: FoundEpochs) -> Cut | None:
    """Check every batch, cut at the first bad one, make the indexes again and find the epochs.

    `CorruptRecordError` where sound records of the formats before Kafka 0.11 stand: those are not
    read here, and are not cut either.
    """
    end = segment.size
    reason, has_transactions = "", False
    file = segment.begin_rebuild()
    try:
        for batch in scan_batches(file, 0, end):
            reason = _what_is_wrong(batch, segment)
            if reason:
                break
            header = batch.header
            if header.partition_leader_epoch > epochs.latest:
                end_before = segment.end_offset if segment.size else epochs.end_offset
                epochs.begins(header.partition_leader_epoch, end_before, header.base_offset)
            segment.added(
                header.base_offset, header.last_offset, header.max_timestamp, header.size_bytes
            )
            has_transactions = has_transactions or header.is_transactional
    except CorruptRecordError as error:
        reason = str(error)
    segment.aborted.forget(is_lost=has_transactions)
    if segment.size:
        epochs.end_offset = segment.end_offset
    if segment.size == end:
        return None
    if segment.config.preallocate and not any(file.read(segment.size, HEADER_SIZE)):
        reason = "its file was made at its full size, and nothing was written there"
    if is_legacy(file, segment.size, end):
        position, segment.size = segment.size, end
        raise CorruptRecordError(
            f"{segment.name} holds records of magic 0 or 1 at {position}: only magic 2 is read"
        )
    file.truncate(segment.size)
    file.sync()  # The recovery point may stand right here, and then nobody looks again.
    return Cut(segment.name, segment.size, end - segment.size, reason)


def _what_is_wrong(batch: StoredBatch, segment: Segment) -> str:
    header = batch.header
    if header.base_offset < segment.end_offset or header.last_offset_delta < 0:
        return f"offset {header.base_offset} where {segment.end_offset} or more was due"
    if not segment.takes_offset(header.last_offset):
        return f"offset {header.last_offset} is too far from {segment.base_offset}"
    if not crc_is_valid(batch.buffer, batch.at, header):
        return f"the batch at offset {header.base_offset} has a wrong CRC"
    return ""
