"""Fixtures for pytest: a Kafka for tests, there as soon as kafkalite is installed.

- `kafka`: one `Broker` for all tests of the session (of each worker, with pytest-xdist).
- `kafka_broker`: a fresh `Broker` for one test; `@pytest.mark.kafka_broker(topics=...,
  settings=...)` says how it is to be, in the arguments of `Broker`.
- `kafka_topic`: the name of a fresh topic on the broker of `kafka`; `@pytest.mark.kafka_topic(
  partitions=..., configs=...)` takes the arguments of `Broker.create_topic`.

Settings for all of them: `kafkalite_settings` in pytest's configuration, one KEY=VALUE a line, and
`--kafkalite-set KEY=VALUE`, which is stronger. A project that wants another `kafka` defines a
fixture of that name; `kafka_topic` uses it.

Every pytest of an environment with kafkalite imports this module, so nothing else is imported until
a fixture is used.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkalite.testing.broker import Broker

_NO_TOPIC_NAME = re.compile(r"[^a-zA-Z0-9._-]+")
_LONGEST_NAME = 200
"""Kafka's limit is 249; the number comes behind it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """See the module."""
    parser.getgroup("kafkalite").addoption(
        "--kafkalite-set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a broker setting by Kafka's name for the fixtures kafka and kafka_broker, such as "
        "num.partitions=3; may be repeated",
    )
    parser.addini(
        "kafkalite_settings",
        "broker settings by Kafka's names for the fixtures kafka and kafka_broker, KEY=VALUE",
        type="linelist",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    """See the module."""
    for line in (
        "kafka_broker(topics, settings, data, port, users): how the broker of the fixture "
        "kafka_broker is to be; the arguments are those of kafkalite.testing.Broker.",
        "kafka_topic(partitions, configs): how the topic of the fixture kafka_topic is to be.",
    ):
        config.addinivalue_line("markers", line)


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[Broker]:
    """A Kafka broker for all tests, in memory: clients connect to `kafka.bootstrap`."""
    with _running(pytestconfig, {}) as broker:
        yield broker


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A Kafka broker of this test's own, in memory: clients connect to `kafka_broker.bootstrap`."""
    from kafkalite.testing.broker import Broker

    with _running(request.config, _marked(request, "kafka_broker", Broker)) as broker:
        yield broker


@pytest.fixture(scope="session")
def _kafka_topic_numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def kafka_topic(
    kafka: Broker, request: pytest.FixtureRequest, _kafka_topic_numbers: Iterator[int]
) -> str:
    """The name of a new topic on the broker of `kafka`: the test's own name, and a number."""
    test = _NO_TOPIC_NAME.sub("-", request.node.name)[:_LONGEST_NAME].strip("-.")
    name = f"{test}-{next(_kafka_topic_numbers)}"
    with _told_in_one_line():
        kafka.create_topic(
            name, **_marked(request, "kafka_topic", partial(kafka.create_topic, name))
        )
    return name


def _marked(
    request: pytest.FixtureRequest, name: str, takes: Callable[..., object]
) -> dict[str, Any]:
    """The arguments of the nearest mark of that name, for `takes`. `Any`: that one checks what they
    are."""
    mark = request.node.get_closest_marker(name)
    if mark is None:
        return {}
    if mark.args:
        pytest.fail(f"@pytest.mark.{name}: name the arguments, as in topics=...", pytrace=False)
    known = [each for each in signature(takes).parameters if each != "name"]
    for argument in mark.kwargs:
        if argument not in known:
            pytest.fail(
                f"@pytest.mark.{name}: there is no argument {argument}; there are "
                f"{', '.join(known)}",
                pytrace=False,
            )
    return dict(mark.kwargs)


@contextmanager
def _running(config: pytest.Config, arguments: dict[str, Any]) -> Iterator[Broker]:
    """A broker with the arguments of a mark, over what pytest is set to."""
    from kafkalite.testing.broker import Broker

    with _told_in_one_line():
        settings = arguments.pop("settings", {})
        if isinstance(settings, Mapping):  # If not, the broker says so.
            settings = {**_settings(config), **settings}
        broker = Broker(settings=settings, **arguments).start()
    try:
        yield broker
    finally:
        with _told_in_one_line():
            broker.stop()


def _settings(config: pytest.Config) -> dict[str, str]:
    """What pytest is set to. `ValueError` for what is no KEY=VALUE."""
    sources = (
        ("kafkalite_settings", config.getini("kafkalite_settings")),
        ("--kafkalite-set", config.getoption("kafkalite_set")),
    )
    settings = {}
    for source, texts in sources:
        for text in texts:
            key, equals, value = text.partition("=")
            if not equals or not key.strip():
                raise ValueError(f"{source}: {text}: expected KEY=VALUE, such as num.partitions=3")
            settings[key.strip()] = value.strip()
    return settings


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """What a person can mend fails the test without our traceback."""
    from kafkalite.testing.broker import BrokerError

    try:
        yield
    except (BrokerError, ValueError) as error:
        pytest.fail(str(error), pytrace=False)
