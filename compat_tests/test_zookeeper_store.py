"""The contract of metadata stores over a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from compat_tests.zookeeper_process import KazooBench, ZooKeeperProcess
from tests.metadata.store_homes import Home
from tests.metadata.test_store import *  # noqa: F403  # The contract: all its tests run here.
from tests.stores.zookeeper_home import ZooKeeperHome

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]


@pytest.fixture
def home(ensemble: ZooKeeperProcess, open_bench: Callable[[str], KazooBench]) -> Iterator[Home]:
    home = ZooKeeperHome(open_bench(ensemble.new_chroot()))
    yield home
    home.close()
