"""Logs whose segments grow, and a disk that knows which of their indexes are looked for."""

from __future__ import annotations

from kafkalite.config.views import TopicConfig
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.held_indexes import UNCOUNTED_ENTRIES
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.segment_indexes import SegmentIndexes
from kafkalite.types import TimestampMs
from tests.log.log_fixtures import NOW, TOPIC_ID, append, batch, headers, read

CONFIG = TopicConfig(index_interval_bytes=1)
"""An entry for each batch but the first."""
LOGS, BATCHES = 4, 600
LIMIT_BYTES = 16_000
"""Somewhat more than those of one log take."""
LEAST_BYTES = 600 + 20 * UNCOUNTED_ENTRIES
"""Of a log that has not grown far."""
SIZE = len(batch())


class WatchedFiles(MemoryFiles):
    """Notes which indexes are opened to be read, and which are asked for."""

    def __init__(self) -> None:
        super().__init__(models_crashes=True)
        self.read: list[str] = []
        self.asked: list[str] = []

    def exists(self, path: str) -> bool:
        self.asked.append(path)
        return super().exists(path)

    def open_read(self, path: str) -> MemoryFile:
        if path.endswith("index"):
            self.read.append(path)
        return super().open_read(path)


def opened(
    files: Files,
    room: LoadedIndexes | None = None,
    number: int = 0,
    *,
    clean: bool = True,
    config: TopicConfig = CONFIG,
) -> PartitionLog:
    return open_log(
        files,
        f"t-{number}",
        config=config,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=clean,
        room=room,
    )


def grow(log: PartitionLog, count: int = BATCHES) -> None:
    for offset in range(log.end_offset, log.end_offset + count):
        append(log, batch(NOW + offset))


def spill(log: PartitionLog) -> None:
    log.segments[-1].held.let_go()


def indexes(log: PartitionLog) -> SegmentIndexes:
    found = log.segments[-1].held.now
    assert found is not None
    return found


def check_reads(log: PartitionLog, *offsets: int) -> None:
    for offset in offsets:
        (header, *_) = headers(read(log, offset, max_bytes=SIZE))
        assert header.base_offset == offset


def check_times(log: PartitionLog, *offsets: int) -> None:
    for offset in offsets:
        found = log.offset_for_timestamp(TimestampMs(NOW + offset))
        assert found is not None
        assert found.offset == offset
