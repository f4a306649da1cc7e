"""InitProducerId: ids that nobody had before, whatever happens to the broker."""

from __future__ import annotations

import asyncio

import pytest

from kafkalite.controller.producer_ids import BLOCK_SIZE
from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import two_brokers
from tests.server.running import Running, crashed, served, simulated, start

LOWEST, HIGHEST = 0, 5


async def ask(
    running: Running, request: InitProducerIdRequest | None = None, version: int = 4
) -> InitProducerIdResponse:
    client = await running.client()
    return await client.ask(
        request or InitProducerIdRequest(transactional_id=None), version, InitProducerIdResponse
    )


async def fresh(running: Running, version: int = 4) -> int:
    response = await ask(running, version=version)
    assert (response.error_code, response.producer_epoch) == (ErrorCode.NONE, 0)
    return response.producer_id


@served()
async def test_each_call_gives_a_fresh_id_at_every_version(running: Running) -> None:
    given = [await fresh(running, version) for version in range(LOWEST, HIGHEST + 1)]
    assert given == list(range(6))


@pytest.mark.parametrize("version", [3, HIGHEST])
@served()
async def test_so_it_does_to_a_producer_that_tells_its_old_id(
    running: Running, version: int
) -> None:
    first = await fresh(running)
    request = InitProducerIdRequest(transactional_id=None, producer_id=first, producer_epoch=3)
    response = await ask(running, request, version)
    assert (response.producer_id, response.producer_epoch) == (first + 1, 0)


@served()
async def test_ids_go_on_over_the_end_of_a_block(running: Running) -> None:
    client = await running.client()
    asked = [
        client.send(InitProducerIdRequest(transactional_id=None), 4, InitProducerIdResponse)
        for _ in range(BLOCK_SIZE + 2)
    ]
    given = [answer.producer_id for answer in await asyncio.gather(*asked)]
    assert given == list(range(BLOCK_SIZE + 2))


@pytest.mark.parametrize("ends_well", [True, False])
@simulated
async def test_no_id_is_given_again_after_a_restart_or_a_crash(
    simulation: Simulation, *, ends_well: bool
) -> None:
    files, given = MemoryFiles(), set[int]()
    for _ in range(3):
        ending = start if ends_well else crashed
        async with ending(simulation, files) as running:
            for _ in range(3):
                id = await fresh(running)
                assert id not in given
                given.add(id)


@pytest.mark.parametrize(
    ("transactional_id", "timeout_ms", "code"),
    [
        ("", 0, ErrorCode.INVALID_REQUEST),
        ("mine", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("mine", -1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("mine", 10, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("mine", 9, ErrorCode.NOT_COORDINATOR),
    ],
)
@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@served(transaction_max_timeout_ms="9")
async def test_transactional_ids_that_are_none_are_refused(
    running: Running, version: int, transactional_id: str, timeout_ms: int, code: ErrorCode
) -> None:
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
    )
    response = await ask(running, request, version)
    assert response.error_code == code
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


@simulated
async def test_a_broker_that_does_not_reach_the_controller_gives_none_yet(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, _):
        response = await ask(running)
        assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert response.producer_id == -1


@served(request_timeout_ms="20000")
async def test_a_block_that_does_not_come_is_not_waited_for_for_ever(running: Running) -> None:
    client = await running.client()
    producer_ids = running.broker._services.producer_ids
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producer_ids, "_ask_block", lambda on_block: None)
        answer = client.send(
            InitProducerIdRequest(transactional_id=None), 4, InitProducerIdResponse
        )
        await running.wait_ms(19_999)
        assert not answer.done()
        await running.wait_ms(2)
    assert answer.result().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
