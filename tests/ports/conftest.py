"""What the contracts of ports run over here, where nothing but Python is needed."""

from __future__ import annotations

import pytest

from tests.ports.zookeeper_kinds import Bench, MemoryBench


@pytest.fixture
def bench() -> Bench:
    """An ensemble for the contract of the ZooKeeper port."""
    return MemoryBench()
