"""Features of the cluster under test, set and told as raw requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compat_tests.golden import Fields, Golden, turns

TRANSACTIONS = "transaction.version"
GROUPS = "group.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
NEWEST = {TRANSACTIONS: 2, GROUPS: 1}
"""What a new cluster has."""


def update(
    golden: Golden, *updates: tuple[str, int, int], version: int = 2, validate_only: bool = False
) -> Fields:
    """Name, level and type of upgrade of each; the answer. What it did, the broker may learn a
    moment later."""
    asked = [
        {"feature": name, "max_version_level": level, "upgrade_type": upgrade_type}
        for name, level, upgrade_type in updates
    ]
    fields = {"timeout_ms": 30_000, "feature_updates": asked, "validate_only": validate_only}
    answer = golden.call("UpdateFeatures", version, fields)
    answer.pop("throttle_time_ms", None)
    return answer


def finalized(golden: Golden, name: str) -> int:
    """The level that the broker tells; 0 where it tells none."""
    asked = {"client_software_name": "test", "client_software_version": "1"}
    answer = golden.call("ApiVersions", 4, asked)
    levels = {each["name"]: each["max_version_level"] for each in answer["finalized_features"]}
    level: int = levels.get(name, 0)
    return level


def set_level(golden: Golden, name: str, level: int) -> None:
    """Lower or raise it, and wait until the broker has heard of it."""
    upgrade_type = UPGRADE if level >= finalized(golden, name) else SAFE_DOWNGRADE
    answer = update(golden, (name, level, upgrade_type))
    assert not answer["error_code"], answer
    for _ in turns(f"{name} is {level}"):
        if finalized(golden, name) == level:
            break


@contextmanager
def at_level(golden: Golden, name: str, level: int) -> Iterator[None]:
    """That level inside, and the newest behind."""
    set_level(golden, name, level)
    try:
        yield
    finally:
        set_level(golden, name, NEWEST[name])
