"""The table against what a fresh Kafka 4.4.0 describes; values and ranges: `test_keys.py`."""

from __future__ import annotations

from kafkalite.config.cluster_keys import CLUSTER_KEYS
from tests.config.described import judge


def test_they_have_kafkas_types_and_defaults() -> None:
    for key in CLUSTER_KEYS:
        judge(key)


def test_each_is_there_once() -> None:
    names = [key.name for key in CLUSTER_KEYS]
    assert len(names) == len(set(names))
