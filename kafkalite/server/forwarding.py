"""Clients' requests that the controller decides, from whatever broker they came to (KIP-590).

The broker that took one hands it, in an Envelope, to the controller, which handles it as if it had
come there, and the answer goes back as it is. Where the controller has changed meanwhile it is
handed to the next, within `request.timeout.ms`: no client hears NOT_CONTROLLER. A Kafka 3.9 that is
the controller over ZooKeeper opens no Envelopes: it is asked as a client would ask it, in the
client's version or the newest that it has, and each broker alters its own settings.

Source: Kafka's `ForwardingManagerImpl`, `EnvelopeUtils` and `RequestChannel.buildResponse`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct, error
from typing import Final

from kafkalite.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from kafkalite.ports.clock import Clock
from kafkalite.protocol.codec import decode, decode_prefix, encode
from kafkalite.protocol.headers import (
    read_request_header,
    read_response_header,
    response_header,
)
from kafkalite.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.answers import made
from kafkalite.server.apis.api import ApiModule
from kafkalite.server.apis.table import ApiTable
from kafkalite.server.controller_channel import (
    PURPOSE,
    RETRY_MS,
    ControllerChannel,
    is_worth_another_try,
)
from kafkalite.server.envelopes import envelope, is_from_a_former_controller, sender_of
from kafkalite.server.peer_requests import OnResponse
from kafkalite.server.peers import Peers
from kafkalite.server.purgatory import MakeAnswer, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId, TimestampMs

_PREFIX: Final = Struct(">hh")
_LAST_WITH_FEATURES: Final = 1
"""Of UpdateFeatures."""

Handled = Callable[[ApiModule, RequestContext, Request], Response | Parked | None]
"""Has a handler answer a request: `Dispatcher.handled`."""


class Forwarding:
    """Of one broker, both ends."""

    def __init__(
        self,
        controller: ControllerChannel,
        peers: Peers,
        clock: Clock,
        apis: ApiTable,
        *,
        handled: Handled,
        timeout_ms: int,
    ) -> None:
        self._controller = controller
        self._peers = peers
        self._clock = clock
        self._apis = apis
        self._handled = handled
        self._timeout_ms = timeout_ms

    def forward(self, ctx: RequestContext, module: ApiModule, request: Request) -> Parked:
        """The answer of the controller, here or elsewhere. `ctx` has the frame."""
        forwarded = _Forwarded(self, ctx, module, request)
        forwarded.hand_over()
        return forwarded.parked

    def open(self, ctx: RequestContext, sealed: EnvelopeRequest) -> EnvelopeResponse | Parked:
        """Another broker's client asks: answer as the controller. NOT_CONTROLLER when this broker
        is not, INVALID_REQUEST and UNSUPPORTED_VERSION for what is not to be forwarded."""
        if not self._controller.active:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        module, inner, request = self._unwrap(ctx, sealed.request_data)
        inner.asked = sender_of(sealed) or inner.asked
        answer = self._handled(module, inner, request)
        if not isinstance(answer, Parked):
            return _seal(inner, module, answer)
        late = Parked.without_deadline(self._clock, answer.abandon)
        answer.then(
            lambda make: late.complete(lambda: _seal(inner, module, made(module, request, make)))
        )
        return late

    def _unwrap(
        self, ctx: RequestContext, data: bytes
    ) -> tuple[ApiModule, RequestContext, Request]:
        try:
            key, version = _PREFIX.unpack_from(data)
        except error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "an envelope around nothing") from None
        module = self._apis.find(key)
        if module is None or not module.API.by_controller:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"API {key} is not to be forwarded")
        api = module.API
        if not api.min_version <= version <= api.max_version:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        try:
            header, position = read_request_header(data)
            request, _ = decode_prefix(api.request, version, data, position)
        except ProtocolError as malformed:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(malformed)) from malformed
        inner = RequestContext(
            ctx.services, ctx.connection, version, header.correlation_id, header.client_id
        )
        return module, inner, request


class _Forwarded:
    """One client's request, through all tries to have the controller answer it."""

    def __init__(
        self,
        forwarding: Forwarding,
        ctx: RequestContext,
        module: ApiModule,
        request: Request,
    ) -> None:
        self._forwarding = forwarding
        self._ctx = ctx
        self._module = module
        self._request = request
        clock = forwarding._clock
        self._until_ms = TimestampMs(clock.now_ms() + forwarding._timeout_ms)
        self._here: Parked | None = None
        """The answer that this broker makes."""
        self._own: Response | None = None
        """What it has answered of a request whose rest is the controller's."""
        self.parked = Parked(
            clock, self._until_ms, partial(self._refusal, ErrorCode.REQUEST_TIMED_OUT), self._forget
        )

    def hand_over(self) -> None:
        """Try once, and again when that comes to nothing."""
        if self.parked.done:
            return
        forwarding = self._forwarding
        controller = forwarding._controller.elsewhere
        if forwarding._controller.active:
            self._answer_here(self._request)
        elif controller is None:
            self._try_later()
        elif forwarding._controller.is_a_kafka:
            self._ask_a_kafka(controller)
        else:
            self._ask(controller)

    def _ask(self, controller: BrokerId) -> None:
        frame = self._ctx.frame
        assert frame is not None, "a request without its frame"
        host = self._ctx.connection.peer.host
        self._ask_for(controller, envelope(frame, host=host, sender=self._ctx.asked), self._told)

    def _ask_a_kafka(self, controller: BrokerId) -> None:
        from kafkalite.server.own_settings import parted  # Few clusters have a Kafka.

        own, rest = parted(self._request)
        if rest is None or (own is not None and self._own is None):
            assert own is not None, "a part has something"
            self._answer_here(own)
        else:
            self._ask_for(controller, rest, self._told_openly, version_cap=self._ctx.version)

    def _ask_for(
        self,
        controller: BrokerId,
        request: Request,
        on_reply: OnResponse,
        *,
        version_cap: int | None = None,
    ) -> None:
        forwarding = self._forwarding
        left_ms = max(1, self._until_ms - forwarding._clock.now_ms())
        forwarding._peers.ask(
            controller,
            request,
            on_reply,
            timeout_ms=left_ms,
            purpose=PURPOSE,
            version_cap=version_cap,
        )

    def _try_later(self) -> None:
        clock = self._forwarding._clock
        if not self.parked.done:
            clock.call_at(clock.now_ms() + RETRY_MS, self.hand_over)

    def _answer_here(self, request: Request) -> None:
        """All of it, or the part that is this broker's."""
        answer = self._forwarding._handled(self._module, self._ctx, request)
        if isinstance(answer, Parked):
            self._here = answer
            answer.then(partial(self._made_here, request))
        else:
            self._made_here(request, lambda: answer)

    def _made_here(self, request: Request, make: MakeAnswer) -> None:
        self._here = None
        try:
            response = made(self._module, request, make)
        except InvariantError:
            self.parked.complete(make)  # It raises again, where the broker is stopped for it.
            return
        if response is not None and is_from_a_former_controller(response):
            self._try_later()
        elif request is self._request:
            self.parked.complete(lambda: response)
        else:
            self._own = response
            self.hand_over()

    def _told(self, reply: Response | KafkaError) -> None:
        if isinstance(reply, KafkaError):
            self._refused(reply)
            return
        assert isinstance(reply, EnvelopeResponse), reply
        if reply.error_code:
            self._refused(KafkaError(ErrorCode(reply.error_code)))
            return
        api, version = self._module.API, self._ctx.version
        data = reply.response_data or b""
        try:
            _, position = read_response_header(api.key, version, data)
            response: Response = decode(api.response, version, data, position)
        except ProtocolError:
            self._refused(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            self.parked.complete(lambda: response)

    def _told_openly(self, reply: Response | KafkaError) -> None:
        if isinstance(reply, KafkaError):
            self._refused(reply)
        elif is_from_a_former_controller(reply):
            self._try_later()
        else:
            response = self._whole(_in_version(reply, self._ctx.version))
            self.parked.complete(lambda: response)

    def _whole(self, rest: Response) -> Response:
        if self._own is None:
            return rest
        from kafkalite.server.own_settings import joined

        return joined(self._own, rest)

    def _refused(self, refusal: KafkaError) -> None:
        if is_worth_another_try(refusal):
            self._try_later()
        else:
            self.parked.complete(partial(self._refusal, refusal.code))

    def _refusal(self, code: ErrorCode) -> Response | None:
        refusal = self._module.refuse(self._request, code, "")
        assert refusal is None or isinstance(refusal, Response), refusal
        return refusal

    def _forget(self) -> None:
        if self._here is not None:
            self._here.abandon()


def _in_version(response: Response, version: int) -> Response:
    """Version 2 of UpdateFeatures has no room for what older ones say of each feature."""
    from kafkalite.protocol.messages.update_features import UpdateFeaturesResponse  # Few ask.

    if isinstance(response, UpdateFeaturesResponse) and version > _LAST_WITH_FEATURES:
        for each in response.results:
            if each.error_code:
                return UpdateFeaturesResponse(
                    error_code=each.error_code, error_message=each.error_message
                )
    return response


def _seal(inner: RequestContext, module: ApiModule, response: Response | None) -> EnvelopeResponse:
    if response is None or is_from_a_former_controller(response):
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    header = response_header(module.API.key, inner.version, inner.correlation_id)
    return EnvelopeResponse(response_data=header + encode(response, inner.version))
