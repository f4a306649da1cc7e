"""The table against what a fresh Kafka 4.4.0 describes."""

from __future__ import annotations

from kafkalite.config.group_keys import GROUP_KEYS
from tests.config.described import DESCRIBED, shown, told


def test_they_are_as_kafka_describes_them() -> None:
    assert shown(GROUP_KEYS.values()) == told(DESCRIBED["group"])


def test_their_defaults_are_shown_as_they_stand_there() -> None:
    for key in GROUP_KEYS.values():
        assert key.default is not None
        assert key.show(key.default) == key.default
        assert key.doc.endswith(".")
