"""The homes that the contract of metadata stores runs over here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.metadata.store_homes import Home, in_memory, in_memory_with_a_log
from tests.stores.zookeeper_home import over_the_twin


@pytest.fixture(params=[in_memory, in_memory_with_a_log, over_the_twin])
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    home: Home = request.param()
    yield home
    home.store.close()
