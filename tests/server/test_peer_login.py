"""The client's end of SASL between brokers: steps by hand, and as peers take them."""

from __future__ import annotations

from base64 import b64decode

import pytest

from kafkalite.config.inter_broker_login import InterBrokerLogin
from kafkalite.errors import ErrorCode
from kafkalite.ports.complaints import IN_FULL
from kafkalite.protocol.messages.heartbeat import HeartbeatResponse
from kafkalite.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalite.server.peer_connection import LOGIN_MS, SETUP_MS
from kafkalite.server.peer_login import LoginRefusedError, PeerLogin
from kafkalite.server.peers import MAX_RECONNECT_MS, RECONNECT_MS
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TimestampMs
from tests.server.asking_peers import HEARTBEAT, Asking, asking
from tests.server.other_broker import Accepted, OtherBroker
from tests.server.running import simulated

NOW = TimestampMs(1_000)
HANDSHAKE_KEY, AUTHENTICATE_KEY, HEARTBEAT_KEY = 17, 36, 12
SASL = {**HEARTBEAT, HANDSHAKE_KEY: (0, 1), AUTHENTICATE_KEY: (0, 2)}
PLAIN = InterBrokerLogin("PLAIN", "admin", "admin-secret")
PENCIL = InterBrokerLogin("SCRAM-SHA-256", "user", "pencil")
NONCE = b64decode("rOprNGfwEbeRWgbNEkqO")
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
"""The example of RFC 7677."""


def begun(login: InterBrokerLogin) -> tuple[PeerLogin, bytes]:
    """With what is said first in the mechanism."""
    peer = PeerLogin(login, NONCE)
    assert peer.is_due(NOW)
    assert peer.begin() == SaslHandshakeRequest(mechanism=login.mechanism)
    return peer, said(peer, SaslHandshakeResponse())


def said(peer: PeerLogin, answer: SaslHandshakeResponse | SaslAuthenticateResponse) -> bytes:
    request = peer.answered(answer, NOW)
    assert isinstance(request, SaslAuthenticateRequest)
    return bytes(request.auth_bytes)


def told(data: bytes, *, lifetime_ms: int = 0) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(auth_bytes=data, session_lifetime_ms=lifetime_ms)


def test_plain() -> None:
    peer, token = begun(PLAIN)
    assert token == b"\0admin\0admin-secret"
    assert peer.answered(told(b""), NOW) is None
    assert not peer.is_under_way
    assert not peer.is_due(TimestampMs(1 << 60)), "it is let in for good"


def test_scram_by_the_example_of_its_rfc() -> None:
    peer, token = begun(PENCIL)
    assert token == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert said(peer, told(SERVER_FIRST)) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert peer.answered(told(SERVER_FINAL), NOW) is None


def test_scram_with_the_longer_hash_and_a_name_of_marks() -> None:
    peer, token = begun(InterBrokerLogin("SCRAM-SHA-512", "a=b,ä", "pencil"))
    assert token == "n,,n=a=3Db=2Cä,r=rOprNGfwEbeRWgbNEkqO".encode()
    proof = said(peer, told(SERVER_FIRST)).partition(b",p=")[2]
    assert len(b64decode(proof)) == 64


def test_who_is_let_in_for_a_time_logs_in_anew_with_another_nonce() -> None:
    peer, first = begun(PENCIL)
    said(peer, told(SERVER_FIRST))
    peer.answered(told(SERVER_FINAL, lifetime_ms=10_000), NOW)
    assert not peer.is_due(TimestampMs(NOW + 8_499))
    assert peer.is_due(TimestampMs(NOW + 8_500))
    peer.begin()
    second = said(peer, SaslHandshakeResponse())
    assert second.startswith(b"n,,n=user,r=")
    assert second != first


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"e=other-error", "SCRAM: other-error"),
        (b"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "its nonce does not go on"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "its nonce does not"),
        (SERVER_FIRST.replace(b"4096", b"4095"), "it wants 4095 iterations"),
        (SERVER_FIRST.replace(b"4096", b"1000001"), "it wants 1000001 iterations"),
        (SERVER_FIRST.replace(b"4096", b"many"), "its answer is no SCRAM"),
        (SERVER_FIRST.replace(b",s=", b",x="), "its answer is no SCRAM"),
        (SERVER_FIRST.replace(b"gQ==", b"g"), "its answer is no SCRAM"),
        (b"", "its answer is no SCRAM"),
    ],
)
def test_a_first_answer_of_scram_that_cannot_be(answer: bytes, why: str) -> None:
    peer, _ = begun(PENCIL)
    with pytest.raises(LoginRefusedError, match=why):
        peer.answered(told(answer), NOW)


@pytest.mark.parametrize("answer", [b"v=AAAA", b"e=invalid-proof", b""])
def test_who_does_not_know_the_password_is_not_trusted(answer: bytes) -> None:
    peer, _ = begun(PENCIL)
    said(peer, told(SERVER_FIRST))
    with pytest.raises(LoginRefusedError, match="it does not know the password itself"):
        peer.answered(told(answer), NOW)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, "it does not take PLAIN, but SCRAM-SHA-512"),
        (ErrorCode.ILLEGAL_SASL_STATE, "it asks nobody who they are"),
        (ErrorCode.INVALID_REQUEST, "INVALID_REQUEST"),
    ],
)
def test_a_handshake_that_is_refused(error: ErrorCode, why: str) -> None:
    peer = PeerLogin(PLAIN, NONCE)
    peer.begin()
    with pytest.raises(LoginRefusedError, match=why):
        peer.answered(SaslHandshakeResponse(error_code=error, mechanisms=["SCRAM-SHA-512"]), NOW)


