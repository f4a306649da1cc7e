"""Batches that are sent again after a restart are known, though a snapshot has the last alone."""

from __future__ import annotations

from contextlib import suppress

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import KafkaError
from kafkalite.log import recalled_batches
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.batch import MAGIC_POSITION, BatchHeader, read_header
from kafkalite.types import ProducerId
from tests.log.log_fixtures import NOW, append, batch, idempotent, open_log

SMALL = TopicConfig(index_interval_bytes=100)


def filled(rolls_at: int, *, count: int = 8) -> tuple[MemoryFiles, PartitionLog]:
    files = MemoryFiles()
    log = open_log(files, SMALL)
    for sequence in range(count):
        if sequence == rolls_at:
            log.roll(NOW)
        append(log, idempotent(sequence))
        append(log, idempotent(sequence, producer=7, epoch=1))
        append(log, batch())
    return files, log


def known(log: PartitionLog, count: int = 8, producer: int = 9, epoch: int = 0) -> list[int]:
    """The sequences that are known for what was sent before."""
    found = []
    for sequence in range(count):
        with suppress(KafkaError):
            appended = append(log, idempotent(sequence, producer=producer, epoch=epoch))
            assert appended.is_duplicate
            assert appended.base_offset == 3 * sequence + (0 if producer == 9 else 1)
            found.append(sequence)
    return found


@pytest.mark.parametrize("rolls_at", range(9))
@pytest.mark.parametrize("clean", [True, False])
def test_the_last_five_are_known_after_a_stop_and_after_a_kill(rolls_at: int, clean: bool) -> None:
    files, log = filled(rolls_at)
    if clean:
        log.close()
    for _ in range(2):
        log = open_log(files, SMALL, clean=clean)
        assert known(log) == known(log, producer=7, epoch=1) == [3, 4, 5, 6, 7]


def test_those_of_another_epoch_are_not() -> None:
    files, log = filled(5, count=5)
    append(log, idempotent(0, epoch=1))
    log.roll(NOW)
    append(log, idempotent(1, epoch=1))
    log = open_log(files, SMALL, clean=False)
    state = log.producers.get(ProducerId(9))
    assert state is not None
    assert [each.last_sequence for each in state.batches] == [0, 1]


def test_those_behind_a_gap_are_not() -> None:
    """Retention took what was between: what came before may be of another life."""
    files, log = filled(0, count=2)
    log.producers.restore([], NOW)
    append(log, idempotent(5))
    log.close()
    state = open_log(files, SMALL).producers.get(ProducerId(9))
    assert state is not None
    assert [each.last_sequence for each in state.batches] == [5]


def test_no_more_is_read_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    files, log = filled(0, count=100)
    log.close()
    read = []

    def counting(buffer: bytes, position: int) -> BatchHeader:
        read.append(position)
        return read_header(buffer, position)

    monkeypatch.setattr(recalled_batches, "read_header", counting)
    assert known(open_log(files, SMALL), 100) == [95, 96, 97, 98, 99]
    assert len(read) < 80


def test_what_is_damaged_is_not_known_and_harms_nothing() -> None:
    files, log = filled(8)
    (segment,) = log.segments
    amid = segment.find(10)
    assert amid is not None
    log.close()
    file = files.open(segment.name)
    file.write_at(amid.position + MAGIC_POSITION, b"\x09")
    assert known(open_log(files, SMALL)) == [7]
