"""Any history of one log against a plain list of batches: nothing lost, nothing invented.

Power is lost at any moment, with any part of the unsynced bytes on the disk: what is left must be a
beginning of the list, and hold all that was synced. Where records were deleted, the list goes on
holding them: what is on the disk of it begins with the first segment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkalite.config.views import TopicConfig
from kafkalite.errors import KafkaError
from kafkalite.log.checkpoints import PARTITION_METADATA
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.log_cuts import delete_records, truncate_to
from kafkalite.log.log_sync import LogSync
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import delete_old_segments
from kafkalite.protocol.records.batch import stamp
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import (
    NO_PRODUCER_ID,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    Uuid,
)
from tests.log.crash_ends import keep_names
from tests.log.log_fixtures import stored

FOLDER = "machine-0"
TOPIC_ID = Uuid(b"machine machine!")
NOW = TimestampMs(1_000_000)
CONFIG = TopicConfig(segment_bytes=900, index_interval_bytes=150, segment_ms=500_000)

offsets = st.integers(min_value=0, max_value=80).map(Offset)
timestamps = st.lists(
    st.integers(min_value=-1, max_value=400).map(TimestampMs), min_size=1, max_size=4
)


@dataclass(frozen=True)
class Batch:
    """One batch of the model."""

    base_offset: Offset
    timestamps: tuple[TimestampMs, ...]
    data: bytes
    producer_id: ProducerId = NO_PRODUCER_ID
    base_sequence: int = -1

    @property
    def end_offset(self) -> int:
        return self.base_offset + len(self.timestamps)


@dataclass
class Model:
    """What the log should hold."""

    batches: list[Batch] = field(default_factory=list)
    end_offset: int = 0
    recovery_point: int = 0
    """As the checkpoint file has it."""
    start: int = 0
    """Below it, records were deleted."""
    start_checkpoint: int = 0
    highest_start: int = 0
    """Of all, those included that a crash forgot: below it, epochs are not known any more."""

    def first_at(self, offset: int) -> int:
        """The index of the first batch that ends above `offset`."""
        return next(
            (at for at, batch in enumerate(self.batches) if batch.end_offset > offset),
            len(self.batches),
        )

    def truncate(self, offset: int) -> None:
        if offset < self.end_offset:
            del self.batches[self.first_at(offset) :]
            self.end_offset = offset
            self.recovery_point = min(self.recovery_point, offset)

    def next_sequence(self, producer_id: ProducerId) -> int:
        last = [batch for batch in self.batches if batch.producer_id == producer_id]
        return last[-1].base_sequence + len(last[-1].timestamps) if last else 0


@dataclass
class Syncing:
    """A sync that is under way."""

    sync: LogSync
    has_run: bool = False
    is_cut: bool = False
    """The log was cut meanwhile."""


def largest_timestamp(batches: list[Batch]) -> int:
    """Without any the age counts from when the segment was made or opened, which is `NOW` here."""
    latest = max((time for batch in batches for time in batch.timestamps), default=-1)
    return latest if latest >= 0 else NOW


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.files = MemoryFiles(models_crashes=True)
        self.model = Model()
        self.epoch = LeaderEpoch(0)
        self.syncing: Syncing | None = None

    @initialize()
    def open_new(self) -> None:
        self.files.make_folder("")
        self.log = self.open(clean=False)

    def open(self, *, clean: bool) -> PartitionLog:
        return open_log(
            self.files,
            FOLDER,
            config=CONFIG,
            topic_id=TOPIC_ID,
            now=NOW,
            clean=clean,
            recovery_point=Offset(self.model.recovery_point),
            log_start_offset=Offset(self.model.start_checkpoint),
            room=LoadedIndexes(0),  # Those of one closed segment: each other one reads anew.
        )

    def stored(self) -> list[Batch]:
        """Those of the model that a segment holds."""
        first = self.log.first_segment_offset
        return [batch for batch in self.model.batches if batch.base_offset >= first]

    def append(self, batch: bytearray, times: list[TimestampMs], **producer: int) -> None:
        base = Offset(self.model.end_offset)
        appended = append_as_leader(self.log, memoryview(batch), leader_epoch=self.epoch, now=NOW)
        assert appended[:3] == (base, base + len(times) - 1, -1)
        expected = bytearray(batch)
        stamp(expected, 0, base_offset=base, leader_epoch=self.epoch)
        self.model.batches.append(
            Batch(
                base,
                tuple(times),
                bytes(expected),
                ProducerId(producer.get("producer_id", NO_PRODUCER_ID)),
                producer.get("base_sequence", -1),
            )
        )
        self.model.end_offset = base + len(times)

    @rule(times=timestamps, padding=st.integers(min_value=0, max_value=120))
    def append_plain(self, times: list[TimestampMs], padding: int) -> None:
        records = [Record(None, b"v" * padding, (), time) for time in times]
        self.append(build_batch(records), times)

    @rule(times=timestamps, producer=st.integers(min_value=1, max_value=3))
    def append_idempotent(self, times: list[TimestampMs], producer: int) -> None:
        producer_id = ProducerId(producer)
        sequence = self.model.next_sequence(producer_id)
        batch = build_batch(
            [Record(None, b"i", (), time) for time in times],
            producer_id=producer_id,
            producer_epoch=ProducerEpoch(0),
            base_sequence=sequence,
        )
        self.append(batch, times, producer_id=producer_id, base_sequence=sequence)

    @rule(producer=st.integers(min_value=1, max_value=3))
    def repeat_the_last_of(self, producer: int) -> None:
        mine = [batch for batch in self.model.batches if batch.producer_id == producer]
        if mine and mine[-1].base_offset >= self.model.start:
            again = bytearray(mine[-1].data)
            stamp(again, 0, base_offset=Offset(0), leader_epoch=LeaderEpoch(-1))
            appended = append_as_leader(
                self.log, memoryview(again), leader_epoch=self.epoch, now=NOW
            )
            assert appended.is_duplicate
            assert appended.base_offset == mine[-1].base_offset
            assert appended.last_offset == mine[-1].end_offset - 1

    @rule()
    def next_leader_epoch(self) -> None:
        self.epoch = LeaderEpoch(self.epoch + 1)

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW)

    @rule()
    def let_indexes_go(self) -> None:
        """Those of the segment that grows: other logs' need the room."""
        self.log.segments[-1].held.let_go()

    @precondition(lambda self: self.syncing is None)
    @rule()
    def sync(self) -> None:
        self.log.sync()
        assert self.log.recovery_point == self.model.end_offset
        self.model.recovery_point = self.model.end_offset

    @precondition(lambda self: self.syncing is None)
    @rule()
    def begin_sync(self) -> None:
        """A worker's, while the log goes on."""
        self.syncing = Syncing(self.log.begin_sync())

    @precondition(lambda self: self.syncing is not None)
    @rule()
    def run_sync(self) -> None:
        assert self.syncing is not None
        self.syncing.sync.run()
        self.syncing.has_run = True

    @precondition(lambda self: self.syncing is not None)
    @rule()
    def end_sync(self) -> None:
        assert self.syncing is not None
        sync, has_run, is_cut = self.syncing.sync, self.syncing.has_run, self.syncing.is_cut
        self.log.end_sync(sync, is_durable=has_run)
        if has_run and not is_cut:
            assert self.log.recovery_point == sync.end_offset
            self.model.recovery_point = sync.end_offset
        assert self.log.recovery_point >= self.model.recovery_point
        self.syncing = None

    @rule(offset=offsets)
    def delete_records(self, offset: Offset) -> None:
        offset = Offset(min(offset, self.model.end_offset))
        delete_records(self.log, offset)
        self.model.start = max(self.model.start, offset)
        self.model.highest_start = max(self.model.highest_start, self.model.start)

    @rule(
        retention_bytes=st.integers(min_value=-1, max_value=3000),
        retention_ms=st.integers(min_value=-1, max_value=450),
        high_watermark=offsets,
    )
    def retain(self, retention_bytes: int, retention_ms: int, high_watermark: Offset) -> None:
        """Of the records that are in the log the oldest ones go, by segments."""
        now = TimestampMs(400)
        high_watermark = Offset(min(high_watermark, self.model.end_offset))
        segments = self.segments()
        self.log.configure(
            CONFIG._replace(retention_bytes=retention_bytes, retention_ms=retention_ms)
        )
        delete_old_segments(self.log, high_watermark=high_watermark, now=now)
        self.log.configure(CONFIG)

        def drop(is_due: Callable[[list[Batch], int | None], bool]) -> None:
            while segments:
                batches = segments[0][1]
                following = segments[1][0] if len(segments) > 1 else None
                end = self.model.end_offset if following is None else following
                if end > high_watermark or (following is None and not batches):
                    return
                if not is_due(batches, following):
                    return
                del segments[0]

        drop(lambda batches, following: following is not None and following <= self.model.start)
        size = sum(len(batch.data) for _, batches in segments for batch in batches)

        def is_beyond_size(batches: list[Batch], following: int | None) -> bool:
            nonlocal size
            after = size - sum(len(batch.data) for batch in batches)
            if retention_bytes < 0 or after < retention_bytes:
                return False
            size = after
            return True

        drop(is_beyond_size)
        if retention_ms >= 0:
            drop(lambda batches, following: now - largest_timestamp(batches) > retention_ms)
        first = segments[0][0] if segments else self.model.end_offset
        assert self.log.first_segment_offset == first
        self.model.start = max(self.model.start, first)
        self.model.highest_start = max(self.model.highest_start, self.model.start)

    def segments(self) -> list[tuple[int, list[Batch]]]:
        """Where each begins, and what the model has in it."""
        bases = [segment.base_offset for segment in self.log.segments]
        ends = [*bases[1:], self.model.end_offset + 1]
        return [
            (base, [each for each in self.model.batches if base <= each.base_offset < end])
            for base, end in zip(bases, ends, strict=True)
        ]

    @rule()
    def write_start_checkpoint(self) -> None:
        self.model.start_checkpoint = self.model.start

    @rule(offset=offsets)
    def truncate(self, offset: Offset) -> None:
        offset = Offset(max(offset, self.model.start))  # Nobody asks for less.
        if self.syncing is not None and offset < self.model.end_offset:
            self.syncing.is_cut = True
        truncate_to(self.log, offset, NOW)
        self.model.truncate(offset)

    @rule(
        offset=offsets,
        max_bytes=st.integers(min_value=0, max_value=1500),
        max_offset=offsets,
        whole=st.booleans(),
    )
    def read(self, offset: Offset, max_bytes: int, max_offset: Offset, whole: bool) -> None:
        end = self.model.end_offset
        max_offset = Offset(min(max_offset, end))
        if offset > end or offset < self.model.start:
            try:
                self.log.read(
                    offset, max_bytes=max_bytes, max_offset=max_offset, first_batch_whole=whole
                )
            except KafkaError:
                return
            raise AssertionError("read above the end or below the start")
        found = self.log.read(
            offset, max_bytes=max_bytes, max_offset=max_offset, first_batch_whole=whole
        )
        data = b"" if found.part is None else bytes(found.part)  # type: ignore[arg-type]  # Memory.
        assert len(data) == found.size_bytes
        assert data == self.expected(offset, max_bytes, max_offset, whole)

    def expected(self, offset: int, max_bytes: int, max_offset: int, whole: bool) -> bytes:
        """What is readable of the segment that holds the first batch."""
        batches = self.model.batches
        first = self.model.first_at(offset)
        if first == len(batches) or offset >= max_offset:
            return b""
        bases = [segment.base_offset for segment in self.log.segments]
        limit = next((base for base in bases if base > batches[first].base_offset), None)
        readable = b"".join(
            batch.data
            for batch in batches[first : self.model.first_at(max_offset)]
            if limit is None or batch.base_offset < limit
        )
        size = len(batches[first].data)
        if size > max_bytes:
            return readable[:size] if whole else b""
        return readable[:max_bytes]

    @rule(timestamp=st.integers(min_value=0, max_value=400).map(TimestampMs))
    def find_timestamp(self, timestamp: TimestampMs) -> None:
        """In the first segment that has such a time, even if only below the start, as in Kafka."""
        late = [
            (time, batch.base_offset + at)
            for batch in self.stored()
            for at, time in enumerate(batch.timestamps)
            if time >= timestamp
        ]
        expected = None
        if late:
            bases = [segment.base_offset for segment in self.log.segments]
            following = min((b for b in bases if b > late[0][1]), default=self.model.end_offset)
            expected = next(
                (pair for pair in late if self.model.start <= pair[1] < following), None
            )
        found = self.log.offset_for_timestamp(timestamp)
        assert (found and found[:2]) == expected

    @rule()
    def find_latest_timestamp(self) -> None:
        times = [
            (time, batch.base_offset + at)
            for batch in self.stored()
            for at, time in enumerate(batch.timestamps)
        ]
        latest = max((time for time, _ in times), default=-1)
        expected = None if latest < 0 else next(pair for pair in times if pair[0] == latest)
        found = self.log.offset_of_max_timestamp()
        assert (found and found[:2]) == expected

    @rule()
    def make_folder(self) -> None:
        self.log.folder.make()

    @precondition(lambda self: self.syncing is None)
    @rule()
    def close_and_open(self) -> None:
        self.log.close()
        self.log.sync()
        self.files.sync_folder("")  # As the log directory does once for all of its partitions.
        self.model.recovery_point = self.model.end_offset
        self.model.start_checkpoint = self.model.start
        self.reopened(clean=True)

    @rule()
    def kill_and_open(self) -> None:
        self.log.release_files()
        self.reopened(clean=False)
        assert self.log.cuts == ()

    def reopened(self, *, clean: bool) -> None:
        """Offsets that were truncated inside a batch are given out anew, as in Kafka."""
        self.syncing = None
        before = self.model.end_offset
        self.log = self.open(clean=clean)
        last = self.model.batches[-1].end_offset if self.model.batches else 0
        assert last <= self.log.end_offset <= before
        self.follow_start()
        self.model.end_offset = self.log.end_offset
        self.model.recovery_point = min(self.model.recovery_point, self.model.end_offset)

    @rule(
        seed=st.integers(min_value=0, max_value=1 << 30),
        keeps_names=st.booleans(),
        zeros=st.booleans(),
    )
    def crash_and_open(self, seed: int, keeps_names: bool, zeros: bool) -> None:
        if keeps_names:
            keep_names(self.files, "")

        def left(path: str, unsynced: int) -> int:
            share = (seed ^ len(path) * 7919) % (unsynced + 1)
            # That is always smaller than a sector.
            is_whole = path.endswith(PARTITION_METADATA) and share
            return unsynced if is_whole else share

        self.files.crash(left, zeros=zeros)
        self.files.make_folder("")
        self.syncing = None
        self.log = self.open(clean=False)
        kept = [batch for batch in self.model.batches if batch.end_offset <= self.log.end_offset]
        self.follow_start()
        synced = self.model.first_at(self.model.recovery_point)
        assert len(kept) >= synced
        self.model.batches = kept
        assert self.log.end_offset <= self.model.end_offset
        self.model.end_offset = self.log.end_offset
        self.model.recovery_point = min(self.model.recovery_point, self.model.end_offset)

    def follow_start(self) -> None:
        """Deleted records may be back, as far as the checkpoint and the segments do not tell."""
        start = self.log.log_start_offset
        assert self.model.start_checkpoint <= start <= self.model.start
        self.model.start = start

    @invariant()
    def offsets_agree(self) -> None:
        if hasattr(self, "log"):
            assert self.log.log_start_offset == self.model.start
            assert self.log.end_offset == self.model.end_offset

    @invariant()
    def bytes_agree(self) -> None:
        if hasattr(self, "log"):
            assert stored(self.log) == b"".join(batch.data for batch in self.stored())

    @precondition(lambda self: self.model.batches)
    @rule()
    def epochs_agree(self) -> None:
        for batch in self.model.batches:
            if batch.base_offset < self.model.highest_start:
                continue
            epoch = int.from_bytes(batch.data[12:16], "big")
            assert self.log.epochs.epoch_at(batch.base_offset) == epoch


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
