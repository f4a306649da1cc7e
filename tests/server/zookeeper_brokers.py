"""Whole brokers over an ensemble in this process, in virtual time: as `kafkalite serve --zookeeper`
makes them, over the memory network, each with a disk that can lose power."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.workers import InlineWorkers
from kafkalite.ports.zookeeper import ZooKeeperEvent
from kafkalite.ports.zookeeper_memory import MemoryZooKeeper, MemoryZooKeeperSession
from kafkalite.server import zookeeper_membership
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.zookeeper_membership import Membership
from kafkalite.testing.simulation import Simulation
from tests.server.running import PORT
from tests.server.running_cluster import Cluster, host


class ZooKeeperCluster(Cluster):
    """See `Cluster`. Instead of the store's image there is that of a broker."""

    def __init__(self, simulation: Simulation, settings: Mapping[str, str]) -> None:
        super().__init__(simulation, settings)
        self.zookeeper = MemoryZooKeeper(asyncio.get_running_loop().call_soon)
        self.memberships: dict[int, Membership] = {}
