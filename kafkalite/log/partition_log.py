"""One partition's log on one broker: where it begins and ends, its segments, and reads.

Nothing here waits. A read gives a range of a file, to be sent as it is. Source: Kafka's
`UnifiedLog`. What is done to a log has rooms of its own:

    opening.py                          from its folder
    leader_log.py, follower_log.py      append
    log_cuts.py                         begin later, be cut at the end, begin anew
    retention.py, compaction.py         take out what is too old, or has newer values
"""

from __future__ import annotations

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.log_folder import LogFolder
from kafkalite.log.log_results import NOTHING_READ, LogRead
from kafkalite.log.log_sync import LogSync
from kafkalite.log.producers import ProducerStates
from kafkalite.log.recovery import Cut
from kafkalite.log.segment import Segment
from kafkalite.log.segment_times import TimestampOffset, find_max_timestamp, find_timestamp
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.log.validation import BatchValidator, RecordValidation
from kafkalite.protocol.records.times import LookupBudget
from kafkalite.types import LeaderEpoch, Offset, TimestampMs


class PartitionLog:
    """Segments from `log_start_offset` (inclusive) to `end_offset` (exclusive); see `open_log`.

    `OSError` from an append or a roll means that the disk refused: the log is as it was before.
    So it is with a cut, or the log is cut as far as this process goes, and nothing is written until
    the disk has followed. From any other change it means that memory and disk may disagree until it
    is opened again.
    """

    __slots__ = (
        "_config",
        "_record_validation",
        "_segments",
        "_snapshots",
        "_sync",
        "cuts",
        "end_offset",
        "epochs",
        "flush_at",
        "folder",
        "log_start_offset",
        "producers",
        "recovery_point",
        "validator",
    )

    def __init__(
        self,
        folder: LogFolder,
        *,
        config: TopicConfig,
        end_offset: Offset,
        cuts: tuple[Cut, ...],
        producers: ProducerStates,
        record_validation: RecordValidation,
    ) -> None:
        self.folder = folder
        self._record_validation = record_validation
        self._segments = folder.segments
        self._snapshots = folder.snapshots
        self.epochs = folder.epochs
        self.producers = producers
        self.log_start_offset = self._segments.first_offset
        """The first offset that can be read."""
        self.end_offset = end_offset
        """The offset that the next record gets."""
        self.recovery_point = Offset(0)
        """Below it, all records survive a loss of power."""
        self._sync: LogSync | None = None
        self.cuts = cuts
        """What opening had to take away."""
        self.configure(config)

    @property
    def name(self) -> str:
        """Its partition's, as Kafka's tools print it."""
        return self.folder.path.rpartition("/")[2]

    @property
    def config(self) -> TopicConfig:
        """The topic's settings."""
        return self._config

    def configure(self, config: TopicConfig) -> None:
        """Follow new settings from the next append on."""
        self._config = config
        self.validator = BatchValidator(self.name, config, self._record_validation)
        """What a batch is held against."""
        for segment in self._segments.all:
            segment.configure(config)
        self.flush_at: int = self.recovery_point + config.flush_messages
        """Once `end_offset` is here, the log is due to be synced: `flush.messages`, or a roll."""

    @property
    def is_held_back(self) -> bool:
        """Whether so much is not synced that readers are to wait for it, as `flush.messages`
        asks."""
        return self.end_offset - self.recovery_point >= self._config.flush_messages

    @property
    def is_syncing(self) -> bool:
        """Between `begin_sync` and `end_sync`."""
        return self._sync is not None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first; the last is the active one."""
        return self._segments.all

    @property
    def first_segment_offset(self) -> Offset:
        """Where the oldest segment begins: at or below `log_start_offset`."""
        return self._segments.first_offset

    @property
    def size_bytes(self) -> int:
        """Bytes of all `.log` files."""
        return sum(segment.size for segment in self._segments.all)

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> None:
        """Lead from `end_offset` on: the epoch is in the file even before its first append."""
        self.folder.settle()
        self.epochs.assign(leader_epoch, self.end_offset)

    def roll(self, now: TimestampMs) -> None:
        """Begin a new segment after the last record, unless the active one is empty."""
        active = self._segments.active
        if not active.size:
            return
        self.folder.settle()
        active.seal()
        self._snapshots.save(self.producers, active.end_offset)
        self.folder.add_segment(active.end_offset, self._config, now)
        self.flush_at = 0

    # Read.

    def read(
        self,
        offset: Offset,
        *,
        max_bytes: int,
        max_offset: Offset,
        first_batch_whole: bool,
        tells_aborted: bool = False,
    ) -> LogRead:
        """Batches of one segment: from the one with `offset` on, below `max_offset` (exclusive).

        The last batch may be cut short at `max_bytes`; if already the first is larger, it is given
        whole with `first_batch_whole`, and nothing without. OFFSET_OUT_OF_RANGE for an offset below
        `log_start_offset` or above `end_offset`.
        """
        end_offset = self.end_offset
        if offset < self.log_start_offset or offset > end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition "
                f"{self.name}, but we only have log segments from offset: "
                f"{self.log_start_offset} to {end_offset}.",
            )
        if offset >= max_offset:
            return NOTHING_READ
        found = self._segments.find(offset)
        if found is None:
            return NOTHING_READ
        segment, at, first = found
        end = segment.size
        if max_offset < end_offset:
            end = self._segments.end_below(at, max_offset)
        size = end - first.position
        if size > max_bytes:
            if first.size_bytes <= max_bytes:
                size = max_bytes
            elif first_batch_whole:
                size = first.size_bytes
            else:
                return NOTHING_READ
        if size <= 0:
            return NOTHING_READ
        aborted: tuple[AbortedTransaction, ...] = ()
        if tells_aborted:
            aborted = self._segments.aborted(offset, at, first.position + size, end_offset)
        return LogRead(segment.slice(first.position, size), size, aborted)

    def offset_for_timestamp(
        self, timestamp: TimestampMs, budget: LookupBudget | None = None
    ) -> TimestampOffset | None:
        """The first record whose timestamp is at or above `timestamp`; None when there is none.

        In the first segment that has such a timestamp, as Kafka looks for it. `budget` bounds what
        it may cost, and tells afterwards what it did; None: a whole one.
        """
        for segment in self._segments.all:
            if segment.max_timestamp >= timestamp:
                return find_timestamp(
                    segment, timestamp, self.log_start_offset, budget or LookupBudget()
                )
        return None

    def offset_of_max_timestamp(self, budget: LookupBudget | None = None) -> TimestampOffset | None:
        """The first record with the latest timestamp of all; None when no record has one."""
        latest = max(self._segments.all, key=lambda segment: segment.max_timestamp)
        return find_max_timestamp(latest, budget or LookupBudget())

    def ends_at(self, offset: Offset) -> None:
        """It was cut there."""
        self.end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        # What follows is other records, of which no sync knew.
        self.flush_at = min(self.flush_at, self.recovery_point + self._config.flush_messages)
        self._sync = None

    def begins_at(self, offset: Offset) -> None:
        """It has one segment, without records, which begins there."""
        self.ends_at(offset)
        self.log_start_offset = offset
        self.flush_at = offset + self._config.flush_messages

    # Sync, close.

    def sync(self) -> None:
        """Return when all records so far would survive a loss of power."""
        sync = self.begin_sync()
        try:
            sync.run()
        except OSError:
            self.end_sync(sync, is_durable=False)
            raise
        self.end_sync(sync, is_durable=True)

    def begin_sync(self) -> LogSync:
        """All records so far are to survive a loss of power: `run` it, and then `end_sync`, before
        another is begun. `OSError` when the log was cut, and the disk refuses it still."""
        self.folder.settle()
        self._sync = self.folder.begin_sync(self.end_offset, self.recovery_point)
        self.flush_at = self.end_offset + self._config.flush_messages
        return self._sync

    def end_sync(self, sync: LogSync, *, is_durable: bool) -> None:
        """`sync` is over: the disk has it all, or may have none of it."""
        if is_durable and sync is self._sync:
            self.recovery_point = sync.end_offset
        else:  # Or else the log was cut meanwhile, and has other records since.
            self.folder.not_synced(self.recovery_point)
        self._sync = None

    def synced(self) -> None:
        """All that `folder.unsynced` told of is on the disk now."""
        self.folder.synced()
        self.recovery_point = self.end_offset

    def close(self) -> None:
        """Write indexes and producer states as a clean stop leaves them, and let the files go.

        May be called twice; the log opens its files again when it is used after all.
        """
        if self.folder.exists:
            self.folder.settle()
            self._segments.active.seal()
            if self.end_offset > 0:
                self._snapshots.save(self.producers, self.end_offset)
        self.release_files()

    def release_files(self) -> None:
        """Let the files go, with nothing written; the next use opens them again."""
        for segment in self._segments.all:
            segment.close()
