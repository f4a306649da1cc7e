"""Any history of keys, tombstones, codecs, producers, transactions and retention, against a dict.

After each cleaning a reader of what is committed sees the last record of each key, at its offset
and in its place, and nothing else below where the cleaning ended. Above it, only aborted records
may be missing. Nothing is missing from where the log begins on but for that.

A process that is killed loses nothing. A loss of power takes what was not synced, from any byte of
the log on, and never what was cleaned. What is truncated at the end does not bring back what it had
superseded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import delete_records, truncate_to
from kafkalite.log.retention import delete_old_segments
from kafkalite.protocol.records.batch import BatchHeader
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
from tests.log.crash_ends import keep_names
from tests.log.log_fixtures import FOLDER, NOW, append, open_log

SMALL = CONFIG._replace(segment_bytes=600, delete_retention_ms=50, index_interval_bytes=60)
LONG_KEY = "a key of more than sixteen bytes"

keys = st.sampled_from(["a", "b", "c", "d", "", LONG_KEY])
values = st.sampled_from([None, "", "value", "v" * 90])
entries = st.lists(st.tuples(keys, values), min_size=1, max_size=4)
codecs = st.sampled_from(list(Compression))
producers = st.integers(min_value=1, max_value=3)


@dataclass
class Ended:
    """A transaction that has its marker."""

    producer: int
    offsets: list[int]
    commit: bool
    marker: int
    """Its offset."""


@dataclass
class Model:
    """All that was ever written and not lost or truncated since, and how it ended."""

    records: list[Seen] = field(default_factory=list)
    batches: list[range] = field(default_factory=list)
    """Offsets of each, but for markers."""
    aborted: set[int] = field(default_factory=set)
    """Offsets."""
    open: dict[int, list[int]] = field(default_factory=dict)
    """Offsets of each open transaction."""
    ended: list[Ended] = field(default_factory=list)
    cleaned_to: int = 0
    gone: set[int] = field(default_factory=set)
    """Offsets of what a cleaning had to take."""
    synced_to: int = 0

    def latest(self, end: int) -> dict[bytes, Seen]:
        """Of each key, the last committed record below `end`."""
        return {
            record.key: record
            for record in self.records
            if record.key is not None and record.offset < end and record.offset not in self.aborted
        }

    def clean(self, end: int) -> None:
        """All below `end` is gone that is aborted or not the last of its key."""
        self.cleaned_to = end
        kept = {record.offset for record in self.latest(end).values()}
        self.gone |= {each.offset for each in self.records if each.offset < end} - kept

    def cut(self, end: int) -> list[Ended]:
        """Forget the batches that reach to `end` or beyond; the transactions of which that leaves
        records, and no marker."""
        end = min((each.start for each in self.batches if each.stop > end), default=end)
        self.records = [record for record in self.records if record.offset < end]
        self.batches = [each for each in self.batches if each.stop <= end]
        self.aborted = {offset for offset in self.aborted if offset < end}
        self.gone = {offset for offset in self.gone if offset < end}
        self.cleaned_to, self.synced_to = min(self.cleaned_to, end), min(self.synced_to, end)
        for offsets in (*self.open.values(), *(each.offsets for each in self.ended)):
            offsets[:] = [offset for offset in offsets if offset < end]
        self.open = {producer: offsets for producer, offsets in self.open.items() if offsets}
        unmarked = [each for each in self.ended if each.marker >= end]
        self.ended = [each for each in self.ended if each.marker < end]
        return [each for each in unmarked if each.offsets]


class CompactionMachine(RuleBasedStateMachine):
    """A log, its model, and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Transactional(SMALL, MemoryFiles(models_crashes=True))
        self.world.files.sync_folder("")  # As the log directory does for all partitions.
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
        self.model.batches.append(range(base, base + len(entries)))
        return self.model.batches[-1]

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

    @rule(batches=st.lists(entries, min_size=1, max_size=5), codec=codecs)
    def write(self, batches: list[list[tuple[str, str | None]]], codec: Compression) -> None:
        for entries in batches:
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
        self.end(producer, self.model.open.pop(producer), commit=commit)

    def end(self, producer: int, offsets: list[int], *, commit: bool) -> None:
        if not commit:
            self.model.aborted.update(offsets)
        marker = self.world.end(producer, commit=commit)
        self.model.ended.append(Ended(producer, offsets, commit, marker))

    @rule()
    def roll(self) -> None:
        self.world.log.roll(self.now)

    @rule()
    def let_indexes_go(self) -> None:
        """And aborted transactions: other logs' need the room."""
        for segment in self.world.log.segments:
            segment.held.let_go()

    @rule(elapsed=st.integers(min_value=1, max_value=100))
    def pass_time(self, elapsed: int) -> None:
        self.now = TimestampMs(self.now + elapsed)

    @rule(
        capacity=st.sampled_from([2, 1000]),
        piece_bytes=st.sampled_from([4096, 1 << 20]),
        rolls=st.booleans(),
    )
    def clean(self, capacity: int, piece_bytes: int, rolls: bool) -> None:
        log = self.world.log
        if rolls:
            log.roll(self.now)
        if len(log.segments) > 1:
            self.checkpoint = self.world.clean(
                self.now,
                checkpoint=self.checkpoint,
                capacity=capacity,
                piece_bytes=piece_bytes,
            )
            assert self.checkpoint <= log.end_offset
            self.model.clean(self.checkpoint)
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

    @rule()
    def sync(self) -> None:
        self.world.log.sync()
        self.model.synced_to = self.world.log.end_offset

    @rule(lost=st.integers(min_value=1, max_value=20))
    def truncate(self, lost: int) -> None:
        """As a follower does, whose leader has another end. Nobody asks for less than the start."""
        log, before = self.world.log, self.headers()
        end = max(log.end_offset - lost, log.log_start_offset)
        truncate_to(log, Offset(end), self.now)
        assert log.end_offset == end
        assert self.headers() == [each for each in before if each.last_offset < end]
        self.cut(end)

    @rule(how=st.sampled_from(["stopped", "stopped, and not trusted", "killed"]))
    def reopen(self, how: str) -> None:
        if how == "killed":
            self.world.log.release_files()
        else:
            self.world.log.close()
        self.open_again(clean=how == "stopped", loses_power=False)

    @rule(
        back=st.integers(min_value=0, max_value=3),
        kept_bytes=st.integers(min_value=0, max_value=600),
        keeps_names=st.booleans(),
        keeps_others=st.booleans(),
    )
    def crash(self, back: int, kept_bytes: int, keeps_names: bool, keeps_others: bool) -> None:
        """What was not synced is gone from so many bytes of one of the last segments on.

        A truncation syncs the segment that it cuts, and none before: of a log that may have holes
        nobody can tell then what is lost there. So nothing is."""
        logs = [(each.name, self.world.files.open(each.name)) for each in self.world.log.segments]
        solid = max((at for at, (_, log) in enumerate(logs) if log.node.durable_size), default=0)
        torn = logs[solid:][-1 - back :][0][0]

        def kept(path: str, unsynced: int) -> int:
            if not path.endswith(".log"):
                return unsynced if keeps_others else 0
            return min(kept_bytes, unsynced) if path == torn else unsynced if path < torn else 0

        before = self.headers()
        if keeps_names:
            keep_names(self.world.files, FOLDER)
        self.world.files.crash(kept)
        self.open_again(clean=False, loses_power=True, before=before)

    def open_again(
        self, *, clean: bool, loses_power: bool, before: list[BatchHeader] | None = None
    ) -> None:
        """`before`: what there was, if that cannot be read any more. Offsets that were truncated
        inside a batch are given out anew, as in Kafka."""
        old = self.world.log
        before = self.headers() if before is None else before
        self.world.log = log = open_log(
            self.world.files,
            SMALL,
            clean=clean,
            now=self.now,
            log_start_offset=old.log_start_offset,
        )
        found = self.headers()
        assert found == before[: len(found)]
        lost = before[len(found) :]
        end = max([old.log_start_offset, *(each.next_offset for each in found)])
        assert end <= log.end_offset <= old.end_offset
        if loses_power:
            promised = max(self.model.synced_to, self.model.cleaned_to)
            assert all(each.last_offset >= promised for each in lost)
        else:
            assert not lost
            assert log.cuts == () or log.log_start_offset == log.end_offset
        self.cut(min([log.end_offset, *(each.base_offset for each in lost)]))

    def cut(self, end: int) -> None:
        """The log has lost what is at `end` or beyond. Whose markers went is sent them again."""
        if self.checkpoint is not None:
            self.checkpoint = Offset(min(self.checkpoint, end))
        for each in self.model.cut(end):
            self.end(each.producer, each.offsets, commit=each.commit)
        self.check_what_a_reader_sees()

    def headers(self) -> list[BatchHeader]:
        log = self.world.log
        return [each for each in stored_headers(log) if each.last_offset >= log.log_start_offset]

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
        latest = {
            key: each
            for key, each in model.latest(end).items()
            if each.offset >= start and each.offset not in model.gone
        }
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
    max_examples=80, stateful_step_count=40, deadline=None
)
TestCompaction = CompactionMachine.TestCase
