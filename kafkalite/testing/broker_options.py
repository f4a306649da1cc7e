"""What a `testing.Broker` is asked to be, checked before anything starts. Each mistake is a
`ValueError` of one line that names the argument and the remedy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from logging import INFO, WARNING, getLogger
from types import MappingProxyType
from typing import TypeGuard

from kafkalite.config.environment import Given
from kafkalite.config.known import Kind, kind_of, meant_by
from kafkalite.config.listeners import (
    PLAINTEXT,
    ListenersError,
    is_controller_alone,
    parse_ip_limits,
)
from kafkalite.config.review import review
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import KafkaError
from kafkalite.server.secured import check_security
from kafkalite.testing.users import LISTENER, settings_of

_log = getLogger(__name__)

NOBODY: Mapping[str, str] = MappingProxyType({})
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
        if not isinstance(name, str) or not _is_number(partitions):
            raise ValueError(
                f"topics: {name!r}: {partitions!r}: expected partitions by name, such as 'a': 3"
            )
        checked[name] = partitions
    return checked


def checked_data(data: object) -> str | None:
    """The whole path of the log folder; None: memory."""
    path = os.fspath(data) if isinstance(data, os.PathLike) else data
    if path is None:
        return None
    if not isinstance(path, str) or not path or "\0" in path:
        raise ValueError(f"data={data!r}: expected the path of a folder, or None for memory")
    return os.path.abspath(path)


def checked_settings(settings: object) -> dict[str, str]:
    """By key, as text.

    Names that no broker knows are refused, though `kafkalite serve` only warns of them: in a test
    such a name is a slip."""
    texts = _texts(settings, "settings", "num.partitions")
    for key in texts:
        if key in _PLACES:
            raise ValueError(f"settings: {key}: use the argument data= instead")
        if kind_of(key) is Kind.UNKNOWN:
            meant = meant_by(key, texts)
            hint = "" if meant is None else f"; is it {meant}?"
            raise ValueError(f"settings: {key}: no such broker setting{hint}")
    try:
        notes = review({key: Given(text, "settings") for key, text in texts.items()})
    except KafkaError as error:
        raise ValueError(error.message) from error
    if is_controller_alone(texts):
        raise ValueError("settings: process.roles=controller: it would be no broker; leave it out")
    for note in notes:
        _log.log(WARNING if note.startswith("warning: ") else INFO, note)
    return texts


def checked_topic_configs(configs: object) -> dict[str, str]:
    """By key, as text. Whether there is such a key and it takes the value, the broker says."""
    return _texts(configs, "configs", "segment.bytes")


def make_config(
    settings: Mapping[str, str],
    *,
    port: object,
    location: str,
    has_others: bool = False,
    users: Mapping[str, str] = NOBODY,
) -> BrokerConfig:
    """`settings` over the defaults of a broker for tests, which may have others beside it; `users`
    are passwords by name of those whom alone it lets in."""
    if not _is_number(port) or not 0 <= port <= _MAX_PORT:
        raise ValueError(f"port={port!r}: not a number from 0 to {_MAX_PORT}")
    if port and "listeners" in settings:
        raise ValueError("port= and the setting listeners say the same thing; use one of them")
    if users and "listeners" in settings:
        raise ValueError(
            "users= makes a listener of its own; leave out the setting listeners, or say in "
            "settings what SASL is spoken there"
        )
    try:
        config = BrokerConfig.of(
            {
                "listeners": f"{LISTENER if users else PLAINTEXT}://localhost:{port}",
                **(settings_of(users) if users else {}),
                "kafkalite.record.validation": "full",
                **settings,
                "log.dirs": location,
            }
        )
        check_security(config, has_others=has_others)
        parse_ip_limits(config)
    except ListenersError as error:
        remedy = f"; {error.remedy}" if error.remedy else ""
        raise ValueError(f"settings: {error.message.removesuffix('.')}{remedy}") from error
    except KafkaError as error:
        raise ValueError(f"settings: {error.message}") from error
    return config


def _texts(settings: object, argument: str, example: str) -> dict[str, str]:
    expected = f"expected values by Kafka's names, such as {example!r}: 3"
    if not isinstance(settings, Mapping):
        raise ValueError(f"{argument}={settings!r}: {expected}")
    texts = {}
    for key, value in settings.items():
        if not isinstance(key, str) or not isinstance(value, Setting):
            raise ValueError(f"{argument}: {key!r}: {value!r}: {expected}")
        texts[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def _is_number(value: object) -> TypeGuard[int]:
    """Truth values are numbers to Python, and slips here."""
    return isinstance(value, int) and not isinstance(value, bool)
