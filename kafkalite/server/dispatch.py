"""From a frame to an answer: version check, decoding, the handler, error mapping, encoding.

A handler never does any of these. Whatever is wrong with the frame itself (unknown API or version,
malformed body) is a `ProtocolError`, upon which the connection closes without an answer, as Kafka's
does; the one exception is ApiVersions, which answers an unknown version so that clients can step
down."""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import Struct, error
from typing import TYPE_CHECKING, Any, cast

from kafkalite.errors import CorruptRecordError, InvariantError, KafkaError, ProtocolError
from kafkalite.log.files import Part
from kafkalite.ports.clock import Clock
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.codec import decode_prefix
from kafkalite.protocol.hot import read_request_header, response_frame
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceRequest
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.answer_queue import Pending
from kafkalite.server.answers import made, refusal_of
from kafkalite.server.apis.api import ApiModule
from kafkalite.server.apis.api_versions import unsupported_version
from kafkalite.server.apis.fetch import release
from kafkalite.server.connection import Answer, ClientConnection
from kafkalite.server.interceptor import (
    CloseConnection,
    Delay,
    Interceptor,
    LoseAnswer,
    Refuse,
)
from kafkalite.server.produce_shapes import ProduceShapes
from kafkalite.server.purgatory import MakeAnswer, Parked
from kafkalite.server.request import RequestContext, Services, Session
from kafkalite.types import TimestampMs

if TYPE_CHECKING:
    from kafkalite.protocol.produce_shape import ProduceShape
    from kafkalite.server.forwarding import Forwarding

_log = logging.getLogger(__name__)

_PREFIX = Struct(">hhi")
"""API key, version, correlation id: the same in every version of the header."""
_PRODUCE = int(ApiKey.PRODUCE)


FindApi = Callable[[int], ApiModule | None]
"""Who answers requests of a key; None where it is not served."""


class Dispatcher:
    """Answers the frames of all connections of one broker."""

    def __init__(
        self,
        services: Services,
        find_api: FindApi,
        interceptor: Interceptor | None = None,
        *,
        fail: Callable[[InvariantError], None],
        inter_broker: str = "",
    ) -> None:
        """`fail` stops the broker. Nothing is answered from then on. What is `between_brokers` is
        served on the `inter_broker` listener alone."""
        self._services = services
        self._fail = fail
        self._find_api = find_api
        self._interceptor = interceptor
        self._inter_broker = inter_broker
        self._shapes = ProduceShapes()
        self.forwarding: Forwarding | None = None
        """None: nobody else could be the controller."""

    def handle(self, connection: ClientConnection[Session], frame: memoryview) -> Answer:
        """The answer of one frame (without its length). `ProtocolError` closes the connection."""
        try:
            key, version, correlation_id = _PREFIX.unpack_from(frame)
        except error:
            raise ProtocolError(f"a frame of {len(frame)} bytes holds no request header") from None
        try:
            module = self._find_api(key)
        except OSError as refused:
            raise ProtocolError(f"API key {key} cannot be loaded: {refused}") from None
        if module is None or (
            module.API.between_brokers and connection.session.listener != self._inter_broker
        ):
            raise ProtocolError(f"API key {key} is not served")
        api = module.API
        if not api.min_version <= version <= api.max_version:
            if key == ApiKey.API_VERSIONS:
                return _frame(unsupported_version(), 0, correlation_id)
            raise ProtocolError(f"{api.key.name} version {version} is not served")
        if key == _PRODUCE and self._interceptor is None:
            shape = self._shapes.find(connection.session, version, frame)
            if shape is not None and shape.take(frame):
                return self._produce(module, connection, shape, correlation_id)
        header, position = read_request_header(frame)
        request: Request
        request, _ = decode_prefix(api.request, version, frame, position)
        if self._interceptor is None and isinstance(request, ProduceRequest):
            self._shapes.learn(
                connection.session, request, version, header.client_id, frame, position
            )
        ctx = RequestContext(self._services, connection, version, correlation_id, header.client_id)
        if api.by_controller and self.forwarding is not None:
            ctx.frame = bytes(frame)
        if self._interceptor is not None:
            return self._intercepted(self._interceptor, module, ctx, request)
        return self._answer(module, ctx, request)

    def refuse(self, frame: memoryview, why: KafkaError) -> list[Part] | None:
        """What a request is answered with that is not looked at further; None: it wants no answer.
        Errors as `handle`."""
        header, position = read_request_header(frame)
        module = self._find_api(header.request_api_key)
        version = header.request_api_version
        if module is None or not module.API.min_version <= version <= module.API.max_version:
            raise ProtocolError(f"API key {header.request_api_key} is not served")
        request, _ = decode_prefix(module.API.request, version, frame, position)
        response = refusal_of(module, request, why)
        return None if response is None else _frame(response, version, header.correlation_id)

    def _produce(
        self,
        module: ApiModule,
        connection: ClientConnection[Session],
        shape: ProduceShape,
        correlation_id: int,
    ) -> Answer:
        """As `_answer`, of the request that `shape` has taken."""
        ctx = RequestContext(
            self._services, connection, shape.version, correlation_id, shape.client_id, shape
        )
        try:
            # With a shape, and only then, Produce may answer with the frame itself.
            answer: Any = self.handled(module, ctx, shape.request)
        finally:  # Of a refusal without an answer too, which closes the connection.
            shape.let_go()
        if isinstance(answer, bytes):
            return [answer]
        return self._finish(module, ctx, shape.request, answer)

    def _answer(self, module: ApiModule, ctx: RequestContext, request: Request) -> Answer:
        return self._finish(module, ctx, request, self._handle(module, ctx, request))

    def _finish(
        self,
        module: ApiModule,
        ctx: RequestContext,
        request: Request,
        answer: Response | Parked | None,
    ) -> Answer:
        if isinstance(answer, Parked):
            return self._pending(module, ctx, request, answer)
        return _encode(module, ctx, request, answer)

    def _handle(
        self, module: ApiModule, ctx: RequestContext, request: Request
    ) -> Response | Parked | None:
        """The answer of this broker, or of the controller."""
        if ctx.frame is not None and self.forwarding is not None:
            return self.forwarding.forward(ctx, module, request)
        return self.handled(module, ctx, request)

    def handled(
        self, module: ApiModule, ctx: RequestContext, request: Request
    ) -> Response | Parked | None:
        """What the handler answers here, or the refusal of what it raises."""
        try:
            # An `ApiModule` is typed loosely, as each takes its own request class.
            answer: Response | Parked | None = module.handle(ctx, request)
        except CorruptRecordError as damaged:  # Of what is stored: the frame itself is sound.
            return refusal_of(module, request, damaged)
        except ProtocolError:
            raise
        except InvariantError as broken:
            self._stop(broken)
            return None
        except Exception as failure:  # noqa: BLE001  # One request must not end the broker.
            return refusal_of(module, request, failure)
        return answer

    def _stop(self, broken: InvariantError) -> None:
        """What the broker holds cannot be trusted: no request is carried out any more."""
        self._find_api = _find_none
        self._fail(broken)

    def _pending(
        self, module: ApiModule, ctx: RequestContext, request: Request, parked: Parked
    ) -> Pending:
        """The place of a parked answer. `request` is kept, and so must hold no view of its frame,
        which is gone when this returns."""
        if isinstance(request, ProduceRequest):
            _let_go_of_records(request)
        pending = Pending(parked.abandon)

        def due(make: MakeAnswer) -> None:
            try:
                response = made(module, request, make)
            except InvariantError as broken:
                self._stop(broken)
                return
            if self._interceptor is not None and response is not None:
                self._interceptor.response(ctx, request, response)
            pending.complete(_encode(module, ctx, request, response))

        parked.then(due)
        return pending

    def _intercepted(
        self, interceptor: Interceptor, module: ApiModule, ctx: RequestContext, request: Request
    ) -> Answer:
        """As `_answer`, with the interceptor's word before the handler and after it."""
        fault = interceptor.request(ctx, request)
        if isinstance(fault, CloseConnection):
            raise ProtocolError("a fault closes the connection")
        answer: Response | Parked | None
        if isinstance(fault, Refuse):
            # As in `_handle`.
            answer = cast("Response | None", module.refuse(request, fault.code, ""))
        else:
            answer = self._handle(module, ctx, request)
        if isinstance(fault, LoseAnswer):
            if isinstance(answer, Parked):
                answer.abandon()
            else:
                _drop(answer)
            raise ProtocolError("a fault loses the answer")
        if isinstance(fault, Delay):
            answer = self._delayed(answer, fault.delay_ms)
        if isinstance(answer, Parked):
            return self._pending(module, ctx, request, answer)
        if answer is not None:
            interceptor.response(ctx, request, answer)
        return _encode(module, ctx, request, answer)

    def _delayed(self, answer: Response | Parked | None, delay_ms: int) -> Parked:
        """The same answer, no sooner than in `delay_ms`."""
        clock = self._services.clock
        at_ms = TimestampMs(clock.now_ms() + delay_ms)
        if not isinstance(answer, Parked):
            return _HeldBack(clock, at_ms, answer)
        late = Parked.without_deadline(clock, answer.abandon)
        answer.then(lambda make: _call_at(clock, at_ms, lambda: late.complete(make)))
        return late


