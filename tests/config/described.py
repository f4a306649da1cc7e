"""What a fresh Kafka 4.4.0 describes of its keys (`tests/data/configs.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkalite.config.dynamic import ConfigSource
from kafkalite.config.keys import ConfigKey

# Any: JSON.
DESCRIBED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "configs.json").read_text()
)
DESCRIBED_TOPIC = {entry["name"]: entry for entry in DESCRIBED["topic"]}
DESCRIBED_BROKER = {entry["name"]: entry for entry in DESCRIBED["broker"]}
OTHER_DEFAULT = {
    "node.id": "one broker needs no number from its user",
    "group.consumer.assignment.interval.ms": "groups form at once",
    "group.consumer.heartbeat.interval.ms": "groups form at once",
    "group.consumer.min.heartbeat.interval.ms": "as the default of what it bounds",
    "group.consumer.min.session.timeout.ms": "as the default of what it bounds",
    "group.consumer.session.timeout.ms": "who died is soon out",
    "group.initial.rebalance.delay.ms": "tests do not wait for members that do not come",
    "log.dir": "kafkalite has its own place for data",
    "socket.send.buffer.bytes": "measured: docs/decisions/0006-network.md",
    "socket.listen.backlog.size": "a thousand clients at once need not wait",
}
"""Why some defaults are not Kafka's."""


def judge(key: ConfigKey) -> None:
    """A broker key's type and default, where Kafka describes it."""
    entry = DESCRIBED_BROKER.get(key.name)
    if entry is None:
        assert key.is_internal or key.name.startswith("kafkalite.")
        return
    assert key.type == entry["config_type"]
    if key.name not in OTHER_DEFAULT:
        assert key.default == default_of(entry)


def default_of(entry: dict[str, Any]) -> str | None:
    """The broker that was described had some keys in its properties."""
    if entry["config_source"] == ConfigSource.DEFAULT:
        value: str | None = entry["value"]
        return value
    return next(
        (
            synonym["value"]
            for synonym in entry["synonyms"]
            if synonym["source"] == ConfigSource.DEFAULT and synonym["name"] == entry["name"]
        ),
        None,
    )


def shown(keys: Iterable[ConfigKey]) -> dict[str, tuple[int, str | None, list[str]]]:
    """Types, defaults and synonyms by name; `told` says what Kafka tells of them."""
    return {
        key.name: (key.type, key.default, [synonym.name for synonym in key.synonyms])
        for key in keys
    }


def told(entries: list[dict[str, Any]]) -> dict[str, tuple[int, str | None, list[str]]]:
    return {
        entry["name"]: (
            entry["config_type"],
            entry["value"],
            [synonym["name"] for synonym in entry["synonyms"]],
        )
        for entry in entries
    }
