"""The table against what a fresh Kafka 4.4.0 describes."""

from __future__ import annotations

import pytest

from kafkalite.config.keys import Synonym
from kafkalite.config.topic_keys import TOPIC_KEYS
from tests.config.described import DESCRIBED_TOPIC


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
