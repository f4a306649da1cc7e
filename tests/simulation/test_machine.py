"""What the machine takes for a person's right: to move away records of lost topics."""

from __future__ import annotations

import pytest

from kafkalite.log.checkpoints import format_partition_metadata
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import Uuid
from tests.simulation.machine import Machine
from tests.simulation.scenario import watched
from tests.simulation.world import World

LOST = "lost-0"
LOG = f"{LOST}/{0:020}.log"


async def lose_topic(simulation: Simulation, *, records: bytes, is_synced: bool) -> list[str]:
    """The names on the disk after a loss of power that took the topic of a partition."""
    machine = Machine(World(simulation))
    await machine.start()
    disk = machine.disk
    disk.make_folder(LOST)
    disk.replace(f"{LOST}/partition.metadata", format_partition_metadata(Uuid(b"1" * 16)))
    disk.open(LOG).append(records)
    for folder in ("", LOST):
        disk.sync_folder(folder)
    if is_synced:
        disk.sync_file(LOG)
    machine.lose_power()
    await machine.start()
    names = machine.disk.list("")
    await machine.stop()
    return names


def names_left(seed: int, *, records: bytes, is_synced: bool) -> list[str]:
    names: list[str] = []

    async def scenario(simulation: Simulation) -> None:
        names.extend(await lose_topic(simulation, records=records, is_synced=is_synced))

    run(scenario, seed, limit_ms=100_000)
    return names


def test_records_that_were_synced_are_not_to_be_moved_away() -> None:
    with pytest.raises(ViolationError, match="lost-0 had synced records"):
        names_left(1, records=b"some", is_synced=True)


def test_records_that_are_there_by_luck_may_go() -> None:
    """In some of these the power leaves them, in others there is nothing to move."""
    left = [names_left(seed, records=b"some", is_synced=False) for seed in range(1, 13)]
    assert not any(LOST in names for names in left)
    strays = [any(name.endswith("-stray") for name in names) for names in left]
    assert set(strays) == {True, False}, "nobody has to move an empty one"


def test_nobody_moves_a_partition_without_records() -> None:
    names = names_left(1, records=b"", is_synced=True)
    assert any(name.startswith(LOST) and name.endswith("-stray") for name in names)


def test_a_process_that_fails_while_nobody_looks_fails_the_run() -> None:
    async def scenario(simulation: Simulation) -> None:
        with watched():
            machine = Machine(World(simulation))
            await machine.start()
            machine.process._host.cancel()  # As a task group does, one of whose tasks fails.
            await simulation.sleep(10_000)

    with pytest.raises(ViolationError, match=r"the broker was surprised: .*a task of the broker"):
        run(scenario, seed=1)
