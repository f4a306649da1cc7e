"""What a link with TLS does until the handshake is through, and what becomes of peers that spoil
it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config.listeners import ListenersError
from kafkalite.config.tls import dialing_settings
from kafkalite.ports import tls_context
from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Network
from kafkalite.ports.tls_link import HANDSHAKE_MS
from tests import certificates
from tests.ports.network_kinds import Machine, encrypted, run_in_memory
from tests.ports.tls_world import (
    HungUpError,
    Peer,
    World,
    client_context,
    hello_of,
    in_memory,
    lines,
    turn,
)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_are_spoken(version: ssl.TLSVersion) -> None:
    async def body(world: World) -> None:
        peer = await world.peer(client_context(minimum_version=version, maximum_version=version))
        assert peer.tls.version() == version.name.replace("_", ".")
        peer.write(b"question")
        (server,) = world.accepted
        await server.until(lambda it: it.received == b"question")
        server.write(b"answer")
        assert await peer.read(6) == b"answer"

    in_memory(body)


def test_a_certificate_is_believed_by_itself(tmp_path: Path) -> None:
    """As Java does, be its authority not among those that are trusted."""

    async def body(world: World) -> None:
        leaf = tmp_path / "leaf.pem"
        leaf.write_text(ssl.DER_cert_to_PEM_cert(certificates.broker().der))
        settings = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(leaf)}
        peer = await world.peer(tls_context.client_context(dialing_settings(settings)))
        assert peer.tls.getpeercert(binary_form=True) == certificates.broker().der

    in_memory(body)


def test_the_machine_hears_at_once_that_it_stands_and_nothing_before_the_handshake(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """So it is counted, and may be closed; what it writes meanwhile leaves behind the handshake."""

    async def body(world: World) -> None:
        peer = Peer(await world.plain())
        await world.clock.wait_until(world.clock.now_ms() + 1)
        (server,) = world.accepted
        assert server.link is not None
        assert server.link.peer_certificate is None
        assert not server.write(b"early")
        await peer.shake()
        assert await peer.read(5) == b"early"
        await server.until(lambda it: it.drains == 1)
        hung_up = await world.plain()
        await world.clock.wait_until(world.clock.now_ms() + 1)
        world.accepted[1].close()
        await hung_up.until(lambda it: bool(it.ends))
        assert world.accepted[1].ends == [None]

    in_memory(body)
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (b"\x00\x00\x00\x20\x00\x12\x00\x03\x00\x00\x00\x01\x00\x04test", "it does not speak TLS"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "it speaks HTTP without TLS"),
    ],
)
def test_a_peer_without_tls_is_closed_with_one_line(
    caplog: pytest.LogCaptureFixture, first: bytes, says: str
) -> None:
    async def body(world: World) -> None:
        plain = await world.plain()
        assert plain.link is not None
        local = plain.link.local
        plain.write(first)
        await plain.until(lambda it: bool(it.ends))
        assert plain.received == bytes.fromhex("15 0303 0002 02 50"), "as Kafka answers"
        (server,) = world.accepted
        await server.until(lambda it: bool(it.ends))
        assert server.received == b""
        assert str(server.ends[0]) == says
        assert lines(caplog) == [f"{local}: closing the connection: {says}"]
        await (await world.peer()).shake()

    in_memory(body)


def test_a_peer_that_only_looks_whether_somebody_listens_is_no_matter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(world: World) -> None:
        (await world.plain()).close()
        await world.clock.wait_until(world.clock.now_ms() + 1)
        (server,) = world.accepted
        await server.until(lambda it: it.ends == [None])

    in_memory(body)
    assert lines(caplog) == []


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_who_must_show_a_certificate_and_does_not_is_closed(
    caplog: pytest.LogCaptureFixture, version: ssl.TLSVersion
) -> None:
    async def body(world: World) -> None:
        plain = await world.plain()
        peer = Peer(plain, client_context(maximum_version=version))
        with pytest.raises((ssl.SSLError, HungUpError)):
            await peer.shake_and_read()
        (server,) = world.accepted
        await server.until(lambda it: bool(it.ends))
        assert server.received == b""
        (line,) = lines(caplog)
        assert line.endswith("it shows no certificate (ssl.client.auth=required)")

    in_memory(body, ssl_client_auth="required")


def shown(party: certificates.Party, tmp_path: Any) -> ssl.SSLContext:  # Any: a path.
    file = tmp_path / "own.pem"
    file.write_text(party.key_pem() + party.pem)
    context = client_context()
    context.load_cert_chain(file)
    return context


@pytest.mark.parametrize("auth", ["required", "requested"])
def test_who_shows_a_certificate_is_known_by_it(tmp_path: Any, auth: str) -> None:  # Any: a path.
    async def body(world: World) -> None:
        peer = await world.peer(shown(certificates.client(), tmp_path))
        peer.write(b"question")
        (server,) = world.accepted
        await server.until(lambda it: it.received == b"question")
        assert server.link is not None
        assert server.link.peer_certificate == certificates.client().der
        if auth == "requested":
            (await world.peer()).write(b"unknown")
            await world.accepted[1].until(lambda it: it.received == b"unknown")
            assert world.accepted[1].link is not None
            assert world.accepted[1].link.peer_certificate is None

    in_memory(body, ssl_client_auth=auth)


def test_a_certificate_of_somebody_elses_is_refused(
    caplog: pytest.LogCaptureFixture,
    tmp_path: Any,  # Any: a path.
) -> None:
    async def body(world: World) -> None:
        plain = await world.plain()
        peer = Peer(plain, shown(certificates.stranger(), tmp_path))
        with pytest.raises((ssl.SSLError, HungUpError)):
            await peer.shake_and_read()
        (line,) = lines(caplog)
        assert "its certificate is not trusted (" in line

    in_memory(body, ssl_client_auth="requested")


def test_a_peer_that_does_not_trust_us_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async def body(world: World) -> None:
        peer = Peer(await world.plain(), ssl.create_default_context())
        with pytest.raises(ssl.SSLCertVerificationError):
            await peer.shake()
        peer.send()
        (server,) = world.accepted
        await server.until(lambda it: bool(it.ends))
        (line,) = lines(caplog)
        assert line.endswith("it refuses TLS with this side (unknown ca)")

    in_memory(body)


def test_no_common_version_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async def body(world: World) -> None:
        peer = Peer(await world.plain(), client_context(maximum_version=ssl.TLSVersion.TLSv1_2))
        with pytest.raises((ssl.SSLError, HungUpError)):
            await peer.shake()
        (line,) = lines(caplog)
        assert line.endswith("it knows no version of TLS that is allowed here")

    in_memory(body, ssl_enabled_protocols="TLSv1.3")


def test_cipher_suites_by_javas_names() -> None:
    async def body(world: World) -> None:
        peer = await world.peer()
        cipher = peer.tls.cipher()
        assert cipher is not None
        assert cipher[:2] == ("ECDHE-ECDSA-AES128-SHA256", "TLSv1.2")

    in_memory(body, ssl_cipher_suites="TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256")


@pytest.mark.parametrize("suites", ["TLS_WITH_NOTHING", "TLS_\0A"])
def test_cipher_suites_that_nobody_has_are_refused(suites: str) -> None:
    async def body(world: World) -> None:
        pass

    with pytest.raises(ListenersError, match="none of them can be used"):
        in_memory(body, ssl_cipher_suites=suites)


def test_a_handshake_has_a_deadline_whatever_came_of_it(caplog: pytest.LogCaptureFixture) -> None:
    async def body(world: World) -> None:
        silent, slow = await world.plain(), Peer(await world.plain())
        with pytest.raises(ssl.SSLWantReadError):
            slow.tls.do_handshake()
        hello = slow.outgoing.read()
        began_ms = world.clock.now_ms()
        slow.plain.write(hello[:100])
        await world.clock.wait_until(began_ms + HANDSHAKE_MS - 100)
        assert silent.ends == slow.plain.ends == []
        slow.plain.write(hello[100:200])
        await world.clock.wait_until(began_ms + HANDSHAKE_MS + 100)
        assert silent.ends == slow.plain.ends == [None]
        assert len(lines(caplog)) == 2
        assert all(line.endswith("no TLS handshake within 10 s") for line in lines(caplog))

    in_memory(body)


def test_the_deadline_is_over_with_the_handshake() -> None:
    async def body(world: World) -> None:
        peer = await world.peer()
        await world.clock.wait_until(world.clock.now_ms() + 10 * HANDSHAKE_MS)
        peer.write(b"late")
        await world.accepted[0].until(lambda it: it.received == b"late")

    in_memory(body)


def test_a_dial_checks_who_answers() -> None:
    async def over(network: Network, clock: Clock) -> None:
        listener = encrypted(network, clock).listen("localhost", 0, lambda peer: Machine(clock))
        for settings, says in (
            ({"ssl_truststore_certificates": certificates.stranger().trusted}, "not trusted"),
            ({}, ""),
        ):
            client = Machine(clock)
            dialer = encrypted(network, clock, **settings)
            dialer.dial("localhost", listener.address.port, client)
            await client.until(lambda it: it.link is not None)
            client.write(b"question")
            if says:
                await client.until(lambda it: bool(it.ends))
                assert says in str(client.ends[0])
            else:
                await client.until(lambda it: it.drains == 1)

    run_in_memory(over, lambda network, clock: network)


def test_a_dial_that_is_hung_up_on_says_so() -> None:
    async def over(network: Network, clock: Clock) -> None:
        server = Machine(clock)
        server.on_bytes = lambda data: server.close()
        listener = network.listen("localhost", 0, lambda peer: server)
        client = Machine(clock)
        encrypted(network, clock).dial("localhost", listener.address.port, client)
        await client.until(lambda it: bool(it.ends))
        assert str(client.ends[0]) == "it hung up in the TLS handshake"

    run_in_memory(over, lambda network, clock: network)


def test_handshakes_of_many_at_once_leave_turns_to_others() -> None:
    """One step of one of them in a turn of the loop."""

    async def body(world: World) -> None:
        others = [Peer(await world.plain()) for _ in range(20)]
        for other in others:
            hello_of(other)
        turns = 0
        while not all(other.plain.received for other in others):
            await turn()
            turns += 1
        assert turns >= 10, "each is two of the loop: one that ends it, one that tells us"

    in_memory(body)
