"""ListOffsets by time: what a real Kafka 4.4.0 answered over logs that it wrote.

`timestamp-lookups/` holds the `.log` files of three topics (`internal.segment.bytes` 700,
`index.interval.bytes` 200; timestamps out of order, compressed, `LogAppendTime`) and its answers as
(timestamp, offset, leader epoch): to the latest timestamp, and to each timestamp asked.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.opening import open_log
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.protocol.records.times import LookupBudget
from kafkalite.types import ZERO_UUID, LeaderEpoch, TimestampMs

ROOT = Path(__file__).parent / "timestamp-lookups"
NOTHING_FOUND = [-1, -1, None]


@pytest.mark.parametrize("topic", ["ts-create", "ts-zstd", "ts-append"])
@pytest.mark.parametrize("interval", [200, 4096])
def test_answers_as_kafka_did(topic: str, interval: int) -> None:
    files = MemoryFiles()
    files.make_folder(topic)
    for path in (ROOT / f"{topic}-0").iterdir():
        files.replace(f"{topic}/{path.name}", path.read_bytes())
    log = open_log(
        files,
        topic,
        config=TopicConfig(index_interval_bytes=interval),
        topic_id=ZERO_UUID,
        now=TimestampMs(0),
        clean=False,
    )
    answers = json.loads((ROOT / "answers.json").read_text())[topic]
    latest = log.offset_of_max_timestamp()
    assert latest is not None
    assert list(latest) == answers["max"]
    for asked, answer in answers["times"].items():
        found = log.offset_for_timestamp(TimestampMs(int(asked)))
        assert (NOTHING_FOUND if found is None else list(found)) == answer, asked


def test_a_small_batch_that_holds_gigabytes_is_read_no_further_than_needed() -> None:
    files = MemoryFiles()
    files.make_folder("t-0")
    limit = 1 << 20
    log = open_log(
        files,
        "t-0",
        config=TopicConfig(),
        topic_id=ZERO_UUID,
        now=TimestampMs(0),
        clean=True,
    )
    records = [
        Record(None, bytes(size), timestamp=TimestampMs(time))
        for size, time in ((1, 5), (9 << 20, 9))
    ]
    batch = build_batch(
        [*records, Record(None, None, timestamp=TimestampMs(20))], compression=Compression.ZSTD
    )
    append_as_leader(log, memoryview(batch), leader_epoch=LeaderEpoch(0), now=TimestampMs(0))
    found = [log.offset_for_timestamp(TimestampMs(time), LookupBudget(limit)) for time in (1, 6)]
    assert [at and at.offset for at in found] == [0, 1]
    with pytest.raises(CorruptRecordError, match=f"more than {limit} bytes"):
        log.offset_for_timestamp(TimestampMs(10), LookupBudget(limit))
