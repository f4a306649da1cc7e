"""A disk that refuses any one operation: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.files import Buffer
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.memory_bytes import MemoryBytes
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId
from tests.log.log_fixtures import EPOCH, NOW, append, headers, idempotent, open_log, stored

CONFIG = TopicConfig(segment_bytes=200, index_interval_bytes=50)


class FailingFiles(MemoryFiles):
    """Refuses the operation that counts `left` down to zero, before it does anything."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(28, "No space left on device")

    def open(self, path: str) -> MemoryFile:
        self.count()
        return FailingFile(self, super().open(path).node)

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self.count()
        super().replace(path, data, sync=sync)


class FailingFile(MemoryFile):
    def __init__(self, files: FailingFiles, node: MemoryBytes) -> None:
        super().__init__(node)
        self._files = files

    def append(self, data: Buffer) -> None:
        self._files.count()
        super().append(data)


def test_any_one_failure_refuses_one_append_and_no_more() -> None:
    failures = 0
    for nth in range(1, 40):
        files = FailingFiles()
        log = open_log(files, CONFIG)
        files.left = nth
        for number in range(8):
            data = idempotent(number)
            epoch = LeaderEpoch(number // 3)
            try:
                append_as_leader(log, memoryview(data), leader_epoch=epoch, now=NOW)
            except OSError:
                failures += 1
                again = idempotent(number)
                append_as_leader(log, memoryview(again), leader_epoch=epoch, now=NOW)
        files.left = -1
        expected = stored(log)
        assert [header.base_sequence for header in headers(expected)] == list(range(8))
        assert [start.start_offset for start in log.epochs.starts] == [0, 3, 6]
        for clean in (False, True):
            log.close()
            log = open_log(files, CONFIG, clean=clean)
            assert (stored(log), log.end_offset, log.cuts) == (expected, 8, ())
            assert [start.start_offset for start in log.epochs.starts] == [0, 3, 6]
    assert failures > 20


class WithoutIndexes(MemoryFiles):
    """A disk on which they cannot be read for a while."""

    refuses = False

    def open_read(self, path: str) -> MemoryFile:
        if self.refuses and path.endswith("index"):
            raise OSError(24, "Too many open files")
        return super().open_read(path)


def test_indexes_that_cannot_be_read_refuse_an_append_before_it_is_written() -> None:
    files = WithoutIndexes()
    log = open_log(files)
    for number in range(3):
        append(log, idempotent(number))
    log.close()
    before = stored(log)
    files.refuses = True
    with pytest.raises(OSError, match="Too many open files"):
        append(log, idempotent(3))
    assert (stored(log), log.end_offset) == (before, 3)
    assert files.size(log.segments[0].name) == len(before)
    files.refuses = False
    assert append(log, idempotent(3)).base_offset == 3


def test_a_malformed_marker_is_refused_before_it_is_written() -> None:
    log = open_log()
    append(log, idempotent(0))
    bad = build_batch(
        [Record(b"\0\0\0\1", b"\0")],
        producer_id=ProducerId(9),
        producer_epoch=ProducerEpoch(0),
        is_transactional=True,
        is_control=True,
    )
    with pytest.raises(KafkaError) as caught:
        append_as_leader(
            log, memoryview(bad), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
        )
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert log.end_offset == 1


def test_a_marker_ends_the_transaction() -> None:
    log = open_log()
    data = build_batch(
        [Record(None, b"v", timestamp=NOW)],
        producer_id=ProducerId(9),
        producer_epoch=ProducerEpoch(0),
        base_sequence=0,
        is_transactional=True,
    )
    append(log, data)
    assert log.producers.first_unstable_offset == 0
    marker = build_end_transaction_batch(
        EndTransactionMarker(True, 3),
        producer_id=ProducerId(9),
        producer_epoch=ProducerEpoch(0),
        timestamp=NOW,
    )
    append_as_leader(
        log, memoryview(marker), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
    )
    unstable: Offset | None = log.producers.first_unstable_offset
    assert unstable is None


def test_a_marker_that_holds_megabytes_is_refused_unread() -> None:
    log = open_log()
    large = build_batch(
        [Record(b"\0\0\0\1", bytes(1 << 20))],
        compression=Compression.GZIP,
        producer_id=ProducerId(9),
        producer_epoch=ProducerEpoch(0),
        is_transactional=True,
        is_control=True,
    )
    with pytest.raises(KafkaError, match="decompress to more than 65536 bytes") as caught:
        append_as_leader(
            log, memoryview(large), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
        )
    assert caught.value.code is ErrorCode.INVALID_RECORD
