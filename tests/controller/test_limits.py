from __future__ import annotations

from kafkalite.controller import limits


def test_the_limits_are_kafkas() -> None:
    """As asked of the real broker."""
    assert limits.MAX_PARTITIONS_PER_REQUEST == 10_000
    assert limits.MAX_RECORDS_PER_REQUEST == 10_000
