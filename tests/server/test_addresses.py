"""Where clients are told to find the brokers."""

from __future__ import annotations

import pytest

from kafkalite.config.listeners import ListenerAddress
from kafkalite.metadata.image import Endpoint
from kafkalite.ports.network import Address
from kafkalite.ports.process import host_name
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.server.addresses import registered_endpoint
from kafkalite.server.connection import ClientConnection
from kafkalite.testing.client import Client
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


@simulated
async def test_only_brokers_with_the_clients_listener_are_told(simulation: Simulation) -> None:
    settings = {
        "listeners": "INSIDE://:9092,PLAINTEXT://:9093",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "advertised.listeners": "INSIDE://inside:1,PLAINTEXT://:0",
    }
    async with two_brokers(simulation, settings=settings) as (running, _):
        assert await told(running) == [(1, "inside", 1)]
        node = simulation.network.node("other-client")
        running.clients["plain"] = await Client.connect(node, Address("broker", 9093))
        assert await told(running, "plain") == [(1, "broker", 9093), (2, OTHER_HOST, 9092)]


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_a_wildcard_is_not_registered(wildcard: str) -> None:
    bound = Address(wildcard, 9092)
    endpoint = registered_endpoint(bound, ListenerAddress("IN", "", 0), "PLAINTEXT")
    assert endpoint == Endpoint("IN", host_name(), 9092)
    endpoint = registered_endpoint(bound, ListenerAddress("IN", "told", 7), "SASL_SSL")
    assert endpoint == Endpoint("IN", "told", 7, security_protocol=3)
