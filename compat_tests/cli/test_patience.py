"""A cluster that is not ready yet is asked again, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from unittest.mock import Mock

import pytest

from compat_tests.cli.command_line import CommandLine
from kafkalite.cli import patience
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.schema import Request, Response, schema_of
from kafkalite.server.broker import Broker as ServerBroker
from kafkalite.server.interceptor import Refuse
from kafkalite.server.request import RequestContext
from kafkalite.testing import Broker

FIND = (ErrorCode.COORDINATOR_NOT_AVAILABLE,)
OF_COORDINATORS = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
OF_CONTROLLERS = (ErrorCode.NOT_CONTROLLER,)
RESET = ("groups", "reset", "g", "--topic", "t", "--to", "1", "--execute")
CASES = [
    (RESET, ApiKey.FIND_COORDINATOR, FIND),
    (RESET, ApiKey.OFFSET_FETCH, OF_COORDINATORS),
    (RESET, ApiKey.OFFSET_COMMIT, OF_COORDINATORS),
    (("groups", "list"), ApiKey.LIST_GROUPS, OF_COORDINATORS[:1]),
    (("groups", "list"), ApiKey.FIND_COORDINATOR, FIND),
    (("groups", "describe", "g"), ApiKey.DESCRIBE_GROUPS, OF_COORDINATORS),
    (("groups", "describe", "g"), ApiKey.OFFSET_FETCH, OF_COORDINATORS),
    (("groups", "delete", "g"), ApiKey.DELETE_GROUPS, OF_COORDINATORS),
    (("topics", "create", "u"), ApiKey.CREATE_TOPICS, OF_CONTROLLERS),
    (("topics", "delete", "t"), ApiKey.DELETE_TOPICS, OF_CONTROLLERS),
    (("topics", "alter", "t", "--partitions", "2"), ApiKey.CREATE_PARTITIONS, OF_CONTROLLERS),
    (
        ("configs", "set", "topic", "t", "retention.ms=1"),
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        OF_CONTROLLERS,
    ),
]
TIMES = 5
"""More than kafka-python asks again by itself."""


class NotReady:
    """Refuses one API's requests, so many times."""

    api: ApiKey | None = None
    code = ErrorCode.NONE
    times = 0

    def request(self, ctx: RequestContext, request: Request) -> Refuse | None:
        if self.times == 0 or schema_of(type(request)).api_key != self.api:
            return None
        self.times -= 1
        return Refuse(self.code)

    def response(self, ctx: RequestContext, request: Request, response: Response) -> None:
        """As it is."""


@pytest.fixture
def not_ready(kafkalite: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[NotReady]:
    """Of a broker of the test's own, which has a topic and a group that has read from it."""
    fault = NotReady()
    faulty = partial(ServerBroker, interceptor=fault)
    monkeypatch.setattr("kafkalite.testing.broker_thread.Broker", faulty)
    monkeypatch.setattr(patience, "_PAUSE_S", 0)
    with Broker(topics={"t": 1}) as broker:
        monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap)
        kafkalite("produce", "t", typed=b"a\nb\n")
        kafkalite(*RESET)
        yield fault


@pytest.mark.parametrize(
    ("words", "api", "code"),
    [(words, api, code) for words, api, codes in CASES for code in codes],
    ids=lambda value: value.name if isinstance(value, ErrorCode | ApiKey) else value[1],
)
def test_it_is_asked_until_it_is_ready(
    kafkalite: CommandLine,
    not_ready: NotReady,
    words: tuple[str, ...],
    api: ApiKey,
    code: ErrorCode,
) -> None:
    not_ready.api, not_ready.code, not_ready.times = api, code, TIMES
    kafkalite(*words)
    assert not_ready.times == 0, "it was asked"


@pytest.mark.parametrize("api", [ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_COMMIT])
def test_it_is_not_asked_for_ever(
    kafkalite: CommandLine,
    not_ready: NotReady,
    api: ApiKey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By time, however long each answer takes."""
    monkeypatch.setattr("kafkalite.ports.clock.RealClock", lambda: StrangeClock(not_ready))
    not_ready.api, not_ready.code, not_ready.times = api, ErrorCode.NOT_COORDINATOR, 100
    line = kafkalite.refusal(*RESET)
    assert not_ready.times == 97
    assert "NOT_COORDINATOR" in line
    assert line.endswith("try again in a while")


class StrangeClock:
    """Each answer that is not ready takes 10 s."""

    def __init__(self, not_ready: NotReady) -> None:
        self._not_ready = not_ready

    def now_ms(self) -> int:
        return (100 - self._not_ready.times) * 10_000


def test_only_what_was_not_ready_is_asked_again() -> None:
    asked: list[list[str]] = []

    def ask(names: list[str]) -> dict[str, int]:
        asked.append(list(names))
        late = ErrorCode.NOT_COORDINATOR if len(asked) == 1 else ErrorCode.NONE
        return {name: late if name == "b" else ErrorCode.NONE for name in names}

    answers = patience.each_when_ready(Mock(), ["a", "b", "a"], ask, lambda code: code)
    assert asked == [["a", "b"], ["b"]]
    assert answers == {"a": 0, "b": 0}
