"""FindCoordinator: whom a group is told to ask, one key or many, and what is no key."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.partitioner import STATE_TOPICS, CoordinatorType, partition_for
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER, OTHER_HOST, two_brokers
from tests.server.running import PORT, Running, served, simulated, start

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_KEY = "group:AAAAAAAAAAAAAAAAAAAAAQ:0"


async def ask(running: Running, version: int, key: str, key_type: int) -> FindCoordinatorResponse:
    request = FindCoordinatorRequest(key=key, key_type=key_type)
    if version >= 4:
        request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    return await (await running.client()).ask(request, version, FindCoordinatorResponse)


KEYS = [(GROUP, "group"), (TRANSACTION, "id"), (SHARE, SHARE_KEY)]
"""A key of each kind."""


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize(("key_type", "key"), KEYS[:2])
@served()
async def test_one_key(running: Running, version: int, key_type: int, key: str) -> None:
    if version == 0 and key_type:
        return  # Version 0 has no field for it.
    response = await ask(running, version, key, key_type)
    assert (response.error_code, response.node_id, response.port) == (0, 1, PORT)
    assert response.host
    assert response.error_message == ("NONE" if version else "")


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
@served()
async def test_many_keys_are_answered_in_order_and_repeats_too(
    running: Running, version: int, key_type: int
) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["b", "", "b", "a"], key_type=key_type)
    response = await (await running.client()).ask(request, version, FindCoordinatorResponse)
    found = [(each.key, each.node_id, each.error_code) for each in response.coordinators]
    assert found == [("b", 1, 0), ("", 1, 0), ("b", 1, 0), ("a", 1, 0)]
    assert {each.error_message for each in response.coordinators} == {""}


@served()
async def test_share_keys_stand_each_for_itself(running: Running) -> None:
    """A share partition has a coordinator, though nothing is shared here."""
    request = FindCoordinatorRequest(coordinator_keys=[SHARE_KEY, "no-colons"], key_type=SHARE)
    for _ in range(2):  # The second time the topic is there.
        response = await (await running.client()).ask(request, 6, FindCoordinatorResponse)
        assert response.coordinators == [
            Coordinator(
                key=SHARE_KEY,
                node_id=1,
                host=response.coordinators[0].host,
                port=PORT,
                error_message="",
            ),
            Coordinator(
                key="no-colons",
                node_id=-1,
                port=-1,
                error_code=ErrorCode.INVALID_REQUEST,
                error_message="",
            ),
        ]


@served()
async def test_no_keys(running: Running) -> None:
    client = await running.client()
    for key_type in (GROUP, TRANSACTION, 9):
        request = FindCoordinatorRequest(key_type=key_type)
        response = await client.ask(request, 4, FindCoordinatorResponse)
        assert response == FindCoordinatorResponse()
    assert not running.broker.image.topics


@pytest.mark.parametrize(
    ("version", "key_type", "key", "text"),
    [
        (3, SHARE, SHARE_KEY, "This most likely occurs because"),
        (5, SHARE, SHARE_KEY, ""),
        (6, SHARE, "no-colons", ""),
        (6, SHARE, "g:no-id:0", ""),
        (6, SHARE, ":AAAAAAAAAAAAAAAAAAAAAQ:0", ""),
        (1, 3, "k", "This most likely occurs because"),
        (6, -1, "k", "This most likely occurs because"),
    ],
)
@served()
async def test_what_is_no_key_has_no_topic_made(
    running: Running, version: int, key_type: int, key: str, text: str
) -> None:
    response = await ask(running, version, key, key_type)
    one = response.coordinators[0] if version >= 4 else response
    assert (one.error_code, one.node_id) == (ErrorCode.INVALID_REQUEST, -1)
    assert (one.host, one.port) == ("", -1)
    assert one.error_message is not None
    assert one.error_message.startswith(text)
    assert bool(one.error_message) == bool(text)
    assert not running.broker.image.topics


@pytest.mark.parametrize(("key_type", "key"), KEYS)
@simulated
async def test_a_topic_that_cannot_be_made_is_waited_for_no_longer_than_a_request(
    simulation: Simulation, key_type: int, key: str
) -> None:
    async with start(simulation, settings={"request.timeout.ms": "2000"}) as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                running.broker._services.controller, "submit", lambda event, on_reply: None
            )
            asked = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
            answer = (await running.client()).send(asked, 6, FindCoordinatorResponse)
            await running.wait_ms(1999)
            assert not answer.done()
            await running.wait_ms(2)
        (one,) = answer.result().coordinators
        assert one.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
@simulated
async def test_the_leader_of_the_keys_partition_is_told(
    simulation: Simulation, key_type: int
) -> None:
    topic = STATE_TOPICS[CoordinatorType(key_type)]
    async with two_brokers(simulation) as (running, other):
        other.create(topic, [1, 2], [2, 1])
        here = next(name for name in map(str, range(9)) if partition_for(name, 2) == 0)
        there = next(name for name in map(str, range(9)) if partition_for(name, 2) == 1)
        response = await ask(running, 6, here, key_type)
        assert response.coordinators[0].node_id == 1
        response = await ask(running, 6, there, key_type)
        assert response.coordinators[0].node_id == OTHER
        assert response.coordinators[0].host == OTHER_HOST
        other.change(topic, 1, isr=[1], leader=-1)
        response = await ask(running, 6, there, key_type)
        assert response.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert response.coordinators[0].error_message == ""
        alone = await ask(running, 3, there, key_type)
        assert alone.error_message == "The coordinator is not available."
