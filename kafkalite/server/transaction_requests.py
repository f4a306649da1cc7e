"""How the handlers of transaction APIs ask the coordinator, and wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.schema import Response
from kafkalite.server.core_driver import OnReply
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import TimestampMs

B = TypeVar("B")
R = TypeVar("R", bound=Response)

_LATE = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
"""What is not committed within `request.timeout.ms`; it may still come to be."""


def ask_for(
    ctx: RequestContext,
    submit: Callable[[OnReply], None],
    body: type[B],
    answer: Callable[[B | KafkaError], R],
) -> R | Parked:
    """The answer that `answer` makes of the reply to what `submit` asks: `body`, or a
    `KafkaError`."""
    arrived: list[B | KafkaError] = []
    parked: Parked | None = None

    def on_reply(reply: object) -> None:
        assert isinstance(reply, body | KafkaError), reply
        arrived.append(reply)
        if parked is not None:
            parked.complete(lambda: answer(arrived[0]))

    submit(on_reply)
    if arrived:
        return answer(arrived[0])
    clock = ctx.services.clock
    deadline = TimestampMs(clock.now_ms() + ctx.services.config.request_timeout_ms)
    parked = Parked(clock, deadline, lambda: answer(_LATE))
    return parked


def told(code: ErrorCode, version: int, first_version_with_fenced: int) -> ErrorCode:
    """The code as that version knows it: PRODUCER_FENCED has come late."""
    if code is ErrorCode.PRODUCER_FENCED and version < first_version_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
