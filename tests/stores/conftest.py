from __future__ import annotations

import pytest

from tests.stores.zookeeper_cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Nobody's yet."""
    return Cluster()
