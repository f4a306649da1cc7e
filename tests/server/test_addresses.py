"""Where clients are told to find the brokers."""

from __future__ import annotations

import pytest

from kafkalite.ports.network import Address
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.server.connection import ClientConnection
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER_HOST, two_brokers
from tests.server.running import Running, served, simulated


async def told(running: Running, client: str = "client") -> list[tuple[int, str, int]]:
    """Id, host and port of each broker."""
    request = MetadataRequest(topics=[])
    response = await (await running.client(client)).ask(request, 9, MetadataResponse)
    return [(broker.node_id, broker.host, broker.port) for broker in response.brokers]


@pytest.mark.parametrize(
    ("reached", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
@served()
async def test_a_client_is_told_the_address_that_it_reached_this_broker_at(
    running: Running, reached: str, host: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientConnection, "local", Address(reached, 1234))
        assert await told(running) == [(1, host, 1234)]


@simulated
async def test_other_brokers_are_told_as_they_registered(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, _):
        assert await told(running) == [(1, "broker", 9092), (2, OTHER_HOST, 9092)]


@simulated
async def test_a_broker_that_left_is_told_no_more(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.leave()
        assert [id for id, _, _ in await told(running)] == [1]
