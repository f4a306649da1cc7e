"""The tables against what a fresh Kafka 4.4.0 describes (`tests/data/configs.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config.definitions import BROKER_KEYS, TOPIC_KEYS
from kafkalite.config.dynamic import ConfigSource
from kafkalite.config.keys import ConfigKey, Synonym

# Any: JSON.
DESCRIBED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "configs.json").read_text()
)
DESCRIBED_TOPIC = {entry["name"]: entry for entry in DESCRIBED["topic"]}
DESCRIBED_BROKER = {entry["name"]: entry for entry in DESCRIBED["broker"]}
OTHER_DEFAULT = {
    "node.id": "one broker needs no number from its user",
    "group.initial.rebalance.delay.ms": "tests do not wait for members that do not come",
    "log.dir": "kafkalite has its own place for data",
    "socket.send.buffer.bytes": "measured: docs/decisions/0006-network.md",
    "socket.listen.backlog.size": "a thousand clients at once need not wait",
}


def test_topic_keys_are_those_that_kafka_describes() -> None:
    listed = {name for name, key in TOPIC_KEYS.items() if not key.is_internal}
    assert listed == DESCRIBED_TOPIC.keys()


@pytest.mark.parametrize("name", DESCRIBED_TOPIC)
def test_topic_key_has_kafkas_type_and_default(name: str) -> None:
    key, entry = TOPIC_KEYS[name], DESCRIBED_TOPIC[name]
    assert key.type == entry["config_type"]
    assert key.default == entry["value"]


@pytest.mark.parametrize("name", DESCRIBED_TOPIC)
def test_topic_key_has_kafkas_synonyms(name: str) -> None:
    """Kafka leaves the synonyms out that have no value of their own."""
    described = [synonym["name"] for synonym in DESCRIBED_TOPIC[name]["synonyms"]]
    assert set(described) <= {synonym.name for synonym in TOPIC_KEYS[name].synonyms}


@pytest.mark.parametrize("name", [name for name in BROKER_KEYS if name in DESCRIBED_BROKER])
def test_broker_key_has_kafkas_type_and_default(name: str) -> None:
    key, entry = BROKER_KEYS[name], DESCRIBED_BROKER[name]
    assert key.type == entry["config_type"]
    if name not in OTHER_DEFAULT:
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


def test_other_broker_keys_are_ours() -> None:
    unknown = [
        name
        for name, key in BROKER_KEYS.items()
        if name not in DESCRIBED_BROKER and not key.is_internal
    ]
    assert [name for name in unknown if not name.startswith("kafkalite.")] == []


def test_units_of_synonyms() -> None:
    """As Kafka's `ServerTopicConfigSynonyms` converts them."""
    assert TOPIC_KEYS["retention.ms"].synonyms == (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", 60_000),
        Synonym("log.retention.hours", 3_600_000),
    )
    assert TOPIC_KEYS["segment.ms"].synonyms[1] == Synonym("log.roll.hours", 3_600_000)
    assert TOPIC_KEYS["segment.jitter.ms"].synonyms[1] == Synonym(
        "log.roll.jitter.hours", 3_600_000
    )


def test_every_synonym_is_a_broker_key() -> None:
    for key in TOPIC_KEYS.values():
        for synonym in key.synonyms:
            assert synonym.name in BROKER_KEYS
            assert BROKER_KEYS[synonym.name].synonyms == ()


@pytest.mark.parametrize(
    "key", [*TOPIC_KEYS.values(), *BROKER_KEYS.values()], ids=lambda key: key.name
)
def test_key_is_documented_and_takes_its_own_default(key: ConfigKey) -> None:
    assert key.doc.endswith(".")
    if key.default is not None:
        assert key.parse(key.show(key.default)) == key.parse(key.default)


def test_tables_are_by_name() -> None:
    for keys in (TOPIC_KEYS, BROKER_KEYS):
        assert all(name == key.name for name, key in keys.items())
