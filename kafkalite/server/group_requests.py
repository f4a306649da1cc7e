"""How the handlers of group APIs ask the coordinators, and wait for them.

Most answers are there at once, and are given at once; the others are parked: a JoinGroup until its
group is ready, anything until what it shows is committed. A client that hangs up meanwhile is
answered no more; as a member of its group it stays until its session ends.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, Generic, NamedTuple, TypeVar

from kafkalite.coordinator.groups.administration_events import ListGroups
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.schema import Response
from kafkalite.server.group_coordinators import GroupRequest
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.turns import Turns
from kafkalite.types import TimestampMs

B = TypeVar("B")
"""The body that answers the event."""
R = TypeVar("R", bound=Response)
T = TypeVar("T")

_COST = 50
"""Of a question, and of its part in the answer, as `Turns` counts."""
MOST_HOSTS: Final = 1_024
"""That are remembered: members tell theirs with every heartbeat."""
_LATE = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
"""What is not committed within `offsets.commit.timeout.ms`; it may still come to be."""


class Question(NamedTuple, Generic[B]):
    """Something to ask the coordinator of a group."""

    group_id: str
    event: GroupRequest
    body: type[B]
    """What answers `event`."""


def check_consumer_groups(ctx: RequestContext) -> None:
    """UNSUPPORTED_VERSION where `group.version` is 0: the cluster has no groups of the new protocol
    (KIP-848)."""
    if ctx.services.image.features.get("group.version", 0) < 1:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def ask_group(
    ctx: RequestContext,
    question: Question[B],
    answer: Callable[[B], R],
    *,
    timeout_ms: int | None = None,
) -> R | Parked:
    """The answer that `answer` makes of the body. A `KafkaError` in its place is raised, so that
    the API refuses the request with it."""

    def answered(reply: B | KafkaError) -> R:
        if isinstance(reply, KafkaError):
            raise reply
        return answer(reply)

    return ask_one(ctx, question, answered, timeout_ms=timeout_ms)


def ask_one(
    ctx: RequestContext,
    question: Question[B],
    answer: Callable[[B | KafkaError], R],
    *,
    timeout_ms: int | None = None,
) -> R | Parked:
    """The answer that `answer` makes of the reply. What is not there in `timeout_ms`, by default
    `offsets.commit.timeout.ms`, is COORDINATOR_NOT_AVAILABLE."""

    def answered(reply: object) -> R:
        assert isinstance(reply, (question.body, KafkaError)), reply
        return answer(reply)

    ask = partial(ctx.services.groups.ask, question.group_id, question.event)
    return _asked(ctx, ask, answered, late=_LATE, timeout_ms=timeout_ms)


def ask_groups(
    ctx: RequestContext,
    questions: Sequence[Question[B]],
    answer: Callable[[list[B | KafkaError]], R],
    *,
    whoever_waits: bool = False,
) -> R | Parked:
    """As `ask_one`, of all replies, in the order of the questions. Many are asked in several turns
    of the loop; those that change something, all of them, as Kafka does: also when the client has
    gone, or was told that it takes too long (`whoever_waits`)."""
    replies: list[B | KafkaError] = [_LATE] * len(questions)
    missing = len(questions)
    parked: Parked | None = None

    def on_reply(at: int, reply: object) -> None:
        nonlocal missing
        assert isinstance(reply, questions[at].body | KafkaError), reply
        replies[at] = reply
        missing -= 1
        if not missing and parked is not None:
            parked.complete(lambda: answer(replies))

    def ask_each() -> Iterator[int]:
        for at, question in enumerate(questions):
            ctx.services.groups.ask(question.group_id, question.event, partial(on_reply, at))
            yield _COST

    turns = Turns(ctx.services.clock, ask_each())
    all_asked = turns.take()
    if not missing:
        return answer(replies)
    parked = Parked(ctx.services.clock, _deadline(ctx, None), lambda: answer(replies))
    if not all_asked:
        turns.go_on(parked, None, whoever_waits=whoever_waits)
    return parked


def ask_all_groups(
    ctx: RequestContext,
    event: ListGroups,
    body: type[B],
    answer: Callable[[list[B | KafkaError]], R],
) -> R | Parked:
    """The answer that `answer` makes of the replies of all coordinators here."""

    def answered(replies: list[object]) -> R:
        bodies: list[B | KafkaError] = []
        for reply in replies:
            assert isinstance(reply, (body, KafkaError)), reply
            bodies.append(reply)
        return answer(bodies)

    ask, late = partial(ctx.services.groups.ask_all, event), list[object]([_LATE])
    return _asked(ctx, ask, answered, late=late, timeout_ms=None)


def _asked(
    ctx: RequestContext,
    ask: Callable[[Callable[[T], None]], None],
    answer: Callable[[T], R],
    *,
    late: T,
    timeout_ms: int | None,
) -> R | Parked:
    """What `answer` makes of what `ask` calls back with: at once if that is there at once."""
    arrived: list[T] = []
    parked: Parked | None = None

    def on_reply(reply: T) -> None:
        arrived.append(reply)
        if parked is not None:
            parked.complete(lambda: answer(reply))

    ask(on_reply)
    if arrived:
        return answer(arrived[0])
    parked = Parked(ctx.services.clock, _deadline(ctx, timeout_ms), lambda: answer(late))
    return parked


def _deadline(ctx: RequestContext, timeout_ms: int | None) -> TimestampMs:
    if timeout_ms is None:
        timeout_ms = ctx.services.config.offsets_commit_timeout_ms
    return TimestampMs(ctx.services.clock.now_ms() + timeout_ms)


def client_host(ctx: RequestContext) -> str:
    """The client's address as Kafka shows it: `/127.0.0.1`."""
    return "/" + shown_host(ctx.connection.peer.host)


@lru_cache(MOST_HOSTS)
def shown_host(host: str) -> str:
    """As Java writes addresses: those of IPv6 in eight groups, mapped ones as IPv4."""
    host = host.removeprefix("::ffff:")
    address, percent, scope = host.partition("%")
    if ":" not in address:
        return host
    packed = socket.inet_pton(socket.AF_INET6, address)
    groups = (int.from_bytes(packed[at : at + 2]) for at in range(0, len(packed), 2))
    return ":".join(f"{group:x}" for group in groups) + percent + scope
