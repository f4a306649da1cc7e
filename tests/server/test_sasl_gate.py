"""Clients that say who they are: what the real Kafka has answered (`sasl-exchanges.txt`), answered
here over the network in memory; and what becomes of those who do not come in."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from kafkalite.errors import ErrorCode
from kafkalite.ports.network import Link, Network
from kafkalite.protocol.framing import FrameSplitter
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.running import Running, simulated, start
from tests.server.sasl_exchanges import ITERATIONS, SALT, SETTINGS
from tests.server.sasl_talk import EXCHANGES, Wire, recorded, transcript

PORTS = {"PLAINTEXT": 9092, "SASL": 9093, "SHORT": 9094, "SMALL": 9095, "STRICT": 9096}
LISTENERS = {"listeners": ",".join(f"{name}://:{port}" for name, port in PORTS.items())}
PATIENCE_MS = 100


class MemoryWire(Wire):
    """In virtual time, over the network in memory."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._splitter = FrameSplitter()
        self._frames: list[bytes] = []
        self._chunk = bytearray(1 << 16)
        self._link: Link | None = None
        self.is_closed = False

    def opened(self, link: Link) -> None:
        self._link = link

    def space(self) -> memoryview:
        return memoryview(self._chunk)

    def filled(self, size: int) -> None:
        self._frames += self._splitter.feed(bytes(self._chunk[:size]))

    def drained(self) -> None:
        pass

    def closed(self, error: OSError | None) -> None:
        self.is_closed = True

    async def send(self, data: bytes) -> None:
        while self._link is None:
            await self._simulation.sleep(1)
        self._link.write([data])
        await self._simulation.sleep(1)

    async def answer(self) -> bytes | None:
        for _ in range(PATIENCE_MS):
            if self._frames:
                return self._frames.pop(0)
            if self.is_closed:
                return None
            await self._simulation.sleep(1)
        raise AssertionError("neither an answer nor the end of the connection")

    def now_ms(self) -> int:
        return self._simulation.clock.now_ms()

    async def wait_ms(self, duration_ms: int) -> None:
        await self._simulation.sleep(duration_ms)


def dialed(running: Running, listener: str) -> MemoryWire:
    wire = MemoryWire(running.simulation)
    network: Network = running.simulation.network.node("client")
    network.dial("broker", PORTS[listener], wire)
    return wire


@asynccontextmanager
async def serving(
    simulation: Simulation, more: Mapping[str, str] | None = None
) -> AsyncIterator[Running]:
    """A broker with alice's and bob's credentials of SCRAM."""
    async with start(simulation, settings={**LISTENERS, **SETTINGS, **(more or {})}) as running:
        await add_credentials(await running.client())
        yield running


async def add_credentials(client: Client) -> None:
    for mechanism, hash in ((1, "sha256"), (2, "sha512")):
        upsertions = [
            ScramCredentialUpsertion(
                name=name,
                mechanism=mechanism,
                iterations=ITERATIONS,
                salt=SALT,
                salted_password=hashlib.pbkdf2_hmac(
                    hash, f"{name}-secret".encode(), SALT, ITERATIONS
                ),
            )
            for name in ("alice", "bob")
        ]
        request = AlterUserScramCredentialsRequest(upsertions=upsertions)
        answer = await client.ask(request, 0, AlterUserScramCredentialsResponse)
        assert all(ErrorCode(each.error_code) is ErrorCode.NONE for each in answer.results), answer


@simulated
async def test_every_exchange_goes_as_with_kafka(simulation: Simulation) -> None:
    async with serving(simulation) as running:
        answers = {key: await transcript(*key, dialed(running, key[0])) for key in EXCHANGES}
    wanted = recorded()
    assert answers.keys() == wanted.keys()
    differ = [key for key in EXCHANGES if answers[key] != wanted[key]]
    assert "".join(answers[key] for key in differ) == "".join(wanted[key] for key in differ)
