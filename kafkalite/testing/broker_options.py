"""What a `testing.Broker` is asked to be, checked before anything starts. Each mistake is a
`ValueError` of one line that names the argument and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from logging import INFO, WARNING, getLogger

from kafkalite.config.environment import Given
from kafkalite.config.known import Kind, kind_of, nearest
from kafkalite.config.listeners import parse_ip_limits, parse_listeners
from kafkalite.config.review import review
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import KafkaError

_log = getLogger(__name__)

_MAX_PORT = 65535
_PLACES = ("log.dir", "log.dirs")

Setting = str | int | float | bool
"""Kafka's settings are texts; numbers and truth values are written as Kafka reads them."""


def checked_topics(topics: object) -> dict[str, int]:
    """Whether names and numbers are good, the broker says."""
    if not isinstance(topics, Mapping):
        raise ValueError(f"topics={topics!r}: expected partitions by name, such as {{'a': 3}}")
    checked = {}
    for name, partitions in topics.items():
        if not isinstance(name, str) or not isinstance(partitions, int):
            raise ValueError(
                f"topics: {name!r}: {partitions!r}: expected partitions by name, such as 'a': 3"
            )
        checked[name] = partitions
    return checked


def checked_settings(settings: Mapping[str, Setting]) -> dict[str, str]:
    """By key, as text.

    Names that no broker knows are refused, though `kafkalite serve` only warns of them: in a test
    such a name is a slip."""
    texts = {key: _text(value) for key, value in settings.items()}
    for key in texts:
        if key in _PLACES:
            raise ValueError(f"settings: {key}: use the argument data= instead")
        if kind_of(key) is Kind.UNKNOWN:
            raise ValueError(f"settings: {key}: no such broker setting; is it {nearest(key)}?")
    try:
        notes = review({key: Given(text, "settings") for key, text in texts.items()})
    except KafkaError as error:
        raise ValueError(error.message) from error
    for note in notes:
        _log.log(WARNING if note.startswith("warning: ") else INFO, note)
    return texts


def checked_topic_configs(configs: Mapping[str, Setting]) -> dict[str, str]:
    """By key, as text. What is wrong with them, the broker says."""
    return {key: _text(value) for key, value in configs.items()}


def make_config(settings: Mapping[str, str], *, port: object, location: str) -> BrokerConfig:
    """`settings` over the defaults of a broker for tests."""
    if not isinstance(port, int) or not 0 <= port <= _MAX_PORT:
        raise ValueError(f"port={port!r}: not a number from 0 to {_MAX_PORT}")
    if port and "listeners" in settings:
        raise ValueError("port= and the setting listeners say the same thing; use one of them")
    try:
        config = BrokerConfig.of(
            {
                "listeners": f"PLAINTEXT://localhost:{port}",
                "kafkalite.record.validation": "full",
                **settings,
                "log.dirs": location,
            }
        )
        parse_listeners(config)
        parse_ip_limits(config)
    except KafkaError as error:
        raise ValueError(f"settings: {error.message}") from error
    return config


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
