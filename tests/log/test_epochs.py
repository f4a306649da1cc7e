"""Leader epochs and where they began, in memory and in the file."""

from __future__ import annotations

import pytest

from kafkalite.log.epochs import FILE_NAME, EpochEnd, LeaderEpochs
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.types import LeaderEpoch, Offset


@pytest.fixture
def files() -> MemoryFiles:
    files = MemoryFiles(models_crashes=True)
    files.make_folder("t-0")
    return files


def epochs_of(files: MemoryFiles, *starts: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs.load(files, "t-0")
    for epoch, start in starts:
        epochs.assign(LeaderEpoch(epoch), Offset(start))
    return epochs


def pairs(epochs: LeaderEpochs) -> list[tuple[int, int]]:
    return [(start.epoch, start.start_offset) for start in epochs.starts]


def in_file(files: MemoryFiles) -> str:
    return files.open_read(f"t-0/{FILE_NAME}").read(0, 1000).decode()


def test_each_change_is_in_the_file(files: MemoryFiles) -> None:
    epochs = epochs_of(files)
    assert epochs.latest == -1
    epochs.assign(LeaderEpoch(0), Offset(0))
    epochs.assign(LeaderEpoch(3), Offset(10))
    epochs.assign(LeaderEpoch(3), Offset(15))
    assert in_file(files) == "0\n2\n0 0\n3 10\n"
    again = LeaderEpochs.load(files, "t-0")
    assert again.starts == epochs.starts
    assert again.latest == 3


def test_an_assignment_drops_what_it_contradicts(files: MemoryFiles) -> None:
    epochs = epochs_of(files, (0, 0), (1, 10), (2, 20))
    epochs.assign(LeaderEpoch(4), Offset(10))
    assert pairs(epochs) == [(0, 0), (4, 10)]
    epochs.assign(LeaderEpoch(2), Offset(30))
    assert pairs(epochs) == [(0, 0), (2, 30)]
    epochs.assign(LeaderEpoch(-1), Offset(40))
    assert pairs(epochs) == [(0, 0), (2, 30)]


def test_truncating_from_the_end(files: MemoryFiles) -> None:
    epochs = epochs_of(files, (0, 0), (1, 10), (2, 20))
    epochs.truncate_from_end(Offset(21))
    assert pairs(epochs) == [(0, 0), (1, 10), (2, 20)]
    epochs.truncate_from_end(Offset(10))
    assert pairs(epochs) == [(0, 0)]
    assert epochs.latest == 0
    epochs.truncate_from_end(Offset(0))
    assert epochs.latest == -1
    assert in_file(files) == "0\n0\n"


def test_truncating_from_the_start(files: MemoryFiles) -> None:
    epochs = epochs_of(files, (0, 0), (1, 10), (2, 20))
    epochs.truncate_from_start(Offset(0))
    assert pairs(epochs) == [(0, 0), (1, 10), (2, 20)]
    epochs.truncate_from_start(Offset(15))
    assert pairs(epochs) == [(1, 15), (2, 20)]
    assert in_file(files) == "0\n2\n1 15\n2 20\n"
    epochs.truncate_from_start(Offset(5))
    assert pairs(epochs) == [(1, 15), (2, 20)]


def test_the_end_of_an_epoch(files: MemoryFiles) -> None:
    epochs = epochs_of(files, (2, 5), (4, 10), (7, 20))
    end = Offset(33)

    def end_of(epoch: int) -> EpochEnd | None:
        return epochs.end_of(LeaderEpoch(epoch), end)

    assert end_of(7) == (7, 33)
    assert end_of(4) == (4, 20)
    assert end_of(5) == (4, 20)
    assert end_of(2) == (2, 10)
    assert end_of(1) == (1, 5)
    assert end_of(8) is None
    assert end_of(-1) is None
    assert epochs_of(MemoryFilesWithFolder()).end_of(LeaderEpoch(0), end) is None


class MemoryFilesWithFolder(MemoryFiles):
    def __init__(self) -> None:
        super().__init__()
        self.make_folder("t-0")


def test_the_epoch_of_an_offset(files: MemoryFiles) -> None:
    epochs = epochs_of(files, (2, 5), (4, 10))
    assert [epochs.epoch_at(Offset(offset)) for offset in (4, 5, 9, 10, 99)] == [-1, 2, 2, 4, 4]


TORN = "0\n2\n0 0\n12 1"
"""Where `10` was written."""
HIGH = f"0\n1\n{2**31} 0\n"
"""No request can name it."""
FAR = f"0\n1\n1 {2**63}\n"


@pytest.mark.parametrize(
    "content",
    ["", "\0" * 8, "junk", "0\n2\n1 0\n", "1\n0\n", "0\n1\nx 0\n", "0\n1\n1 x\n", TORN, HIGH, FAR],
)
def test_what_was_not_written_so_tells_nothing_and_is_known_to(
    files: MemoryFiles, content: str
) -> None:
    files.replace(f"t-0/{FILE_NAME}", content.encode())
    epochs = LeaderEpochs.load(files, "t-0")
    assert pairs(epochs) == []
    assert epochs.is_lost


def test_that_there_are_none_is_told(files: MemoryFiles) -> None:
    epochs = LeaderEpochs.load(files, "t-0")
    assert epochs.is_lost
    epochs.become([])
    assert in_file(files) == "0\n0\n"
    assert not LeaderEpochs.load(files, "t-0").is_lost


def test_changes_are_durable_when_saved_with_sync(files: MemoryFiles) -> None:
    files.sync_folder("")
    epochs = epochs_of(files, (0, 0))
    epochs.save(sync=True)
    epochs.assign(LeaderEpoch(1), Offset(9))
    files.crash()
    assert in_file(files) == "0\n1\n0 0\n"


def test_a_change_that_the_disk_refuses_is_none(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs = epochs_of(files, (1, 0), (2, 5))

    def refuse(path: str, data: bytes, *, sync: bool = True) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", refuse)
        with pytest.raises(OSError, match="No space"):
            epochs.assign(LeaderEpoch(3), Offset(9))
        with pytest.raises(OSError, match="No space"):
            epochs.truncate_from_end(Offset(5))
    assert (pairs(epochs), epochs.latest) == ([(1, 0), (2, 5)], 2)
    epochs.assign(LeaderEpoch(3), Offset(9))
    assert in_file(files) == "0\n3\n1 0\n2 5\n3 9\n"
