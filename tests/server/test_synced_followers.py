"""With `flush.messages` a follower asks for more once what it has is on its disk, which is how its
leader learns that it is: all in sync have on the disk what was acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import pytest

from kafkalite.log.log_sync import LogSync
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, cluster_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
LEADER, FOLLOWER = 1, 2


def ends(cluster: Cluster) -> tuple[int, int, int]:
    """What the follower has, what of that is on its disk, and what is committed."""
    log = cluster.partition(FOLLOWER, "t").log
    return (
        log.end_offset,
        log.recovery_point,
        cluster.partition(LEADER, "t").leading.high_watermark,
    )


def hold_syncs(patch: pytest.MonkeyPatch, cluster: Cluster) -> asyncio.Event:
    """Those of the follower, until that is set."""
    go_on = asyncio.Event()
    run = InlineWorkers.run

    async def wait(workers: InlineWorkers, function: Callable[[*Ts], T], *args: *Ts) -> T:
        sync = getattr(function, "__self__", None)
        if isinstance(sync, LogSync) and sync.files is cluster.files[FOLLOWER]:
            await go_on.wait()
        return await run(workers, function, *args)

    patch.setattr(InlineWorkers, "run", wait)
    return go_on


@simulated
async def test_what_is_acknowledged_is_on_the_disks_of_all_in_sync(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster_of(simulation, LEADER, FOLLOWER, kafkalite_fsync="true") as cluster:
        await cluster.create("t", [LEADER, FOLLOWER])
        assert await cluster.wrote("t", b"a") == 0
        await cluster.replicated("t", FOLLOWER)
        go_on = hold_syncs(monkeypatch, cluster)
        writing = asyncio.ensure_future(cluster.wrote("t", b"b"))
        await cluster.wait_ms(1_000)
        assert ends(cluster) == (2, 1, 1)
        assert not writing.done()
        go_on.set()
        assert await writing == 1
        assert ends(cluster) == (2, 2, 2)
        whole = cluster.log_files(LEADER, "t")[f"{0:020d}.log"]
        await cluster.lose_power(FOLLOWER)
        assert cluster.log_files(FOLLOWER, "t")[f"{0:020d}.log"] == whole


@simulated
async def test_what_was_written_before_it_was_asked_for_holds_nobody_up(
    simulation: Simulation,
) -> None:
    """Who follows a new leader has nothing appended that would ask for the sync."""
    async with cluster_of(simulation, 3, LEADER, FOLLOWER) as cluster:
        await cluster.create("t", [3, LEADER, FOLLOWER])
        assert await cluster.wrote("t", b"a") == 0
        await cluster.replicated("t", LEADER, FOLLOWER)
        await set_topic(cluster, "t", "flush.messages", "1")
        await cluster.kill(3)
        await cluster.wait_until(lambda: cluster.leader("t") == LEADER)
        await cluster.wait_ms(1_000)
        assert ends(cluster)[:2] == (1, 1)
        assert await cluster.wrote("t", b"b") == 1
        assert ends(cluster) == (2, 2, 2)
        assert cluster.isr("t") == {LEADER, FOLLOWER}


async def set_topic(cluster: Cluster, topic: str, key: str, value: str) -> None:
    resource = AlterConfigsResource(
        resource_type=2,
        resource_name=topic,
        configs=[AlterableConfig(name=key, value=value)],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = await cluster.ask(LEADER, request, 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0
    await cluster.wait_ms(10)
