"""Copies that are to go slowly, and do."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import ConfigResourceType
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.server.replication_throttles import FETCHING_RATE, SENDING_RATE
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers

REPLICAS = {
    SENDING_RATE: "leader.replication.throttled.replicas",
    FETCHING_RATE: "follower.replication.throttled.replicas",
}


async def limit(cluster: Cluster, rate: str, bytes_a_second: str | None) -> None:
    """For all brokers; None: without end."""
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=ConfigResourceType.BROKER,
                resource_name="",
                configs=[
                    AlterableConfig(
                        name=rate,
                        config_operation=0 if bytes_a_second else 1,
                        value=bytes_a_second,
                    )
                ],
            )
        ]
    )
    response = await (await cluster.client()).ask(request, 1, IncrementalAlterConfigsResponse)
    assert response.responses[0].error_code == ErrorCode.NONE, response


@pytest.mark.parametrize("rate", [SENDING_RATE, FETCHING_RATE])
@pytest.mark.parametrize(
    ("replicas", "is_slow"), [("*", True), ("0:1,0:2", True), ("1:1,1:2", False)]
)
def test_a_replica_that_is_named_catches_up_slowly(rate: str, replicas: str, is_slow: bool) -> None:
    @simulated
    async def test(simulation: Simulation) -> None:
        async with three_brokers(simulation, replica_fetch_max_bytes="100000") as cluster:
            await cluster.create("t", [1, 2], configs={REPLICAS[rate]: replicas})
            await cluster.wrote("t", b"a")
            await limit(cluster, rate, "100000")
            await cluster.kill(2)
            await cluster.wait_until(lambda: cluster.isr("t") == {1})
            for _ in range(20):
                await cluster.wrote("t", bytes(90_000))
            began_ms = simulation.clock.now_ms()
            await cluster.start(2)
            await cluster.wait_until(lambda: cluster.isr("t") == {1, 2})
            took_ms = simulation.clock.now_ms() - began_ms
            if is_slow:
                assert 14_000 < took_ms < 24_000, took_ms
                began_ms = simulation.clock.now_ms()
                await cluster.wrote("t", bytes(90_000))
                assert simulation.clock.now_ms() - began_ms < 1_000, "in sync it is not slowed"
            else:
                assert took_ms < 1_000

    test()


@simulated
async def test_a_limit_that_is_lifted_holds_up_nobody(simulation: Simulation) -> None:
    async with three_brokers(simulation, replica_fetch_max_bytes="100000") as cluster:
        await cluster.create("t", [1, 2], configs={REPLICAS[SENDING_RATE]: "*"})
        await limit(cluster, SENDING_RATE, "1")
        await cluster.kill(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1})
        for _ in range(20):
            await cluster.wrote("t", bytes(90_000))
        await cluster.start(2)
        await cluster.wait_ms(60_000)
        assert cluster.isr("t") == {1}
        await limit(cluster, SENDING_RATE, None)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2}, within_ms=3_000)
