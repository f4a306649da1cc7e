"""FindCoordinator: whom a group is told to ask, one key or many, and what has no coordinator."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.partitioner import partition_for
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER, OTHER_HOST, two_brokers
from tests.server.running import PORT, Running, served, simulated

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_KEY = "group:AAAAAAAAAAAAAAAAAAAAAQ:0"


async def ask(running: Running, version: int, key: str, key_type: int) -> FindCoordinatorResponse:
    request = FindCoordinatorRequest(key=key, key_type=key_type)
    if version >= 4:
        request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    return await (await running.client()).ask(request, version, FindCoordinatorResponse)


@pytest.mark.parametrize("version", range(4))
@served()
async def test_one_key(running: Running, version: int) -> None:
    response = await ask(running, version, "group", GROUP)
    assert (response.error_code, response.node_id, response.port) == (0, 1, PORT)
    assert response.host
    assert response.error_message == ("NONE" if version else "")


@pytest.mark.parametrize("version", [4, 5, 6])
@served()
async def test_many_keys_are_answered_in_order_and_repeats_too(
    running: Running, version: int
) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["b", "", "b", "a"])
    response = await (await running.client()).ask(request, version, FindCoordinatorResponse)
    found = [(each.key, each.node_id, each.error_code) for each in response.coordinators]
    assert found == [("b", 1, 0), ("", 1, 0), ("b", 1, 0), ("a", 1, 0)]


@served()
async def test_no_keys(running: Running) -> None:
    client = await running.client()
    for key_type in (GROUP, TRANSACTION, 9):
        request = FindCoordinatorRequest(key_type=key_type)
        response = await client.ask(request, 4, FindCoordinatorResponse)
        assert response == FindCoordinatorResponse()


@pytest.mark.parametrize(
    ("version", "key_type", "key", "code", "text"),
    [
        (1, TRANSACTION, "t", ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not"),
        (6, TRANSACTION, "t", ErrorCode.COORDINATOR_NOT_AVAILABLE, ""),
        (3, SHARE, SHARE_KEY, ErrorCode.INVALID_REQUEST, "This most likely occurs because"),
        (5, SHARE, SHARE_KEY, ErrorCode.INVALID_REQUEST, ""),
        (6, SHARE, SHARE_KEY, ErrorCode.COORDINATOR_NOT_AVAILABLE, ""),
        (6, SHARE, "no-colons", ErrorCode.INVALID_REQUEST, ""),
        (6, SHARE, "g:no-id:0", ErrorCode.INVALID_REQUEST, ""),
        (6, SHARE, "g:AAAAAAAAAAAAAAAAAAAAAQ:x", ErrorCode.INVALID_REQUEST, ""),
        (6, SHARE, ":AAAAAAAAAAAAAAAAAAAAAQ:0", ErrorCode.INVALID_REQUEST, ""),
        (1, 3, "k", ErrorCode.INVALID_REQUEST, "This most likely occurs because"),
        (6, -1, "k", ErrorCode.INVALID_REQUEST, "This most likely occurs because"),
    ],
)
@served()
async def test_what_has_no_coordinator(
    running: Running, version: int, key_type: int, key: str, code: ErrorCode, text: str
) -> None:
    response = await ask(running, version, key, key_type)
    one = response.coordinators[0] if version >= 4 else response
    assert (one.error_code, one.node_id, one.host, one.port) == (code, -1, "", -1)
    assert one.error_message is not None
    assert one.error_message.startswith(text)
    assert bool(one.error_message) == bool(text)


@simulated
async def test_the_leader_of_the_groups_partition_is_told(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("__consumer_offsets", [1, 2], [2, 1])
        here = next(name for name in map(str, range(9)) if partition_for(name, 2) == 0)
        there = next(name for name in map(str, range(9)) if partition_for(name, 2) == 1)
        response = await ask(running, 6, here, GROUP)
        assert response.coordinators[0].node_id == 1
        response = await ask(running, 6, there, GROUP)
        assert response.coordinators[0].node_id == OTHER
        assert response.coordinators[0].host == OTHER_HOST
        other.change("__consumer_offsets", 1, isr=[1], leader=-1)
        response = await ask(running, 6, there, GROUP)
        assert response.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
