"""The client of a few lines, where who answers is no broker."""

from __future__ import annotations

import gc

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.ports.network import Address, Link
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation, run


class Alerting:
    """Answers whatever it is sent with an alert of TLS."""

    def __init__(self) -> None:
        self.is_over = False
        self._link: Link | None = None
        self._space = memoryview(bytearray(1024))

    def opened(self, link: Link) -> None:
        self._link = link

    def space(self) -> memoryview:
        return self._space

    def filled(self, size: int) -> None:
        assert self._link is not None
        self._link.write([b"\x15\x03\x03\x00\x02\x02\x0a"])

    def drained(self) -> None: ...

    def closed(self, error: OSError | None) -> None:
        self.is_over = True


def test_who_speaks_something_else_is_hung_up_on_once() -> None:
    async def scenario(simulation: Simulation) -> None:
        alerting = Alerting()
        simulation.network.node("b").listen("", 9092, lambda _: alerting)
        client = await Client.connect(simulation.network.node("a"), Address("b", 9092))
        with pytest.raises(ProtocolError, match="a frame of 352518912 bytes"):
            await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
        await client.wait_closed()
        await simulation.sleep(1)
        assert alerting.is_over

    run(scenario, seed=1)


def test_an_answer_that_is_not_waited_for_any_more_fails_unseen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The loop would tell, at any time after, that nobody looked at why it did not come."""

    async def scenario(simulation: Simulation) -> None:
        alerting = Alerting()
        simulation.network.node("b").listen("", 9092, lambda _: alerting)
        client = await Client.connect(simulation.network.node("a"), Address("b", 9092))
        client.send(ApiVersionsRequest(), 0, ApiVersionsResponse).cancel()
        await client.wait_closed()

    run(scenario, seed=1)
    gc.collect()
    assert not caplog.records
