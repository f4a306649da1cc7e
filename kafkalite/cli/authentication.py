"""Whether a broker lets somebody in: kafka-python, when it is refused, tries again until its time
is over, and does not say why."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from kafkalite.cli.client_security import ClientSecurity, Login
from kafkalite.cli.errors import CommandError
from kafkalite.cli.refusals import Refusal
from kafkalite.errors import ErrorCode
from kafkalite.protocol.codec import decode
from kafkalite.protocol.framing import FrameSplitter
from kafkalite.protocol.headers import Buffer, read_response_header, request_frame
from kafkalite.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalite.protocol.schema import Request, Response, schema_of

CLIENT_ID = "kafkalite-cli"
_CHUNK_BYTES = 1 << 16
_HANDSHAKE_VERSION = 1
_AUTHENTICATE_VERSION = 1

_TLS_ALERT = b"\x15\x03"
"""How the answer to what is no TLS begins, where TLS is spoken. No broker's is so long."""

R = TypeVar("R", bound=Response)


class SpeaksTlsError(ConnectionError):
    """Who was asked without TLS speaks nothing else."""


@contextmanager
def let_in(plain: socket.socket, host: str, security: ClientSecurity) -> Iterator[socket.socket]:
    """What requests can be sent on, over a new connection to `host`. `CommandError` when the broker
    there does not let this client in, `OSError` when it does not answer, or hangs up."""
    if security.tls is None:
        _log_in(plain, security.login)
        yield plain
        return
    with _encrypted(plain, host, security.tls) as encrypted:
        _log_in(encrypted, security.login)
        yield encrypted


def ask(connection: socket.socket, request: Request, version: int, kind: type[R]) -> R | None:
    """The answer; None: the broker hung up instead. `SpeaksTlsError`: see there."""
    parts = request_frame(request, version, correlation_id=0, client_id=CLIENT_ID)
    # At once: who hangs up on the first part resets what it said, when a second one comes.
    connection.sendall(b"".join(cast("list[Buffer]", parts)))
    splitter = FrameSplitter()
    frames: list[bytes] = []
    beginning = b""
    while not frames:
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk:
            return None
        beginning = (beginning + chunk)[: len(_TLS_ALERT)]
        if beginning == _TLS_ALERT:
            raise SpeaksTlsError("it speaks TLS")
        frames = splitter.feed(chunk)
    _, position = read_response_header(schema_of(type(request)).api_key, version, frames[0])
    return decode(kind, version, memoryview(frames[0])[position:])


def _encrypted(plain: socket.socket, host: str, tls: ssl.SSLContext) -> ssl.SSLSocket:
    try:
        return tls.wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise CommandError(
            f"the certificate of {host} is not trusted ({error.verify_message}); "
            "see ssl.truststore.location in the file of --command-config"
        ) from error
    except (ssl.SSLError, TimeoutError, ConnectionError) as error:
        raise CommandError(
            f"no TLS with {host} ({reason(error)}); "
            "see security.protocol in the file of --command-config"
        ) from error


def reason(error: Exception) -> str:
    """Why a connection failed, as part of a sentence."""
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return str(getattr(error, "strerror", None) or error)


def _log_in(connection: socket.socket, login: Login | None) -> None:
    if login is None:
        return
    from kafka.net.sasl import get_sasl_mechanism

    handshake = SaslHandshakeRequest(mechanism=login.mechanism)
    answer = ask(connection, handshake, _HANDSHAKE_VERSION, SaslHandshakeResponse)
    if answer is None or answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise CommandError(
            "the broker does not ask who somebody is; "
            "see security.protocol in the file of --command-config"
        )
    if answer.error_code:
        raise CommandError(
            f"the broker does not take sasl.mechanism={login.mechanism}, but "
            f"{', '.join(answer.mechanisms) or 'none'}"
        )
    exchange = get_sasl_mechanism(login.mechanism)(**login.settings())
    while not exchange.is_done():
        request = SaslAuthenticateRequest(auth_bytes=exchange.auth_bytes())
        said = ask(connection, request, _AUTHENTICATE_VERSION, SaslAuthenticateResponse)
        if said is None:
            raise CommandError(f"the broker hung up on {login.username}")
        if said.error_code:
            raise CommandError(f"{login.username}: {Refusal(said.error_code, said.error_message)}")
        exchange.receive(bytes(said.auth_bytes))
