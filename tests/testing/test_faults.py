"""The faults of one process: a clock that is set, a disk that refuses, a death at any step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.testing.clock import START_MS
from kafkalite.testing.faults import ProcessClock, ProcessFiles, Weather
from kafkalite.testing.simulation import Simulation, run

CHANGES: dict[str, Callable[[ProcessFiles], object]] = {
    "open anew": lambda files: files.open("new"),
    "make a folder": lambda files: files.make_folder("new"),
    "replace": lambda files: files.replace("a", b"xyz"),
    "rename": lambda files: files.rename("a", "b"),
    "remove": lambda files: files.remove("a"),
    "remove a folder": lambda files: files.remove_folder("folder"),
    "sync a file": lambda files: files.sync_file("a"),
    "sync a folder": lambda files: files.sync_folder(""),
    "append": lambda files: files.open("a").append(b"xyz"),
    "write": lambda files: files.open("a").write_at(0, b"x"),
    "truncate": lambda files: files.open("a").truncate(1),
    "sync": lambda files: files.open("a").sync(),
}
LOOKS: dict[str, Callable[[ProcessFiles], object]] = {
    "open": lambda files: files.open("a"),
    "open to read": lambda files: files.open_read("a"),
    "exists": lambda files: files.exists("a"),
    "size": lambda files: files.size("a"),
    "list": lambda files: files.list(""),
    "space": lambda files: files.space(),
    "read": lambda files: files.open("a").read(0, 3),
    "slice": lambda files: files.open("a").slice(0, 3),
    "lock": lambda files: files.lock(".lock"),
}


class Disk:
    """With a file and a folder on it, and a process that uses it."""

    def __init__(self) -> None:
        self.disk = MemoryFiles(models_crashes=True)
        self.deaths = 0
        self.disk.replace("a", b"abc")
        self.disk.make_folder("folder")
        self.files = self.process()

    def process(self) -> ProcessFiles:
        return ProcessFiles(self.disk, SeededEntropy(1), on_death=self.died)

    def died(self) -> None:
        self.deaths += 1

    def content(self) -> tuple[list[str], bytes]:
        file = self.disk.open_read("a")
        return self.disk.list(""), file.read(0, file.size)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_a_disk_refuses_has_not_happened(change: Callable[[ProcessFiles], object]) -> None:
    disk = Disk()
    before = disk.content()
    disk.files.refusal_probability = 1.0
    with pytest.raises(OSError, match="the disk refuses"):
        change(disk.files)
    assert disk.content() == before
    disk.files.refusal_probability = 0.0
    change(disk.files)


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_a_disk_that_refuses_changes_can_be_read(look: Callable[[ProcessFiles], object]) -> None:
    disk = Disk()
    disk.files.refusal_probability = 1.0
    look(disk.files)


@pytest.mark.parametrize("do", [*CHANGES.values(), *LOOKS.values()], ids=[*CHANGES, *LOOKS])
def test_the_dead_see_nothing_and_change_nothing(do: Callable[[ProcessFiles], object]) -> None:
    disk = Disk()
    before = disk.content()
    disk.files.die()
    with pytest.raises(OSError, match="the process is dead"):
        do(disk.files)
    assert disk.content() == before
    assert disk.deaths == 0, "whoever killed it knows"


def test_a_process_dies_at_the_change_that_was_chosen() -> None:
    disk = Disk()
    disk.files.die_within(3)
    disk.files.replace("b", b"")
    disk.files.sync_folder("")
    with pytest.raises(OSError, match="the process is dead"):
        disk.files.replace("c", b"")
    assert disk.deaths == 1
    assert disk.disk.list("") == ["a", "b", "folder"]


def test_a_death_within_an_append_leaves_a_part_of_it() -> None:
    left = set()
    for seed in range(40):
        disk = Disk()
        files = ProcessFiles(disk.disk, SeededEntropy(seed), on_death=disk.died)
        file = files.open("a")
        files.die_within(1)
        with pytest.raises(OSError, match="the process is dead"):
            file.append(b"123")
        left.add(disk.content()[1])
    assert left == {b"abc", b"abc1", b"abc12", b"abc123"}


def test_a_file_of_the_dead_stays_closed_to_them_and_open_to_others() -> None:
    disk = Disk()
    file = disk.files.open("a")
    file.append(b"d")
    disk.files.die()
    with pytest.raises(OSError, match="the process is dead"):
        file.append(b"e")
    file.close()
    disk.process().open("a").append(b"f")
    assert disk.content()[1] == b"abcdf"


def test_the_locks_of_the_dead_are_free() -> None:
    disk = Disk()
    disk.files.lock(".lock")
    with pytest.raises(BlockingIOError):
        disk.process().lock(".lock")
    disk.files.die()
    disk.process().lock(".lock").release()


def test_what_a_silent_node_sends_resets_the_connection() -> None:
    weather = Weather(SeededEntropy(1))
    weather.silent.add("broker")
    assert weather.delay_ms("broker", "client") is None
    assert weather.delay_ms("client", "broker") == 0


def test_a_clock_that_is_set_changes_the_time_and_no_wait() -> None:
    async def main(simulation: Simulation) -> None:
        clock = ProcessClock(simulation.clock)
        fired: list[int] = []
        clock.call_at(clock.now_ms() + 100, lambda: fired.append(clock.now_ms()))
        clock.jump(-10_000)
        clock.call_at(clock.now_ms() + 50, lambda: fired.append(clock.now_ms()))
        await simulation.sleep(200)
        assert fired == [START_MS - 10_000 + 50, START_MS - 10_000 + 100]
        clock.jump(1_000_000)
        assert clock.now_ms() == simulation.clock.now_ms() + 990_000

    run(main, seed=1)


def test_nothing_fires_for_the_dead() -> None:
    async def main(simulation: Simulation) -> None:
        clock = ProcessClock(simulation.clock)
        clock.call_at(clock.now_ms(), lambda: pytest.fail("soon"))
        clock.call_at(clock.now_ms() + 100, lambda: pytest.fail("later"))
        clock.die()
        await simulation.sleep(200)

    run(main, seed=1)
