"""Leader epochs whose file a loss of power, or a person, took: the batches tell them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.epochs import FILE_NAME, EpochStart, LeaderEpochs
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.found_epochs import FoundEpochs
from kafkalite.log.memory_bytes import MemoryBytes
from kafkalite.types import LeaderEpoch, Offset
from tests.log.crash_ends import keep_names
from tests.log.log_fixtures import FOLDER, append, batch, open_log

SIZE = len(batch())
CONFIG = TopicConfig(segment_bytes=4 * SIZE, retention_ms=-1)
COMPACTED = CONFIG._replace(cleanup_policy=("compact",))
PATH = f"{FOLDER}/{FILE_NAME}"
EPOCHS = (0, 0, 0, 2, 2, 2, 2, 2, 3, 5, 5, 5)
"""Of each record. Epoch 2 begins amid a segment, 3 with one, 5 is in the active one alone."""
STARTS = ((0, 0), (2, 3), (3, 8), (5, 9))


class CountingFiles(MemoryFiles):
    """Knows how much was read of records."""

    def __init__(self) -> None:
        super().__init__(models_crashes=True)
        self.bytes_read = 0

    def open(self, path: str) -> MemoryFile:
        return _Counting(self, super().open(path).node)


class _Counting(MemoryFile):
    __slots__ = ("_files",)

    def __init__(self, files: CountingFiles, node: MemoryBytes) -> None:
        super().__init__(node)
        self._files = files

    def read(self, position: int, size: int) -> bytes:
        found = super().read(position, size)
        self._files.bytes_read += len(found)
        return found


opened = partial(open_log, config=CONFIG)


def stopped(files: MemoryFiles, epochs: tuple[int, ...] = EPOCHS) -> bytes:
    """A log of these, synced and closed: what the file has."""
    log = opened(files)
    for epoch in epochs:
        append(log, batch(), epoch=LeaderEpoch(epoch))
    log.close()
    log.sync()
    files.sync_folder("")
    return content(files)


def content(files: MemoryFiles) -> bytes:
    return files.open_read(PATH).read(0, 1000)


def parts(data: bytes) -> Iterator[bytes]:
    """What a loss of power may leave of it."""
    for size in range(len(data)):
        yield data[:size]
        yield data[:size] + bytes(len(data) - size)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_of_a_torn_file_no_epoch_is_lost(clean: bool) -> None:
    files = MemoryFiles()
    whole = stopped(files)
    for left in parts(whole):
        files.replace(PATH, left)
        assert opened(files, clean=clean, recovery_point=len(EPOCHS)).epochs.starts == STARTS
        assert content(files) == whole
    files.remove(PATH)
    assert opened(files, clean=clean, recovery_point=len(EPOCHS)).epochs.starts == STARTS
    assert content(files) == whole


def test_a_new_leaders_epoch_costs_no_older_one_when_the_power_goes() -> None:
    """The file has its name, and not its bytes: nobody waits for them when a leader begins."""
    files = MemoryFiles(models_crashes=True)
    stopped(files)
    log = opened(files, recovery_point=len(EPOCHS))
    log.begin_epoch(LeaderEpoch(8))
    keep_names(files, "")
    files.crash()
    assert content(files) == b""
    log = opened(files, clean=False, recovery_point=len(EPOCHS))
    assert log.epochs.starts == STARTS
    assert log.epochs.end_of(LeaderEpoch(2), log.end_offset) == (2, 8)


def test_what_was_found_is_synced_with_the_log() -> None:
    files = MemoryFiles(models_crashes=True)
    whole = stopped(files)
    files.replace(PATH, b"")
    opened(files, recovery_point=len(EPOCHS)).sync()
    files.crash()
    assert content(files) == whole


def test_that_a_log_has_none_is_told_from_a_file_that_lost_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Batches of before there were epochs are not read for them at each start."""
    files = MemoryFiles()
    none = stopped(files, (-1,) * 9)
    assert none == b"0\n0\n"
    opened(files)
    assert caplog.messages == []
    files.replace(PATH, b"")
    for _ in range(2):
        assert opened(files).epochs.starts == ()
        assert content(files) == none
    assert caplog.messages == [f"{PATH} told of no leader epochs: all batches do"]


def test_of_a_segment_in_which_none_begins_a_header_is_read() -> None:
    """A log of a hundred gigabytes is not to be read for them."""
    files = CountingFiles()
    stopped(files, (1,) * 400)
    files.bytes_read = 0
    opened(files, recovery_point=400)
    whole = files.bytes_read
    files.remove(PATH)
    files.bytes_read = 0
    assert opened(files, recovery_point=400).epochs.starts == ((1, 0),)
    segments = 400 // 4
    # All of the first one, which nothing is before, and of the last one, which nothing is behind.
    assert files.bytes_read - whole <= 2 * segments * 61 + 2 * CONFIG.segment_bytes


