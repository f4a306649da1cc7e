"""Any history of keys, tombstones, codecs, producers, transactions and retention, against a dict.

After each cleaning a reader of what is committed sees the last record of each key, at its offset
and in its place, and nothing else below where the cleaning ended. Above it, only aborted records
may be missing. Nothing is missing from where the log begins on but for that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kafkalite.log.log_cuts import delete_records
from kafkalite.log.retention import delete_old_segments
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs
from tests.log.compaction_fixtures import (
    CONFIG,
    Seen,
    Transactional,
    stored_headers,
    stored_records,
)
from tests.log.log_fixtures import FOLDER, NOW, append, open_log

SMALL = CONFIG._replace(segment_bytes=600, delete_retention_ms=50, index_interval_bytes=60)
LONG_KEY = "a key of more than sixteen bytes"

keys = st.sampled_from(["a", "b", "c", "d", "", LONG_KEY])
values = st.sampled_from([None, "", "value", "v" * 90])
entries = st.lists(st.tuples(keys, values), min_size=1, max_size=4)
codecs = st.sampled_from(list(Compression))
producers = st.integers(min_value=1, max_value=3)


@dataclass
class Model:
    """All that was ever written, and how it ended."""

    records: list[Seen] = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)
    """Offsets."""
    open: dict[int, list[int]] = field(default_factory=dict)
    """Offsets of each open transaction."""
    cleaned_to: int = 0

    def latest(self, end: int) -> dict[bytes, Seen]:
        """Of each key, the last committed record below `end`."""
        return {
            record.key: record
            for record in self.records
            if record.key is not None and record.offset < end and record.offset not in self.aborted
        }


class CompactionMachine(RuleBasedStateMachine):
    """A log, its model, and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Transactional(SMALL)
        self.model = Model()
        self.now = NOW
        self.checkpoint: Offset | None = None

    def add(self, batch: bytearray, entries: list[tuple[str, str | None]]) -> range:
        base = append(self.world.log, batch, now=self.now).base_offset
        for at, (key, value) in enumerate(entries):
            self.model.records.append(
                Seen(
                    base + at,
                    key.encode(),
                    None if value is None else value.encode(),
                    self.now + at,
                )
            )
        return range(base, base + len(entries))

    def records(self, entries: list[tuple[str, str | None]]) -> list[Record]:
        return [
            Record(
                key.encode(),
                None if value is None else value.encode(),
                (),
                TimestampMs(self.now + at),
            )
            for at, (key, value) in enumerate(entries)
        ]

    @rule(entries=entries, codec=codecs)
    def write(self, entries: list[tuple[str, str | None]], codec: Compression) -> None:
        self.add(build_batch(self.records(entries), compression=codec), entries)

    @rule(entries=entries, codec=codecs, producer=producers, in_transaction=st.booleans())
    def write_with_sequence(
        self,
        entries: list[tuple[str, str | None]],
        codec: Compression,
        producer: int,
        in_transaction: bool,
    ) -> None:
        if not in_transaction:
            producer += 10
        state = self.world.log.producers.get(ProducerId(producer))
        batch = build_batch(
            self.records(entries),
            compression=codec,
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(0),
            base_sequence=0 if state is None else state.last_sequence + 1,
            is_transactional=in_transaction,
        )
        offsets = self.add(batch, entries)
        if in_transaction:
            self.model.open.setdefault(producer, []).extend(offsets)

    @precondition(lambda self: self.model.open)
    @rule(data=st.data(), commit=st.booleans())
    def end_transaction(self, data: st.DataObject, commit: bool) -> None:
        producer = data.draw(st.sampled_from(sorted(self.model.open)))
        offsets = self.model.open.pop(producer)
        if not commit:
            self.model.aborted.update(offsets)
        self.world.end(producer, commit=commit)

    @rule()
    def roll(self) -> None:
        self.world.log.roll(self.now)

    @rule(elapsed=st.integers(min_value=1, max_value=100))
    def pass_time(self, elapsed: int) -> None:
        self.now = TimestampMs(self.now + elapsed)

    @rule(capacity=st.sampled_from([2, 1000]), piece_bytes=st.sampled_from([4096, 1 << 20]))
    def clean(self, capacity: int, piece_bytes: int) -> None:
        log = self.world.log
        if len(log.segments) > 1:
            self.checkpoint = self.world.clean(
                self.now,
                checkpoint=self.checkpoint,
                capacity=capacity,
                piece_bytes=piece_bytes,
            )
            assert self.checkpoint <= log.end_offset
            self.model.cleaned_to = self.checkpoint
            self.check_what_a_reader_sees()
            self.check_batches()

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        log = self.world.log
        start = data.draw(st.integers(min_value=0, max_value=log.end_offset))
        delete_records(log, Offset(start))
        assert log.log_start_offset >= start
        self.check_what_a_reader_sees()

    @rule(
        retention_bytes=st.sampled_from([-1, 0, 700, 1500]),
        retention_ms=st.sampled_from([-1, 0, 60]),
    )
    def retain(self, retention_bytes: int, retention_ms: int) -> None:
        """`cleanup.policy=compact,delete`."""
        log = self.world.log
        both = SMALL._replace(cleanup_policy=("compact", "delete"))
        log.configure(both._replace(retention_bytes=retention_bytes, retention_ms=retention_ms))
        before = log.size_bytes
        for deletion in delete_old_segments(log, high_watermark=log.end_offset, now=self.now):
            deletion.retired.remove()
        if retention_bytes >= 0 and before >= retention_bytes:
            largest = max(segment.size for segment in log.segments)
            assert log.size_bytes < retention_bytes + max(largest, 1)
        log.configure(SMALL)
        self.check_what_a_reader_sees()

    @rule(clean=st.booleans())
    def reopen(self, clean: bool) -> None:
        log = self.world.log
        log.close()
        self.world.log = open_log(
            self.world.files,
            SMALL,
            clean=clean,
            now=self.now,
            log_start_offset=log.log_start_offset,
        )
        assert self.world.log.end_offset == log.end_offset
        assert self.world.log.cuts == ()
        self.check_what_a_reader_sees()

    @rule()
    def forget_producers(self) -> None:
        """As if they had expired: nothing of theirs need stay then."""
        log = self.world.log
        open_ones = [s for s in log.producers.active() if s.transaction_first_offset is not None]
        log.producers.restore(open_ones, self.now)

    def check_what_a_reader_sees(self) -> None:
        model, end = self.model, self.model.cleaned_to
        start = self.world.log.log_start_offset
        found = [each for each in stored_records(self.world.log) if each.offset >= start]
        written = {each.offset: each for each in model.records if each.offset >= start}
        assert all(written[record.offset] == record for record in found), "nothing is changed"
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets)), "the order is kept"
        beyond = {offset for offset in written if offset >= end}
        assert beyond - model.aborted <= set(offsets), "what was not cleaned is all there"
        below = {record.offset for record in found if record.offset < end}
        latest = {key: each for key, each in model.latest(end).items() if each.offset >= start}
        wanted = {record.offset for record in latest.values() if record.value is not None}
        tombstones = {record.offset for record in latest.values() if record.value is None}
        assert wanted <= below <= wanted | tombstones

    def check_batches(self) -> None:
        headers = stored_headers(self.world.log)
        for before, after in pairwise(headers):
            assert before.last_offset < after.base_offset
        names = self.world.files.list(FOLDER)
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]


CompactionMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None
)
TestCompaction = CompactionMachine.TestCase
