"""Produces of transactions whose coordinator is another broker than the partition's leader."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.metadata.topic_names import TRANSACTION_STATE
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.simulation import Simulation
from tests.server.requests import batch, produce, produced
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers

NOT_ADDED, ADDS = 11, 12
"""Versions of Produce: the client adds partitions itself, or has the first produce add them."""


async def begin(cluster: Cluster) -> tuple[int, int]:
    """The coordinator of the id, and the producer's id."""
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=["id"])
    found = await cluster.ask(1, find, 4, FindCoordinatorResponse)
    coordinator = found.coordinators[0].node_id
    request = InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=60_000)
    answer = await cluster.ask(coordinator, request, 4, InitProducerIdResponse)
    assert answer.error_code == 0, answer
    return coordinator, answer.producer_id


async def write(
    cluster: Cluster, leader: int, producer_id: int, version: int, sequence: int = 0
) -> ErrorCode:
    """Into the partition that this broker leads."""
    records = batch(b"x", producer_id=producer_id, sequence=sequence, is_transactional=True)
    topic = cluster.store.image.topics["t"].id if version > 12 else "t"
    request = produce(topic, {leader - 1: records})
    request.transactional_id = "id"
    response = await cluster.ask(leader, request, version, ProduceResponse)
    return ErrorCode(produced(response)[0].error_code)


@pytest.mark.parametrize(
    ("version", "code"), [(ADDS, ErrorCode.NONE), (NOT_ADDED, ErrorCode.TRANSACTION_ABORTABLE)]
)
@simulated
async def test_the_coordinator_is_asked_wherever_it_is(
    simulation: Simulation, version: int, code: ErrorCode
) -> None:
    async with three_brokers(simulation, transaction_state_log_num_partitions="1") as cluster:
        await cluster.create("t", [1], [2], [3])
        _, producer_id = await begin(cluster)
        assert [await write(cluster, id, producer_id, version) for id in (1, 2, 3)] == [code] * 3


@simulated
async def test_without_a_coordinator_it_is_to_be_tried_again(simulation: Simulation) -> None:
    async with three_brokers(simulation, transaction_state_log_num_partitions="1") as cluster:
        await cluster.create("t", [1], [2], [3])
        coordinator, producer_id = await begin(cluster)
        leader = next(id for id in (1, 2, 3) if id != coordinator)
        third = ({1, 2, 3} - {coordinator, leader}).pop()
        simulation.weather.partition({f"broker-{coordinator}"}, {f"broker-{leader}"})
        assert await write(cluster, leader, producer_id, ADDS) in (
            ErrorCode.NOT_ENOUGH_REPLICAS,
            ErrorCode.REQUEST_TIMED_OUT,
        )
        simulation.weather.heal()
        simulation.network.deliver_held()
        await cluster.kill(coordinator)
        assert cluster.image(TRANSACTION_STATE).leader in (leader, third)
        await cluster.wait_ms(2_000)
        assert await write(cluster, leader, producer_id, ADDS) == ErrorCode.NONE