@pytest.mark.parametrize(
    ("message", "why"),
    [("Authentication failed: no", "Authentication failed: no"), (None, "SASL_AUTHENTICATION")],
)
def test_a_login_that_is_refused(message: str | None, why: str) -> None:
    peer, _ = begun(PLAIN)
    refusal = SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message
    )
    with pytest.raises(LoginRefusedError, match=why):
        peer.answered(refusal, NOW)


def keys(connection: Accepted) -> list[int]:
    """Of what it was asked and has not answered."""
    return [key for key, _, _ in connection.asked]


async def let_in(simulation: Simulation, connection: Accepted, lifetime_ms: int = 0) -> None:
    assert keys(connection) == [HANDSHAKE_KEY]
    connection.answer(SaslHandshakeResponse(mechanisms=["PLAIN"]))
    await simulation.sleep(1)
    assert keys(connection) == [AUTHENTICATE_KEY]
    connection.answer(told(b"", lifetime_ms=lifetime_ms))
    await simulation.sleep(1)


def new_login() -> PeerLogin:
    return PeerLogin(PLAIN, NONCE)


async def logged_in(
    simulation: Simulation, other: OtherBroker, lifetime_ms: int = 0
) -> tuple[Asking, Accepted]:
    """Who has asked something, and the other end of the connection, at which it has come in."""
    me = asking(simulation, new_login=new_login)
    me.ask()
    await other.turn()
    (connection,) = other.connections
    await let_in(simulation, connection, lifetime_ms)
    return me, connection


@simulated
async def test_nothing_is_asked_before_the_other_lets_in(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=SASL)
    me, connection = await logged_in(simulation, other)
    assert keys(connection) == [HEARTBEAT_KEY]
    connection.answer(HeartbeatResponse())
    await simulation.sleep(SETUP_MS + LOGIN_MS)
    assert me.codes == [ErrorCode.NONE]
    assert not connection.is_closed
    me.peers.stop()


@simulated
async def test_before_its_session_ends_a_broker_logs_in_anew(simulation: Simulation) -> None:
    """Behind what was asked before, and before all else."""
    other = OtherBroker(simulation, listed=SASL)
    me, connection = await logged_in(simulation, other, lifetime_ms=1_000)
    await simulation.sleep(850)
    for _ in range(2):
        me.ask()
    await simulation.sleep(1)
    assert keys(connection) == [HEARTBEAT_KEY, HANDSHAKE_KEY]
    connection.answer(HeartbeatResponse())
    await let_in(simulation, connection, lifetime_ms=1_000)
    assert keys(connection) == [HEARTBEAT_KEY] * 2
    assert len(other.connections) == 1
    me.peers.stop()


@simulated
async def test_who_is_not_let_in_says_so_and_tries_again(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    other = OtherBroker(simulation, listed=SASL)
    me = asking(simulation, new_login=new_login)
    me.ask()
    await other.turn()
    other.connections[0].answer(SaslHandshakeResponse())
    await simulation.sleep(1)
    code = ErrorCode.SASL_AUTHENTICATION_FAILED
    other.connections[0].answer(SaslAuthenticateResponse(error_code=code, error_message="no"))
    await simulation.sleep(1)
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    assert other.connections[0].is_closed
    assert [record.getMessage() for record in caplog.records] == [
        "broker:9092: closing the connection: broker 1 does not let this one log in: no"
    ]
    me.ask()
    await simulation.sleep(RECONNECT_MS // 2)
    assert len(other.connections) == 1
    await other.turn(RECONNECT_MS)
    await let_in(simulation, other.connections[1])
    assert keys(other.connections[1]) == [HEARTBEAT_KEY]
    me.peers.stop()


@simulated
async def test_a_stop_tells_of_refusals_that_were_only_counted(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    other = OtherBroker(simulation, listed=SASL)
    me = asking(simulation, new_login=new_login)
    for times in range(IN_FULL + 2):
        me.ask(timeout_ms=10 * LOGIN_MS)
        await other.turn(MAX_RECONNECT_MS)
        other.connections[times].answer(
            SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        )
        await simulation.sleep(1)
    assert len(caplog.messages) == IN_FULL
    me.peers.stop()
    assert caplog.messages[IN_FULL:] == [
        "closed 2 more connections, the last broker:9092: broker 1 does not let this one log in: "
        "it asks nobody who they are, or not yet again"
    ]


@pytest.mark.parametrize("answers", [0, 1])
@simulated
async def test_a_login_that_is_not_answered_in_time(simulation: Simulation, answers: int) -> None:
    other = OtherBroker(simulation, listed=SASL)
    me = asking(simulation, new_login=new_login)
    me.ask(timeout_ms=10 * LOGIN_MS)
    await other.turn()
    for _ in range(answers):
        other.connections[0].answer(SaslHandshakeResponse())
    await simulation.sleep(SETUP_MS + 5)
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    assert other.connections[0].is_closed
    me.peers.stop()


@simulated
async def test_a_later_login_that_is_not_answered_in_time(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=SASL)
    me, connection = await logged_in(simulation, other, lifetime_ms=1_000)
    connection.answer(HeartbeatResponse())
    await simulation.sleep(1_000)
    me.ask(timeout_ms=10 * LOGIN_MS)
    await simulation.sleep(LOGIN_MS + 5)
    assert me.codes == [ErrorCode.NONE, ErrorCode.NETWORK_EXCEPTION]
    assert connection.is_closed
    me.peers.stop()
