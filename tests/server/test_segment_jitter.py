"""Segments of a topic with `segment.jitter.ms` do not all roll at once, nor as in the last run."""

from __future__ import annotations

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.testing.simulation import Simulation
from tests.server.running import Running, simulated, start

JITTER_MS = 100_000


def jitters(running: Running) -> list[int]:
    return [running.partition("t", index).log.segments[-1].jitter_ms for index in range(10)]


@simulated
async def test_each_has_a_time_of_its_own(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t", 10, configs={"segment.jitter.ms": str(JITTER_MS)})
        await running.create("u")
        first = jitters(running)
        assert len(set(first)) > 5
        assert all(0 <= jitter < JITTER_MS for jitter in first)
        assert running.partition("u").log.segments[-1].jitter_ms == 0
    async with start(simulation, files) as running:
        assert jitters(running) != first
