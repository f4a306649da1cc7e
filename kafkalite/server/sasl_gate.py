"""A listener with SASL: who comes in there says who they are before anything else is answered.

A connection's requests go to the gate until its client is let in, and to dispatch from then on; so
those of other listeners, and of clients that are in, pass by nothing. What is due next:

    FIRST       ApiVersions or SaslHandshake    → FIRST where that ApiVersions was refused, else
    HANDSHAKE   SaslHandshake                     HANDSHAKE; REQUEST or TOKEN
    REQUEST     SaslAuthenticate, after a handshake of version 1
    TOKEN       a frame that is the token itself, after one of version 0
    (let in)    any; where the session ends some time, a SaslHandshake begins anew, as HANDSHAKE
                does, and all else closes the connection once it has ended (KIP-368)
    FAILED      nothing is answered, and the connection closes in a moment

What is refused is answered late, by `connection.failed.authentication.delay.ms`, as there.

Source: Kafka's `SaslServerAuthenticator`, `KafkaChannel` and `Processor`; the tests have its
answers (`tests/server/sasl-exchanges.txt`).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalite.coordinator.java_maps import hash_set_order
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.log.files import Part
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.codec import decode_prefix
from kafkalite.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalite.security.exchange import Authenticated, NotAuthenticatedError, SaslExchange
from kafkalite.security.principals import USER, KafkaPrincipal
from kafkalite.security.scram import NONCE_BYTES
from kafkalite.server.answer_queue import Pending
from kafkalite.server.apis import api_versions, sasl_authenticate, sasl_handshake
from kafkalite.server.sasl_frames import (
    answer_frame,
    api_name,
    is_refusal,
    opened,
    request_prefix,
)

if TYPE_CHECKING:
    from kafkalite.ports.clock import Clock
    from kafkalite.ports.complaints import Complaints
    from kafkalite.ports.entropy import Entropy
    from kafkalite.security.mechanisms import FindCredential, Mechanisms
    from kafkalite.server.connection import Answer, ClientConnection
    from kafkalite.server.dispatch import Dispatcher
    from kafkalite.server.request import Session

_LENGTH = Struct(">i")
_WITH_HEADERS: Final = 1
"""The first version of the handshake whose tokens come in requests."""
_MIN_ANEW_MS: Final = 1_000
"""A client that begins anew sooner is answered as one that may not."""
_LONGEST_MS: Final = (2**63 - 1) // 1_000_000
"""Kafka counts a session in nanoseconds, and fails over one that is longer."""


class SaslGate:
    """Of one listener."""

    def __init__(
        self,
        mechanisms: Mechanisms,
        dispatcher: Dispatcher,
        find: FindCredential,
        clock: Clock,
        entropy: Entropy,
        complaints: Complaints,
        *,
        max_request_bytes: int,
    ) -> None:
        """`max_request_bytes` is for those who are in."""
        self.mechanisms = mechanisms
        self.settings = mechanisms.settings
        self.dispatcher = dispatcher
        self.clock = clock
        self.complaints = complaints
        self.max_request_bytes = max_request_bytes
        self.names = hash_set_order(self.settings.mechanisms, java_hash)
        """As clients are told them."""
        self._find = find
        self._entropy = entropy

    def handle(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """The first frame of a connection; see `Handle`."""
        authentication = _Authentication(self)
        connection.handle = authentication.first
        return authentication.first(connection, frame)

    def begin(self, mechanism: str) -> SaslExchange:
        """An exchange by that one."""
        return self.mechanisms.begin(mechanism, self._find, self._entropy.token_bytes(NONCE_BYTES))


class _Before(NamedTuple):
    """As whom and how a client came in that begins anew."""

    mechanism: str
    principal: KafkaPrincipal


class _Authentication:
    """Of one client. Its handlers are named for what they expect; see the module."""

    __slots__ = ("_anew_at_ms", "_before", "_exchange", "_expires_at_ms", "_gate", "_mechanism")

    def __init__(self, gate: SaslGate) -> None:
        self._gate = gate
        self._mechanism = ""
        self._exchange: SaslExchange | None = None
        """None: no mechanism is chosen yet."""
        self._before: _Before | None = None
        """None: it was not let in yet."""
        self._anew_at_ms: int | None = None
        """When it last began anew."""
        self._expires_at_ms = 0

    def first(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """FIRST."""
        key, version, _ = request_prefix(frame)
        if key != ApiKey.API_VERSIONS:
            return self.handshake(connection, frame)
        answer = self._gate.dispatcher.handle(connection, frame)
        if version <= api_versions.API.max_version and not is_refusal(answer):
            connection.handle = self.handshake
        return answer

    def handshake(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """HANDSHAKE."""
        gate = self._gate
        version, correlation_id, position = opened(sasl_handshake.API, frame, "SASL handshake")
        request, _ = decode_prefix(SaslHandshakeRequest, version, frame, position)
        mechanism = request.mechanism
        if mechanism not in gate.settings.mechanisms:
            why = f"Unsupported SASL mechanism {mechanism}"
            if self._before is not None:
                raise ProtocolError(why)
            refused = SaslHandshakeResponse(
                error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=gate.names
            )
            return self._fail(connection, why, answer_frame(refused, version, correlation_id))
        if self._before is not None and mechanism != self._before.mechanism:
            connection.handle = self.nothing_of_another_mechanism
        else:
            self._mechanism, self._exchange = mechanism, gate.begin(mechanism)
            connection.handle = self.request if version >= _WITH_HEADERS else self.token
        return answer_frame(SaslHandshakeResponse(mechanisms=gate.names), version, correlation_id)

    def request(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """REQUEST."""
        key, _, _ = request_prefix(frame)
        if key != ApiKey.SASL_AUTHENTICATE:
            refusal = KafkaError(
                ErrorCode.ILLEGAL_SASL_STATE,
                f"Unexpected Kafka request of type {api_name(key)} during SASL authentication.",
            )
            answer = self._gate.dispatcher.refuse(frame, refusal)
            return self._fail(connection, refusal.message, answer)
        version, correlation_id, position = opened(
            sasl_authenticate.API, frame, "SASL authentication"
        )
        request, _ = decode_prefix(SaslAuthenticateRequest, version, frame, position)
        try:
            token, lifetime_ms = self._step(connection, bytes(request.auth_bytes))
        except NotAuthenticatedError as failure:
            refused = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=self._told(failure)
            )
            return self._fail(connection, failure, answer_frame(refused, version, correlation_id))
        answered = SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms)
        return answer_frame(answered, version, correlation_id)

    def token(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """TOKEN."""
        try:
            token, _ = self._step(connection, bytes(frame))
        except NotAuthenticatedError as failure:
            if not failure.is_told:
                raise ProtocolError(f"not authenticated: {failure}") from failure
            return self._fail(connection, failure, None)
        return [_LENGTH.pack(len(token)) + token]

    def nothing_of_another_mechanism(
        self, connection: ClientConnection[Session], frame: memoryview
    ) -> Answer:
        """The handshake named another one than it came in by."""
        assert self._before is not None
        why = f"another mechanism than {self._before.mechanism} was asked for anew"
        return self._fail(connection, why, None)

    def until_expired(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """Let in, for some time."""
        now_ms = self._gate.clock.now_ms()
        key, _, _ = request_prefix(frame)
        if key == ApiKey.SASL_HANDSHAKE and (
            self._anew_at_ms is None or now_ms - self._anew_at_ms >= _MIN_ANEW_MS
        ):
            principal = connection.session.principal
            assert principal is not None
            self._anew_at_ms = now_ms
            self._before = _Before(self._mechanism, principal)
            connection.limit_requests(self._gate.settings.max_token_bytes)
            return self.handshake(connection, frame)
        if now_ms > self._expires_at_ms:
            raise ProtocolError("its SASL session is over, and it did not authenticate anew")
        return self._gate.dispatcher.handle(connection, frame)

    def _step(self, connection: ClientConnection[Session], token: bytes) -> tuple[bytes, int]:
        """The token that answers, and how long the session lasts: 0 while it has not begun, or for
        good."""
        assert self._exchange is not None
        now_ms = self._gate.clock.now_ms()
        answer = self._exchange.step(token, now_ms)
        if not isinstance(answer, Authenticated):
            return answer.token, 0
        principal = KafkaPrincipal(USER, answer.name)
        if self._before is not None and principal != self._before.principal:
            before, after = map(".".join, (self._before.principal, principal))
            raise NotAuthenticatedError(
                f"Cannot change principals during re-authentication from {before}: {after}"
            )
        lifetime_ms = self._lifetime_ms(answer.expires_at_ms, now_ms)
        connection.session.principal = principal
        connection.limit_requests(self._gate.max_request_bytes)
        self._exchange = None
        if lifetime_ms is None:
            connection.handle = self._gate.dispatcher.handle
            return answer.token, 0
        self._expires_at_ms = now_ms + lifetime_ms
        connection.handle = self.until_expired
        return answer.token, lifetime_ms

    def _lifetime_ms(self, expires_at_ms: int | None, now_ms: int) -> int | None:
        """None: for good."""
        most_ms = self._gate.settings.mechanisms[self._mechanism].max_session_ms
        limits = [most_ms] if most_ms > 0 else []
        if expires_at_ms is not None:
            limits.append(expires_at_ms - now_ms)
        if not limits:
            return None
        lifetime_ms = max(0, min(limits))
        if lifetime_ms > _LONGEST_MS:
            raise ProtocolError(f"a SASL session of {lifetime_ms} ms")
        return lifetime_ms

    def _told(self, failure: NotAuthenticatedError) -> str:
        if failure.is_told:
            return str(failure)
        what = "authentication" if self._before is None else "re-authentication"
        return (
            f"Authentication failed during {what} due to invalid credentials with SASL mechanism "
            f"{self._mechanism}"
        )

    def _fail(
        self, connection: ClientConnection[Session], why: object, answer: list[Part] | None
    ) -> Pending:
        """FAILED."""
        gate = self._gate
        gate.complaints.closing(connection.peer, f"not authenticated: {why}")
        connection.handle = _no_answer
        pending = Pending()

        def close() -> None:
            pending.complete(answer)
            connection.stop()

        timer = gate.clock.call_at(gate.clock.now_ms() + gate.settings.failure_delay_ms, close)
        connection.when_closed(timer.cancel)
        return pending


def _no_answer(connection: ClientConnection[Session], frame: memoryview) -> None:
    """It is about to be closed."""
