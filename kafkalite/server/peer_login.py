"""How a broker proves to another one who it is, where the listener of brokers speaks SASL: the
client's end of PLAIN and of SCRAM, on one connection.

    DUE ── begin ── HANDSHAKE ── taken ── EXCHANGE ── let in ── IN ── its session ends soon ── DUE
                        └───────────────────┴── LoginRefusedError

Who is let in for a time only (KIP-368) logs in anew on the same connection, with what is asked
next, when most of that time has passed: so does Kafka. There the part is by chance between 85 and
95 of a hundred, here it is 85. Of SCRAM, texts are taken as they are, in UTF-8, as Kafka does; the
RFC would have them prepared.

Source: Kafka's `SaslClientAuthenticator`, `ScramSaslClient`; RFC 4616, 5802 and 7677.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Generator
from functools import partial
from typing import Final

from kafkalite.config.inter_broker_login import InterBrokerLogin
from kafkalite.config.sasl import PLAIN
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.security.scram import HASHES, MIN_ITERATIONS
from kafkalite.types import TimestampMs

_MAX_ITERATIONS: Final = 1_000_000
"""As many take about a second, in which this broker does nothing else."""

_Exchange = Generator[bytes, bytes, None]
"""Gives what is to be said, is sent what was answered, and ends when this end is content."""


class LoginRefusedError(Exception):
    """Why this broker is not let in, or does not trust who lets it in."""


class PeerLogin:
    """The logins of one connection, one after the other."""

    def __init__(self, login: InterBrokerLogin, nonce: bytes) -> None:
        """`nonce`: bytes that nobody could guess, which make this login another one than any
        other."""
        self._login = login
        self._nonce = nonce
        self._exchange: _Exchange | None = None
        self._due_ms: int | None = 0
        """None: it is never due again."""

    def is_due(self, now_ms: TimestampMs) -> bool:
        """Whether to `begin` one before anything else is asked."""
        return self._due_ms is not None and self._due_ms <= now_ms

    @property
    def is_under_way(self) -> bool:
        """Whether nothing else may be asked now."""
        return self._exchange is not None

    def begin(self) -> Request:
        """What to ask first."""
        login = self._login
        if login.mechanism == PLAIN:
            self._exchange = _plain(login)
        else:
            self._exchange = _scram(login, b64encode(self._nonce).rstrip(b"="))
            self._nonce = hashlib.sha256(self._nonce).digest()  # Of the next one.
        return SaslHandshakeRequest(mechanism=login.mechanism)

    def answered(self, response: Response, now_ms: TimestampMs) -> Request | None:
        """What to ask next; None: this broker is let in. `LoginRefusedError` when it is not."""
        assert self._exchange is not None, "not begun"
        if isinstance(response, SaslHandshakeResponse):
            self._check_handshake(response)
            return SaslAuthenticateRequest(auth_bytes=next(self._exchange))
        assert isinstance(response, SaslAuthenticateResponse), response
        if response.error_code:
            raise LoginRefusedError(response.error_message or ErrorCode(response.error_code).name)
        try:
            said = self._exchange.send(bytes(response.auth_bytes))
        except StopIteration:
            self._exchange = None
            lifetime_ms = response.session_lifetime_ms
            self._due_ms = now_ms + lifetime_ms * 85 // 100 if lifetime_ms > 0 else None
            return None
        return SaslAuthenticateRequest(auth_bytes=said)

    def _check_handshake(self, response: SaslHandshakeResponse) -> None:
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            taken = ", ".join(response.mechanisms) or "none"
            raise LoginRefusedError(f"it does not take {self._login.mechanism}, but {taken}")
        if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise LoginRefusedError("it asks nobody who they are, or not yet again")
        if response.error_code:
            raise LoginRefusedError(ErrorCode(response.error_code).name)


def _plain(login: InterBrokerLogin) -> _Exchange:
    yield f"\0{login.username}\0{login.password}".encode()


def _scram(login: InterBrokerLogin, nonce: bytes) -> _Exchange:
    algorithm = HASHES[login.mechanism]
    digest = partial(hmac.digest, digest=algorithm)
    name = login.username.replace("=", "=3D").replace(",", "=2C").encode()
    first = b"n=%b,r=%b" % (name, nonce)
    server_first = yield b"n,," + first
    told = _attributes(server_first)
    server_nonce, salt, iterations = _read_server_first(told)
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise LoginRefusedError("its nonce does not go on from this broker's")
    salted = hashlib.pbkdf2_hmac(algorithm, login.password.encode(), salt, iterations)
    final = b"c=biws,r=" + server_nonce
    message = b",".join((first, server_first, final))
    client_key = digest(salted, b"Client Key")
    signature = digest(hashlib.new(algorithm, client_key).digest(), message)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server_final = _attributes((yield b"%b,p=%b" % (final, b64encode(proof))))
    expected = digest(digest(salted, b"Server Key"), message)
    if not hmac.compare_digest(server_final.get(b"v", b""), b64encode(expected)):
        raise LoginRefusedError("it does not know the password itself")


def _attributes(message: bytes) -> dict[bytes, bytes]:
    return {key: value for key, _, value in (each.partition(b"=") for each in message.split(b","))}


def _read_server_first(told: dict[bytes, bytes]) -> tuple[bytes, bytes, int]:
    """Nonce, salt, iterations."""
    if b"e" in told:
        raise LoginRefusedError(f"SCRAM: {told[b'e'].decode(errors='replace')}")
    try:
        nonce, salt, iterations = told[b"r"], b64decode(told[b"s"]), int(told[b"i"])
    except (KeyError, ValueError):
        raise LoginRefusedError("its answer is no SCRAM") from None
    if not MIN_ITERATIONS <= iterations <= _MAX_ITERATIONS:
        raise LoginRefusedError(
            f"it wants {iterations} iterations of SCRAM; "
            f"{MIN_ITERATIONS} to {_MAX_ITERATIONS} are done"
        )
    return nonce, salt, iterations
