"""Offsets of a group in a transaction, over a whole broker: pending, committed, dropped, and over a
restart."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.testing.simulation import Simulation
from tests.server.group_requests import find
from tests.server.running import Running, crashed, served, simulated, start
from tests.server.transactions import TransactionalProducer, committed_offset

both_versions = pytest.mark.parametrize("bumps", [False, True])


@both_versions
@served()
async def test_offsets_of_a_transaction_count_once_it_commits(
    running: Running, bumps: bool
) -> None:
    await running.create("topic")
    await find(running)
    producer = await TransactionalProducer.begin(running, bumps=bumps)
    for commits, offset, expected in ((True, 5, 5), (False, 9, 5), (True, 7, 7)):
        before, _ = await committed_offset(running)
        if not bumps:
            assert await producer.add_offsets() is ErrorCode.NONE
        assert await producer.commit_offset("topic", offset) is ErrorCode.NONE
        unstable = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        assert await committed_offset(running) == unstable
        assert await committed_offset(running, stable=False) == (before, ErrorCode.NONE)
        assert await producer.end(commits=commits) is ErrorCode.NONE
        assert await committed_offset(running) == (expected, ErrorCode.NONE)


@served()
async def test_offsets_of_a_group_that_was_not_added_are_refused(running: Running) -> None:
    await running.create("topic")
    await find(running)
    producer = await TransactionalProducer.begin(running)
    assert await producer.commit_offset("topic", 5) is ErrorCode.INVALID_TXN_STATE
    assert await producer.commit_offset("topic", 5, version=4) is ErrorCode.TRANSACTION_ABORTABLE
    unknown = await producer.commit_offset("unknown", 5)
    assert unknown is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await producer.commit_offset("topic", 5, version=6) is ErrorCode.NONE
    producer.epoch += 1
    fenced = await producer.commit_offset("topic", 5)
    assert fenced is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("clean", [True, False])
@simulated
async def test_offsets_of_a_transaction_are_pending_over_a_restart(
    simulation: Simulation, clean: bool
) -> None:
    files = MemoryFiles(models_crashes=True)
    first_life = start if clean else crashed
    async with first_life(simulation, files) as running:
        await running.create("topic")
        await find(running)
        producer = await TransactionalProducer.begin(running)
        await producer.add_offsets()
        await producer.commit_offset("topic", 5)
    async with start(simulation, files) as running:
        await running.wait_ms(1)
        assert await committed_offset(running) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        producer.running = running
        assert await producer.end(commits=True) is ErrorCode.NONE
        assert await committed_offset(running) == (5, ErrorCode.NONE)
    async with start(simulation, files) as running:
        await running.wait_ms(1)
        assert await committed_offset(running) == (5, ErrorCode.NONE)
