"""Any history of transactions in a log, over its segments, restarts and cuts: whoever reads what is
committed, from any offset on and in answers of any size, sees just that."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.config.views import TopicConfig
from kafkalite.log.files import read_part
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs, Uuid

NOW = TimestampMs(1_000)
NOBODY = 0
CONFIG = TopicConfig()._replace(index_interval_bytes=1)

producers = st.integers(1, 3)
steps = st.one_of(
    st.tuples(st.just("write"), producers),
    st.tuples(st.sampled_from(["abort", "abort", "commit"]), producers),
    st.tuples(st.sampled_from(["write", "abort", "write"]), producers),
    st.tuples(st.sampled_from(["plain", "roll", "roll", "stop", "crash"]), st.just(0)),
    st.tuples(st.just("cut"), st.integers(1, 4)),
)


class Entry(NamedTuple):
    """What stands at one offset."""

    producer: int
    value: bytes
    """Empty: a marker."""
    commits: bool = False
    begins: bool = True
    """A batch."""


class History:
    def __init__(self) -> None:
        self.files = MemoryFiles(models_crashes=True)
        self.entries: list[Entry] = []
        self.log = self.open(clean=True)
        self.values = 0

    def open(self, *, clean: bool) -> PartitionLog:
        return open_log(
            self.files,
            "topic-0",
            config=CONFIG,
            topic_id=Uuid(bytes(15) + b"\x07"),
            now=NOW,
            clean=clean,
            recovery_point=Offset(0),
        )

    def take(self, step: str, which: int) -> None:
        match step:
            case "write" | "plain":
                self.write(which)
            case "commit" | "abort":
                self.end(which, commits=step == "commit")
            case "roll":
                self.log.roll(NOW)
            case "cut":
                kept = max(0, len(self.entries) - which)
                while kept < len(self.entries) and not self.entries[kept].begins:
                    kept -= 1  # As brokers do, between batches.
                del self.entries[kept:]
                truncate_to(self.log, Offset(len(self.entries)), NOW)
            case _:
                if step == "stop":
                    self.log.close()
                else:
                    self.log.release_files()
                self.log = self.open(clean=step == "stop")

    def write(self, producer: int) -> None:
        """One or two records; the second shares the batch."""
        self.values += 1
        values = [b"%d-%d" % (self.values, each) for each in range(1 + self.values % 2)]
        records = [Record(None, value, timestamp=NOW) for value in values]
        if producer == NOBODY:
            batch = build_batch(records)
        else:
            state = self.log.producers.get(ProducerId(producer))
            batch = build_batch(
                records,
                producer_id=ProducerId(producer),
                producer_epoch=ProducerEpoch(0),
                base_sequence=0 if state is None else state.last_sequence + 1,
                is_transactional=True,
            )
        append_as_leader(self.log, memoryview(batch), leader_epoch=LeaderEpoch(0), now=NOW)
        self.entries += [Entry(producer, value, begins=at == 0) for at, value in enumerate(values)]

    def end(self, producer: int, *, commits: bool) -> None:
        batch = build_end_transaction_batch(
            EndTransactionMarker(commits, 0),
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(0),
            timestamp=NOW,
        )
        append_as_leader(
            self.log,
            memoryview(batch),
            leader_epoch=LeaderEpoch(0),
            now=NOW,
            origin=AppendOrigin.COORDINATOR,
        )
        self.entries.append(Entry(producer, b"", commits))

    def committed(self) -> dict[int, bytes]:
        """By offset, up to the first record of the oldest open transaction."""
        found = {}
        for offset, (producer, value, *_) in enumerate(self.entries):
            if not value:
                continue
            commits: bool | None = True
            if producer != NOBODY:
                markers = (e for e in self.entries[offset:] if e.producer == producer)
                commits = next((e.commits for e in markers if not e.value), None)
            if commits is None:
                break
            if commits:
                found[offset] = value
        return found

    def read(self, offset: int, max_bytes: int) -> dict[int, bytes]:
        """As a consumer does, answer by answer."""
        found: dict[int, bytes] = {}
        stable = self.log.producers.last_stable_offset(self.log.end_offset)
        position = offset
        while position < stable:
            read = self.log.read(
                Offset(position),
                max_bytes=max_bytes,
                max_offset=stable,
                first_batch_whole=True,
                tells_aborted=True,
            )
            assert read.part is not None
            coming = sorted(read.aborted, key=lambda each: each.first_offset)
            aborted: set[int] = set()
            data = memoryview(read_part(read.part))
            for at, header in iter_headers(data):
                while coming and coming[0].first_offset <= header.last_offset:
                    aborted.add(coming.pop(0).producer_id)
                if header.is_control:
                    aborted.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in aborted):
                    for record in read_records(data, at, header):
                        if record.offset >= position:
                            found[record.offset] = bytes(record.value or b"")
                position = header.next_offset
        return found


@settings(max_examples=40, deadline=None)
@given(
    history=st.lists(steps, min_size=20, max_size=40),
    reads=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([1, 150, 400, 1 << 20])), min_size=3, max_size=6
    ),
)
def test_it_is_seen_whole_and_nothing_else(
    history: list[tuple[str, int]], reads: list[tuple[float, int]]
) -> None:
    world = History()
    for step in history:
        world.take(*step)
    committed = world.committed()
    for share, max_bytes in [(0.0, 1), *reads]:
        offset = int(share * len(world.entries))
        expected = {at: value for at, value in committed.items() if at >= offset}
        assert world.read(offset, max_bytes) == expected
