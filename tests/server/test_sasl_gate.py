"""Clients that say who they are: what the real Kafka has answered (`sasl-exchanges.txt`), answered
here over the network in memory; and what becomes of those who do not come in."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.ports.network import Address, Link, Network
from kafkalite.protocol.framing import FrameSplitter
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.security.principals import ANONYMOUS, ITSELF, KafkaPrincipal
from kafkalite.server.connection import ClientConnection
from kafkalite.server.request import Session
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.running import Running, simulated, start
from tests.server.sasl_exchanges import GOOD, ITERATIONS, SALT, SETTINGS, SMALL_BYTES
from tests.server.sasl_talk import EXCHANGES, Talk, Wire, recorded, transcript

PORTS = {"PLAINTEXT": 9092, "SASL": 9093, "SHORT": 9094, "SMALL": 9095, "STRICT": 9096}
LISTENERS = {"listeners": ",".join(f"{name}://:{port}" for name, port in PORTS.items())}
PATIENCE_MS = 100
METADATA = 9


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

    def close(self) -> None:
        assert self._link is not None
        self._link.close()

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


@simulated
async def test_a_broker_that_asks_itself_is_let_in(simulation: Simulation) -> None:
    async with serving(simulation) as running:
        network = running.broker.network_to("SMALL")
        client = await Client.connect(network, Address("broker", PORTS["SMALL"]))
        answer = await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
        assert answer.brokers
        assert sessions(running, "SMALL") == {ITSELF}
        large = MetadataRequest(topics=[MetadataRequestTopic(name="t" * 200)] * SMALL_BYTES)
        await client.ask(large, METADATA, MetadataResponse)
        node = simulation.network.node("client")
        other = await Client.connect(node, Address("broker", PORTS["SMALL"]))
        with pytest.raises(ConnectionError):
            await other.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
        own = running.broker._listeners._own
        assert own is not None
        assert len(own._standing) == 1
        client.close()
        await simulation.sleep(1)
        assert own._standing == set(), "whoever has these addresses next is let in"


@simulated
async def test_a_listener_where_nobody_can_log_in_is_warned_of(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """As where only the broker's own login was thought of."""
    settings = {
        "listeners": "SASL_PLAINTEXT://:9093",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required"
            ' username="admin" password="admin-secret";'
        ),
    }
    async with start(simulation, settings=settings):
        pass
    (told,) = [each for each in caplog.messages if "PLAIN" in each]
    assert told == (
        "SASL_PLAINTEXT: nobody can log in by PLAIN: listener.name.sasl_plaintext.plain."
        'sasl.jaas.config names no users; add user_NAME="PASSWORD"'
    )


@simulated
async def test_who_a_client_is_stands_on_its_session(simulation: Simulation) -> None:
    async with serving(simulation) as running:
        wire = dialed(running, "SASL")
        talk = Talk(wire)
        await talk.versions()
        assert sessions(running, "SASL") == {None}
        await talk.handshake("PLAIN")
        await talk.authenticate(GOOD)
        assert sessions(running, "SASL") == {KafkaPrincipal("User", "alice")}
        assert sessions(running, "PLAINTEXT") == {ANONYMOUS}


@simulated
async def test_who_says_nothing_leaves_when_it_was_idle_for_long(simulation: Simulation) -> None:
    idle = {"connections.max.idle.ms": "2000"}
    async with serving(simulation, idle) as running:
        silent, half_way = dialed(running, "SASL"), dialed(running, "SASL")
        await Talk(half_way).handshake("PLAIN")
        await simulation.sleep(1_500)
        assert (silent.is_closed, half_way.is_closed) == (False, False)
        await simulation.sleep(1_000)
        assert (silent.is_closed, half_way.is_closed) == (True, True)


