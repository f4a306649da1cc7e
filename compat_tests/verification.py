"""`transaction.partition.verification.enable` of the broker under test, while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compat_tests.golden import Golden

SET, DELETE = 0, 1
ABORTABLE = 120


def _alter(golden: Golden, operation: int, value: str | None) -> None:
    config = {
        "name": "transaction.partition.verification.enable",
        "config_operation": operation,
        "value": value,
    }
    resource = {"resource_type": 4, "resource_name": "", "configs": [config]}
    asked = {"resources": [resource], "validate_only": False}
    assert not golden.errors(golden.call("IncrementalAlterConfigs", 1, asked))


@contextmanager
def unverified(golden: Golden) -> Iterator[None]:
    """Inside, old clients may soon write to partitions that they have not added; behind it, soon no
    more."""
    _alter(golden, SET, "false")
    try:
        yield
    finally:
        _alter(golden, DELETE, None)
