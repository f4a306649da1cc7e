"""The texts of keys that do not act."""

from __future__ import annotations

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.described_texts import DESCRIBED


def test_no_key_is_told_twice() -> None:
    """One that acts by now is to be taken out of the table of those that do not."""
    told = {line.split()[0] for line in DESCRIBED.splitlines() if line and line[0] != " "}
    assert sorted(told & BROKER_KEYS.keys()) == []