def test_what_is_damaged_hides_no_more_than_what_stands_behind_it_in_its_segment() -> None:
    files = MemoryFiles()
    stopped(files)
    files.remove(PATH)
    files.open(f"{FOLDER}/{0:020d}.log").write_at(2 * SIZE + 16, b"\1")  # No magic that is.
    assert opened(files, recovery_point=len(EPOCHS)).epochs.starts == ((0, 0), (2, 2), *STARTS[2:])


def test_what_an_older_file_lacks_is_found_where_a_damaged_end_is_recovered() -> None:
    """After a clean stop, too."""
    files = MemoryFiles()
    stopped(files)
    files.replace(PATH, b"0\n2\n0 0\n2 3\n")
    files.open(f"{FOLDER}/{8:020d}.log").truncate(4 * SIZE - 1)
    log = opened(files, recovery_point=len(EPOCHS))
    assert log.end_offset == len(EPOCHS) - 1
    assert log.epochs.starts == STARTS


def test_an_epoch_that_does_not_ascend_begins_nowhere() -> None:
    files = MemoryFiles()
    stopped(files)
    files.remove(PATH)
    older = files.open(f"{FOLDER}/{4:020d}.log")
    older.write_at(2 * SIZE + 12, bytes(4))  # Its leader epoch, which no CRC covers.
    assert opened(files, recovery_point=len(EPOCHS)).epochs.starts == STARTS


def test_an_epoch_without_a_batch_is_forgotten() -> None:
    """As in Kafka: whoever leads next begins one of its own there."""
    files = MemoryFiles()
    whole = stopped(files)
    log = opened(files, recovery_point=len(EPOCHS))
    log.begin_epoch(LeaderEpoch(8))
    log.close()
    assert content(files) != whole
    assert opened(files, recovery_point=len(EPOCHS)).epochs.starts == STARTS
    assert content(files) == whole


@pytest.mark.parametrize("recovery_point", [0, 4, 9], ids=str)
@pytest.mark.parametrize("taken", [{3}, {8}, {9}, {6, 7}, {2, 3, 4}, {4, 5, 6, 7, 8}], ids=str)
def test_after_a_crash_epochs_of_a_compacted_log_begin_as_early_as_they_can_have(
    taken: set[int], recovery_point: int
) -> None:
    """Where a batch before them ends, of which another segment may be the last."""
    files = MemoryFiles()
    stopped(files)
    expected: dict[int, int] = {}
    end = 0
    for base in (0, 4, 8):
        path = f"{FOLDER}/{base:020d}.log"
        data = files.open_read(path).read(0, 4 * SIZE)
        kept = [offset for offset in range(base, base + 4) if offset not in taken]
        parts = [data[(offset - base) * SIZE :][:SIZE] for offset in kept]
        files.replace(path, b"".join(parts))
        for offset in kept:
            expected.setdefault(EPOCHS[offset], end)
            end = offset + 1
    files.remove(PATH)
    log = opened(files, clean=False, recovery_point=recovery_point, config=COMPACTED)
    assert log.epochs.starts == tuple(expected.items())


def test_a_file_that_is_whole_is_right_below_what_a_crash_leaves_open_and_there_alone() -> None:
    """An epoch of which nobody wrote comes back, if the power goes before the file knows that it
    went: what was appended meanwhile is another one's."""
    files = MemoryFiles()
    stopped(files, EPOCHS[:8])
    files.replace(PATH, b"0\n3\n0 1\n2 3\n7 5\n")
    log = opened(files, clean=False, recovery_point=4)
    assert log.epochs.starts == ((0, 1), (2, 3))


@pytest.mark.parametrize(
    ("told", "start"),
    [(None, 4), (3, 4), (4, 4), (6, 6), (9, 9), (10, 4)],
    ids=str,
)
def test_where_compaction_took_the_first_batches_an_epoch_begins_where_the_file_says_or_earlier(
    told: int | None, start: int
) -> None:
    """Never later: a follower would keep what its leader never had."""
    epochs = LeaderEpochs(MemoryFiles(), FOLDER, is_kept=False)
    known = [EpochStart(LeaderEpoch(1), Offset(0))]
    if told is not None:
        known.append(EpochStart(LeaderEpoch(2), Offset(told)))
    epochs.become(known)
    found = FoundEpochs(epochs, Offset(0))
    found.begins(LeaderEpoch(1), Offset(0), Offset(0))
    found.begins(LeaderEpoch(2), Offset(4), Offset(9))
    assert found.starts == [(1, 0), (2, start)]
    assert all(before.start_offset < after.start_offset for before, after in pairwise(found.starts))
