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
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import ZERO_UUID, TimestampMs

ROOT = Path(__file__).parent / "timestamp-lookups"
NOTHING_FOUND = [-1, -1, None]


@pytest.mark.parametrize("topic", ["ts-create", "ts-zstd", "ts-append"])
@pytest.mark.parametrize("interval", [200, 4096])
def test_answers_as_kafka_did(topic: str, interval: int) -> None:
    files = MemoryFiles()
    files.make_folder(topic)
    for path in (ROOT / f"{topic}-0").iterdir():
        files.replace(f"{topic}/{path.name}", path.read_bytes())
    log = PartitionLog.open(
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
