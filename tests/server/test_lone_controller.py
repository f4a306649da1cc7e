"""What a controller alone answers, frame by frame."""

from __future__ import annotations

from struct import pack

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.ports.network import Address
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkalite.server.listener import ServerListener
from kafkalite.server.lone_controller import answer
from kafkalite.server.receive_buffer import BufferPool
from kafkalite.server.request import Session
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated

REQUEST = ApiVersionsRequest(client_software_name="test", client_software_version="1")


async def connected(simulation: Simulation) -> Client:
    listener = ServerListener(
        simulation.network.node("controller"),
        simulation.clock,
        BufferPool(1 << 20, simulation.clock),
        answer,
        new_session=lambda: Session("CONTROLLER", None),
        checks_views=True,
    )
    listener.start("", 9093)
    return await Client.connect(simulation.network.node("client"), Address("controller", 9093))


@pytest.mark.parametrize("version", range(6))
@simulated
async def test_api_versions_lists_itself_alone(simulation: Simulation, version: int) -> None:
    client = await connected(simulation)
    response = await client.ask(REQUEST, version, ApiVersionsResponse)
    assert response.error_code == ErrorCode.NONE
    assert [(each.api_key, each.max_version) for each in response.api_keys] == [(18, 5)]
    client.close()


@simulated
async def test_a_newer_client_is_told_how_to_ask(simulation: Simulation) -> None:
    client = await connected(simulation)
    header = pack(">hhihx", 18, 99, 0, -1)
    answer = client.expect(18, 0, ApiVersionsResponse)
    client.send_bytes(pack(">i", len(header)) + header)
    response = await answer
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.max_version) for each in response.api_keys] == [(18, 5)]
    client.close()


@simulated
async def test_a_request_that_is_cut_off_closes_the_connection(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    client = await connected(simulation)
    header = pack(">hhihxB", 18, 3, 0, -1, 9)  # A name of eight bytes, and then nothing.
    client.send_bytes(pack(">i", len(header)) + header)
    await client.wait_closed()
    assert "ApiVersionsRequest.client_software_name: a length of 8" in caplog.text


@simulated
async def test_all_else_closes_the_connection(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    client = await connected(simulation)
    with pytest.raises(ConnectionError):
        await client.ask(DescribeClusterRequest(), 1, DescribeClusterResponse)
    assert "DESCRIBE_CLUSTER is not served by a controller alone" in caplog.text
