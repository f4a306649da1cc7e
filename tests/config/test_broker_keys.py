"""All tables together."""

from __future__ import annotations

import pytest

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.cluster_keys import CLUSTER_KEYS
from kafkalite.config.coordinator_keys import COORDINATOR_KEYS
from kafkalite.config.keys import ConfigKey
from kafkalite.config.log_keys import LOG_KEYS
from kafkalite.config.network_keys import NETWORK_KEYS
from kafkalite.config.topic_keys import TOPIC_KEYS
from tests.config.described import judge


@pytest.mark.parametrize("key", BROKER_KEYS.values(), ids=lambda key: key.name)
def test_broker_key_has_kafkas_type_and_default(key: ConfigKey) -> None:
    judge(key)


def test_no_key_stands_in_two_tables() -> None:
    names = [
        key.name
        for table in (CLUSTER_KEYS, COORDINATOR_KEYS, LOG_KEYS, NETWORK_KEYS)
        for key in table
    ]
    assert len(names) == len(set(names))


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
