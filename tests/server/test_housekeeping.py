"""Work that no request waits for, in a broker whose time is the test's."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.produce import ProduceResponse
from tests.server import requests
from tests.server.requests import produce, produced
from tests.server.running import PRODUCE, Running, served


@served(
    producer_id_expiration_ms="1000",
    producer_id_expiration_check_interval_ms="5000",
    connections_max_idle_ms="-1",
)
async def test_producers_that_fell_silent_are_forgotten_again_and_again(running: Running) -> None:
    await running.create("t")
    client = await running.client()

    async def append() -> int:
        """Where the first record of producer 9 stands; a repeated one is not written twice."""
        records = requests.batch(b"x", producer_id=9, sequence=0)
        response = await client.ask(produce("t", {0: records}), PRODUCE, ProduceResponse)
        (answer,) = produced(response)
        assert answer.error_code == ErrorCode.NONE
        return answer.base_offset

    for round in range(3):
        assert await append() == round
        assert await append() == round
        await running.wait_ms(5_001)