def _find_none(key: int) -> None:
    """Of a broker that answers nothing any more."""


class _HeldBack(Parked):
    """An answer that is made already, and not to be sent yet."""

    __slots__ = ("_answer",)

    def __init__(self, clock: Clock, at_ms: TimestampMs, answer: Response | None) -> None:
        super().__init__(clock, at_ms, lambda: answer)
        self._answer = answer

    def abandon(self) -> None:
        """See `Parked`."""
        if not self.done:
            _drop(self._answer)
        super().abandon()


def _drop(answer: Response | None) -> None:
    """Give back what an answer that is not sent has on lease."""
    if isinstance(answer, FetchResponse):
        release(answer)


def _call_at(clock: Clock, at_ms: TimestampMs, callback: Callable[[], None]) -> None:
    """`callback` at that time; now, when it has passed."""
    if clock.now_ms() >= at_ms:
        callback()
    else:
        clock.call_at(at_ms, callback)


def _let_go_of_records(request: ProduceRequest) -> None:
    """They are in the log, or refused. No other request has views of its frame."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            data.records = None


def _encode(
    module: ApiModule, ctx: RequestContext, request: Request, response: Response | None
) -> list[Part] | None:
    """The frame of a response; none when the client wants none. What its version cannot carry, such
    as a name that has become too long, is refused instead."""
    if response is None:
        return None
    try:
        return _frame(response, ctx.version, ctx.correlation_id)
    except (KafkaError, ValueError) as misfit:
        _drop(response)
        failure = misfit
    try:
        refusal = refusal_of(module, request, failure)
        return None if refusal is None else _frame(refusal, ctx.version, ctx.correlation_id)
    except (KafkaError, ValueError):
        _log.exception(
            "%s: neither the answer nor its refusal fits version %d; its client hears nothing more",
            module.API.key.name,
            ctx.version,
        )
        ctx.connection.close()
        return None


def _frame(response: Response, version: int, correlation_id: int) -> list[Part]:
    frame = response_frame(response, version, correlation_id=correlation_id)
    # Handlers put nothing but parts into records fields; the codec knows them as `Sized` alone.
    return cast("list[Part]", frame)
