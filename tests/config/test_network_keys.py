"""The table against what a fresh Kafka 4.4.0 describes; values and ranges: `test_keys.py`."""

from __future__ import annotations

from kafkalite.config.network_keys import NETWORK_KEYS
from tests.config.described import judge


def test_they_have_kafkas_types_and_defaults() -> None:
    for key in NETWORK_KEYS:
        judge(key)


def test_each_is_there_once() -> None:
    names = [key.name for key in NETWORK_KEYS]
    assert len(names) == len(set(names))
