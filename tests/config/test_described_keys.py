"""The tables against what a fresh Kafka 4.4.0 describes (`tests/data/configs.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.described_keys import (
    broker_keys,
    internal_keys,
)
from kafkalite.config.keys import ConfigKey, ConfigType

# Any: JSON.
DESCRIBED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "configs.json").read_text()
)
KNOWN = {entry["name"]: entry for entry in DESCRIBED["broker"] if entry["config_type"]}
"""Without `super.users`, which is no key of the broker's but was set."""
STATIC, DEFAULT = 4, 5
# Any: JSON.
RECORDED: dict[str, dict[str, Any]] = {
    row["name"]: row
    for row in map(
        json.loads, (Path(__file__).parent / "broker-config-keys.jsonl").read_text().splitlines()
    )
}
"""What the real broker's own table of its keys has, internal ones too."""


def test_all_broker_keys_are_kafkas_or_ours() -> None:
    names = {name for name in broker_keys() if not name.startswith("kafkalite.")}
    assert names == KNOWN.keys()


@pytest.mark.parametrize("name", KNOWN)
def test_broker_key_is_as_kafka_describes_it(name: str) -> None:
    key, entry = broker_keys()[name], KNOWN[name]
    assert key.type == entry["config_type"]
    assert key.is_read_only == entry["read_only"]
    assert key.is_sensitive == entry["is_sensitive"]
    if name not in BROKER_KEYS:  # Theirs are held against it in `test_broker_keys.py`.
        defaults = [s["value"] for s in entry["synonyms"] if s["source"] == DEFAULT]
        is_set = entry["config_source"] == STATIC
        assert key.default == (next(iter(defaults), None) if is_set else entry["value"])


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_allowed_is_what_the_real_broker_says(name: str) -> None:
    """Its own words for it, made of our facts."""
    key, row = {**broker_keys(), **internal_keys()}[name], RECORDED[name]
    assert key.type.name == row["type"]
    assert key.is_internal == row["internal"]
    if not name.endswith(".compression.codec"):  # Its table takes any number; its codecs do not.
        assert (validator(key) or None) == (row["allowed"] or None)
    if name not in BROKER_KEYS:
        assert key.default == row["default"]


def validator(key: ConfigKey) -> str:
    """As Kafka prints it; of lists, what their items may be."""
    if key.name == "group.consumer.assignors":
        return ""  # Kafka looks the names up later.
    if key.type is ConfigType.LIST and key.form:
        return "non-empty list"
    if key.name == "authorizer.class.name":
        return "non-null string"
    choices = f"[{', '.join(key.one_of)}]" if key.one_of else ""
    if key.type is ConfigType.STRING and not key.may_be_empty:
        return "non-empty string"
    if choices and not key.is_case_sensitive:
        return f"(case insensitive) {choices}"
    if key.also is not None:
        return f"[{key.minimum},...,{key.maximum}] or {key.also}"
    if key.maximum is not None:
        return f"[{key.minimum},...,{key.maximum}]"
    return choices if key.minimum is None else f"[{key.minimum},...]"


def test_a_key_that_does_nothing_says_so() -> None:
    for name, key in broker_keys().items():
        if name not in BROKER_KEYS:
            assert key.doc.endswith(". Taken, and without effect here.")
            assert not key.doc.startswith(" ")


def test_what_broker_keys_act_is_told_by_their_own_table() -> None:
    for name, key in BROKER_KEYS.items():
        told = internal_keys() if key.is_internal else broker_keys()
        assert told[name]._replace(is_read_only=False) == key


def test_long_defaults_and_texts_of_several_lines_are_whole() -> None:
    keys = broker_keys()
    protocols = keys["listener.security.protocol.map"].default
    assert protocols is not None
    assert protocols.count(":") == 4
    assert keys["delegation.token.secret.key"] == ConfigKey(
        "delegation.token.secret.key",
        ConfigType.PASSWORD,
        None,
        "The secret that delegation tokens are signed with; not set: there are none. "
        "Taken, and without effect here.",
        is_read_only=True,
    )
