"""A request that the controller decides: its answer waits for the controller's, within a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.schema import Response
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext, Services
from kafkalite.server.turns import complete_in_turns
from kafkalite.types import TimestampMs

B = TypeVar("B")


def refuse_elsewhere(ctx: RequestContext) -> None:
    """What another broker asks is for the controller alone: NOT_CONTROLLER when this is not."""
    if not ctx.services.controller.active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)


def parked_answer(
    services: Services,
    timeout_ms: int | None = None,
    *,
    answer: Callable[[B], Response],
    refuse: Callable[[ErrorCode, str], Response],
    late: ErrorCode = ErrorCode.REQUEST_TIMED_OUT,
    prepare: Callable[[B], Iterator[int]] | None = None,
) -> tuple[Parked, Callable[[B | KafkaError], None]]:
    """The answer to park, and the callback to submit with the event.

    `refuse` makes it when the controller refuses, and with `late` after `timeout_ms`, by default
    `request.timeout.ms`: what was asked may still come to be then. `prepare` is for answers that
    are much work: it does that before `answer`, in pieces as `Turns` has them.
    """
    clock = services.clock
    if timeout_ms is None:
        timeout_ms = services.config.request_timeout_ms
    parked = Parked(clock, TimestampMs(clock.now_ms() + timeout_ms), lambda: refuse(late, ""))

    def on_reply(reply: B | KafkaError) -> None:
        if isinstance(reply, KafkaError):
            refusal = reply
            parked.complete(lambda: refuse(refusal.code, refusal.message))
        else:
            body = reply
            pieces = iter(()) if prepare is None else prepare(body)
            complete_in_turns(clock, parked, pieces, lambda: answer(body))

    return parked, on_reply
