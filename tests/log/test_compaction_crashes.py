"""A process that dies, or a power cut, between any two file operations of a cleaning: what is there
afterwards is the old or the new, group by group, and a reader sees the same either way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import count

import pytest

from kafkalite.log.files import Buffer
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.memory_bytes import MemoryBytes
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import Offset
from tests.log.compaction_fixtures import CONFIG, LATER, World, cleaning, run, stored_records
from tests.log.crash_ends import End, every_end
from tests.log.log_fixtures import FOLDER, open_log

SMALL = CONFIG._replace(segment_bytes=330, delete_retention_ms=0)

Content = dict[int, bytes]
"""Of each segment, by its base offset."""


class Died(BaseException):
    """The process is gone; nothing catches that."""


class DyingFiles(MemoryFiles):
    """Lets so many operations happen, and none after them."""

    def __init__(self) -> None:
        super().__init__(models_crashes=True)
        self.left: int | None = None
        """None: as many as there are."""

    def let(self, operations: int) -> None:
        """So many more."""
        self.left = operations

    def count(self) -> None:
        if self.left is not None:
            if not self.left:
                raise Died
            self.left -= 1

    def open(self, path: str) -> MemoryFile:
        self.count()
        return DyingFile(self, super().open(path).node)

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self.count()
        super().replace(path, data, sync=sync)

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        self.count()
        super().rename(source, target, sync=sync)

    def remove(self, path: str) -> None:
        self.count()
        super().remove(path)

    def sync_file(self, path: str) -> None:
        self.count()
        super().sync_file(path)

    def sync_folder(self, path: str) -> None:
        self.count()
        super().sync_folder(path)


class DyingFile(MemoryFile):
    def __init__(self, files: DyingFiles, node: MemoryBytes) -> None:
        super().__init__(node)
        self._files = files

    def append(self, data: Buffer) -> None:
        self._files.count()
        super().append(data)

    def truncate(self, size: int) -> None:
        self._files.count()
        super().truncate(size)


class Case:
    """A log of many small segments, of which several become one."""

    def __init__(self) -> None:
        self.files = DyingFiles()
        world = World(SMALL, self.files)
        for number in range(12):
            world.write((f"k{number % 6}", "v" * 40), (f"x{number}", None if number % 2 else "x"))
        for number in range(12):
            world.write((f"k{number % 6}", f"{number}"), (f"x{number}", None))
        world.roll()
        world.write(("active", "1"))
        world.log.configure(SMALL._replace(segment_bytes=1000))
        self.log = world.log
        self.log.sync()
        self.files.sync_folder("")
        self.segments = [segment.base_offset for segment in self.log.segments]

    def clean(self) -> None:
        run(cleaning(self.files, self.log, LATER))


def contents(log: PartitionLog) -> Content:
    return {segment.base_offset: segment.file.read(0, segment.size) for segment in log.segments}


def seen(log: PartitionLog) -> dict[bytes | None, tuple[int, bytes | None]]:
    """Of each key its last record; a key that was deleted is not there."""
    latest: dict[bytes | None, tuple[int, bytes | None]] = {}
    for offset, key, value, _ in stored_records(log):
        latest[key] = (offset, value)
    return {key: record for key, record in latest.items() if record[1] is not None}


@pytest.fixture(scope="module")
def old() -> Content:
    return contents(Case().log)


@pytest.fixture(scope="module")
def new() -> Content:
    case = Case()
    case.clean()
    return contents(case.log)


def judge(found: Content, old: Content, new: Content) -> None:
    """Each group is as it was or as it becomes; but behind the end of a new segment the last of
    those that it replaces may be left."""
    starts = sorted(new)
    for at, start in enumerate(starts):
        end = starts[at + 1] if at + 1 < len(starts) else max(old) + 1
        before = {base: data for base, data in old.items() if start <= base < end}
        now = {base: data for base, data in found.items() if start <= base < end}
        if now == before:
            continue
        assert now[start] == new[start]
        left = sorted(base for base in now if base != start)
        assert left == sorted(before)[len(before) - len(left) :]
        assert all(now[base] == before[base] for base in left)


def crash(case: Case, nth: int, action: Callable[[], None]) -> bool:
    """Die at the n-th operation of `action`; False when it needed fewer."""
    case.files.left = nth
    try:
        action()
    except Died:
        return True
    finally:
        case.files.left = None
    return False


@every_end
@pytest.mark.parametrize("clean", [True, False], ids=["trusting", "scanning"])
def test_a_crash_at_any_point_leaves_old_or_new(
    end: End, clean: bool, old: Content, new: Content
) -> None:
    expected = seen(Case().log)
    assert 3 <= len(new) < len(old)
    kinds = set()
    for nth in range(500):
        case = Case()
        died = crash(case, nth, case.clean)
        end.come(case.files)
        log = open_log(case.files, SMALL, clean=clean)
        found = contents(log)
        judge(found, old, new)
        assert seen(log) == expected
        assert log.end_offset == case.log.end_offset
        assert log.cuts == ()
        names = case.files.list(FOLDER)
        assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
        kinds.add("old" if found == old else "new" if found == new else "between")
        if not died:
            break
    else:
        pytest.fail("it never came to an end")
    assert 60 < nth < 499
    assert kinds == {"old", "new", "between"}


@cache
def amid_swaps() -> list[bytes]:
    """Disks that deaths amid the first swap leave, to be had again and again."""
    found: list[bytes] = []
    for nth in count():
        case = Case()
        assert crash(case, nth, case.clean)
        if any(name.endswith(".swap") for name in case.files.list(FOLDER)):
            found.append(pickle.dumps(case.files))
        elif found:
            break
    return found


@every_end
def test_a_crash_at_any_point_of_a_recovery_is_recovered_from(
    end: End, old: Content, new: Content
) -> None:
    expected = seen(Case().log)
    known = set()
    for swap in amid_swaps():
        for nth in count():
            files: DyingFiles = pickle.loads(swap)
            files.let(nth)
            with suppress(Died):
                open_log(files, SMALL, clean=True)
            died = files.left == 0
            files.left = None
            end.come(files)
            left = pickle.dumps(files)
            if left not in known:
                known.add(left)
                log = open_log(files, SMALL, clean=end.kept is None)
                judge(contents(log), old, new)
                assert seen(log) == expected
            if not died:
                break
        assert nth > 2
    assert len(amid_swaps()) > 10
    assert len(known) > 2


class RefusingFiles(DyingFiles):
    """As a disk that refuses one operation, and takes the next."""

    def count(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise OSError(5, "Input/output error")


def test_after_any_one_refusal_the_log_goes_on_as_it_was(
    old: Content, new: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.DyingFiles", RefusingFiles)
    expected = seen(Case().log)
    for nth in range(500):
        case = Case()
        case.files.let(nth)
        with suppress(OSError):  # Snapshots that are not needed may stay.
            case.clean()
        if case.files.left is not None:
            break
        judge(contents(case.log), old, new)
        assert not [name for name in case.files.list(FOLDER) if name.endswith(".swap")]
        assert seen(case.log) == expected
        case.clean()
        assert seen(case.log) == expected
        assert case.log.size_bytes <= sum(map(len, new.values()))
        log = open_log(case.files, SMALL, clean=False)
        assert contents(log) == contents(case.log)
    assert 60 < nth < 499


def test_a_swap_beside_a_cleaned_file_of_a_lower_offset_is_none() -> None:
    """A split of a segment, as Kafka makes it, may leave that."""
    world = World()
    for key in ("a", "b", "c"):
        world.write((key, "1"))
        world.roll()
    before = contents(world.log)
    files = world.files
    files.replace(f"{FOLDER}/{1:020d}.log.cleaned", before[1])
    files.replace(f"{FOLDER}/{2:020d}.log.swap", b"")
    log = open_log(files, CONFIG)
    assert contents(log) == before
    files.replace(f"{FOLDER}/{2:020d}.log.cleaned", b"")
    files.replace(f"{FOLDER}/{1:020d}.log.swap", before[0])
    log = open_log(files, CONFIG)
    assert [data for _, data in sorted(contents(log).items())][1] == before[0]
    assert log.end_offset == Offset(3)
