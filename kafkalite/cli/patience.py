"""Asks again while a cluster is not ready to answer: its controller or a group's coordinator has
only just been asked for, is loading, or is moving to another broker. Clients are to try again then.

Source: Kafka's `Errors`, where these are retriable, and `CoordinatorStrategy` of its admin client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from kafkalite.errors import ErrorCode

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

T = TypeVar("T")

_PAUSE_S = 0.1
_WITHIN_MS = 30_000
"""As long as kafka-python waits for one answer. Who is not ready then is asked no more."""
_NOT_READY = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    }
)
_NO_CONTROLLER = "Failed to find active controller"
"""What kafka-python says when it was told NOT_CONTROLLER twice."""


def when_ready(
    admin: KafkaAdminClient, ask: Callable[[], T], code_of: Callable[[T], int] = lambda _: 0
) -> T:
    """The first answer that is not about readiness, or the last one; errors likewise. `code_of`
    finds Kafka's error code in an answer, where it is not raised."""
    from kafka.errors import BrokerResponseError

    from kafkalite.ports.clock import RealClock

    clock = RealClock()
    deadline_ms = clock.now_ms() + _WITHIN_MS
    while True:
        try:
            answer = ask()
        except (BrokerResponseError, RuntimeError) as error:
            if not _is_about_readiness(error) or clock.now_ms() >= deadline_ms:
                raise
        else:
            if code_of(answer) not in _NOT_READY or clock.now_ms() >= deadline_ms:
                return answer
        _forget_coordinators(admin)
        Event().wait(_PAUSE_S)


def each_when_ready(
    admin: KafkaAdminClient,
    names: Collection[str],
    ask: Callable[[list[str]], Mapping[str, T]],
    code_of: Callable[[T], int],
) -> dict[str, T]:
    """As `when_ready`, for requests about several things: only those that were not ready are asked
    for again. By name, in the order of `names`, each once."""
    answers: dict[str, T] = {}
    waiting = list(dict.fromkeys(names))

    def ask_for_the_rest() -> int:
        answers.update(ask(waiting))
        codes = {name: code_of(answers[name]) for name in waiting}
        waiting[:] = [name for name in waiting if codes[name] in _NOT_READY]
        return codes[waiting[0]] if waiting else 0

    when_ready(admin, ask_for_the_rest, lambda code: code)
    return {name: answers[name] for name in dict.fromkeys(names)}


def _is_about_readiness(error: Exception) -> bool:
    code = getattr(error, "errno", None)
    return code in _NOT_READY or str(error).startswith(_NO_CONTROLLER)


def _forget_coordinators(admin: KafkaAdminClient) -> None:
    """kafka-python keeps them for ever, and has no public way to ask for them anew."""
    admin._manager.cluster._coordinators.clear()
