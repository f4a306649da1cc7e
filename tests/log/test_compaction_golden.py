"""Segments that the real Kafka compacted: of what they were before, ours makes the same bytes."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.checkpoints import CLEANER_OFFSETS, read_offsets
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.transaction_index import (
    format_transaction_index,
    parse_transaction_index,
)
from kafkalite.protocol.records.batch import BatchHeader, iter_headers
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs, TopicPartition
from tests.log.compaction_fixtures import cleaning, run
from tests.log.golden_folders import dumped, golden_bytes, memory_copy, open_golden
from tests.log.log_fixtures import FOLDER, open_log

CLEANED, ACTIVE = f"{360:020d}", {"compacted-0": 389, "compacted-kept-tombstones-0": 385}


def as_it_was(data: bytes, position: int, header: BatchHeader, superseded: Record) -> bytearray:
    """The batch with a record of `superseded`'s key at each offset that is missing, and without
    delete horizon."""
    left = {record.offset: record for record in read_records(data, position, header)}
    first = min(left.values(), key=lambda record: record.offset)
    records = [
        left.get(
            Offset(offset), superseded._replace(offset=Offset(offset), timestamp=first.timestamp)
        )
        for offset in range(header.base_offset, header.last_offset + 1)
    ]
    return build_batch(
        records, base_offset=header.base_offset, leader_epoch=header.partition_leader_epoch
    )


@pytest.mark.parametrize("name", ACTIVE)
def test_what_kafka_compacted_is_compacted_here_to_the_same_bytes(name: str) -> None:
    theirs = golden_bytes(name, f"{CLEANED}.log")
    headers = list(iter_headers(theirs))
    horizons = {h.base_timestamp for _, h in headers if h.has_delete_horizon}
    now = max(horizons, default=NO_TIMESTAMP)
    *_, last = read_records(theirs, *headers[-1])
    files = MemoryFiles()
    files.make_folder(FOLDER)
    before = b"".join(bytes(as_it_was(theirs, *each, last)) for each in headers)
    assert before != theirs
    files.replace(f"{FOLDER}/{CLEANED}.log", before)
    active = f"{ACTIVE[name]:020d}.log"
    files.replace(f"{FOLDER}/{active}", golden_bytes(name, active))
    config = TopicConfig(cleanup_policy=("compact",), delete_retention_ms=0)
    log = open_log(files, config, clean=False)
    assert run(cleaning(files, log, TimestampMs(now))) == ACTIVE[name]
    for suffix in (".log", ".index", ".timeindex"):
        file = files.open(f"{FOLDER}/{CLEANED}{suffix}")
        assert file.read(0, file.size) == golden_bytes(name, CLEANED + suffix)


@pytest.mark.parametrize("name", ACTIVE)
def test_what_kafka_compacted_needs_nothing_more(name: str) -> None:
    files = memory_copy(name)
    files.replace(CLEANER_OFFSETS, golden_bytes("", CLEANER_OFFSETS))
    log = open_golden(name, clean=True, files=files)
    checkpoint = read_offsets(files, CLEANER_OFFSETS)[TopicPartition(name[:-2], 0)]
    assert checkpoint == ACTIVE[name]
    before = [segment.base_offset for segment in log.segments]
    assert (
        run(cleaning(files, log, log.segments[0].created_ms, checkpoint=checkpoint)) == checkpoint
    )
    assert [segment.base_offset for segment in log.segments] == before


def test_transaction_indexes_say_what_kafkas_tool_says() -> None:
    found = 0
    for file, lines in dumped("transactions-0", ".txnindex"):
        data = golden_bytes("transactions-0", file)
        entries = parse_transaction_index(data)
        assert format_transaction_index(entries) == data
        assert [
            {
                "producerId": str(entry.producer_id),
                "firstOffset": str(entry.first_offset),
                "lastOffset": str(entry.last_offset),
                "lastStableOffset": str(entry.last_stable_offset),
            }
            for entry in entries
        ] == [{key: value for key, value in line.items() if key != "version"} for line in lines]
        found += len(entries)
    assert found > 0