@simulated
async def test_what_is_refused_is_answered_late(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    delay = {"connection.failed.authentication.delay.ms": "60"}
    async with serving(simulation, delay) as running:
        wire = dialed(running, "SASL")
        talk = Talk(wire)
        await talk.handshake("PLAIN")
        began_ms = wire.now_ms()
        await talk.authenticate(b"\0alice\0x")
        assert 60 <= wire.now_ms() - began_ms <= 65
        (told,) = caplog.messages
        assert told.endswith(
            "closing the connection: not authenticated: Authentication failed: Invalid username or "
            "password"
        )
        # What it sends meanwhile is not read.
        other = dialed(running, "SASL")
        await Talk(other).handshake("PLAIN")
        for token in (b"\0alice\0x", GOOD):
            await Talk(other).send(SaslAuthenticateRequest(auth_bytes=token), 1)
        refused = await other.answer()
        assert refused is not None
        assert b"Invalid username" in refused
        assert await other.answer() is None


@pytest.mark.parametrize(
    ("mechanism", "token", "takes_ms"),
    [("PLAIN", b"\0alice\0x", 60), ("SCRAM-SHA-256", b"n,,n=nobody,r=nonce", 1)],
)
@simulated
async def test_a_token_without_headers_that_is_refused(
    simulation: Simulation, mechanism: str, token: bytes, takes_ms: int
) -> None:
    """At once where there is nothing to be told, as by Kafka."""
    delay = {"connection.failed.authentication.delay.ms": "60"}
    async with serving(simulation, delay) as running:
        wire = dialed(running, "SASL")
        await Talk(wire).handshake(mechanism, 0)
        began_ms = wire.now_ms()
        assert await Talk(wire).raw(token) is None
        assert takes_ms <= wire.now_ms() - began_ms <= takes_ms + 5


@simulated
async def test_a_version_that_nobody_knows_is_named(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(simulation) as running:
        await transcript("SASL", "unknown_versions", dialed(running, "SASL"))
        await transcript("SASL", "an_unknown_version_of_authenticate", dialed(running, "SASL"))
    handshake, authenticate = caplog.messages
    assert handshake.endswith("SASL_HANDSHAKE version 2 is not served")
    assert authenticate.endswith("SASL_AUTHENTICATE version 3 is not served")


@simulated
async def test_a_client_that_leaves_while_it_waits_to_be_refused(simulation: Simulation) -> None:
    for_long = {"connection.failed.authentication.delay.ms": "500000"}
    async with serving(simulation, for_long) as running:
        before = sessions_in_memory()
        wire = dialed(running, "SASL")
        await Talk(wire).handshake("PLAIN")
        await Talk(wire).send(SaslAuthenticateRequest(auth_bytes=b""), 1)
        assert sessions_in_memory() == before + 1
        wire.close()
        del wire  # Its link knows the other end.
        await simulation.sleep(100)
        assert sessions_in_memory() == before, "a timer has it"


@simulated
async def test_a_user_who_is_deleted_comes_in_no_more(simulation: Simulation) -> None:
    async with serving(simulation) as running:
        deletion = ScramCredentialDeletion(name="alice", mechanism=1)
        request = AlterUserScramCredentialsRequest(deletions=[deletion])
        client = await running.client()
        await client.ask(request, 0, AlterUserScramCredentialsResponse)
        talk = Talk(dialed(running, "SASL"))
        await talk.handshake("SCRAM-SHA-256")
        await talk.authenticate(b"n,,n=alice,r=client-nonce")
        assert talk.lines[-1].startswith("SASL_AUTHENTICATE v1 -> error 58")


@simulated
async def test_requests_of_clients_that_are_in_go_straight_to_dispatch(
    simulation: Simulation,
) -> None:
    async with serving(simulation) as running:
        talk = Talk(dialed(running, "SASL"))
        await talk.handshake("PLAIN")
        await talk.authenticate(GOOD)
        plain = Talk(dialed(running, "PLAINTEXT"))
        await plain.versions()
        first, _, second = (each.handle for each in connections(running))
        assert first == second


def connections(running: Running) -> list[ClientConnection[Session]]:
    return [
        each for listener in running.broker._listeners._started for each in listener.connections
    ]


def sessions_in_memory() -> int:
    gc.collect()
    return sum(isinstance(each, Session) for each in gc.get_objects())


def sessions(running: Running, listener: str) -> set[KafkaPrincipal | None]:
    found = (each.session for each in connections(running))
    return {session.principal for session in found if session.listener == listener}
