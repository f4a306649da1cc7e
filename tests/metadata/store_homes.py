"""Homes of the metadata, and hands on them that the port does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.store import BrokerRegistration, LiveBroker, MetadataStore
from kafkalite.stores.memory import MemoryStore
from kafkalite.stores.metadata_log import MetadataLog
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId, TimestampMs
from tests.controller.sample_cluster import uuid

CLUSTER_ID = "contract-AAAAAAAAAAAAA"


class Home(Protocol):
    """A store under test."""

    @property
    def store(self) -> MetadataStore: ...

    def settled(self, condition: Callable[[], bool]) -> None:
        """Return when it holds."""
        ...

    def expire(self, id: int) -> None:
        """End the session of that broker."""
        ...

    def depose(self) -> None:
        """Have another candidate elected in place of the controller."""
        ...

    def told(self, live: LiveBroker, registered: BrokerRegistration) -> BrokerRegistration:
        """How it tells the controller of what was registered."""
        ...


class MemoryHome:
    """Gives each answer within the call, and proves that."""

    def __init__(self, store: MemoryStore) -> None:
        self._memory = store
        self.store: MetadataStore = store

    def settled(self, condition: Callable[[], bool]) -> None:
        assert condition()

    def expire(self, id: int) -> None:
        self._memory.expire(BrokerId(id))

    def depose(self) -> None:
        self._memory.depose()

    def told(self, live: LiveBroker, registered: BrokerRegistration) -> BrokerRegistration:
        return registered


def in_memory() -> Home:
    return MemoryHome(MemoryStore(CLUSTER_ID, SteerableClock()))


def in_memory_with_a_log() -> Home:
    clock = SteerableClock()
    log = MetadataLog.open(
        MemoryFiles(),
        node_id=BrokerId(1),
        directory_id=uuid(1),
        now=TimestampMs(0),
        clean=True,
        formatted_with=(),
    )
    return MemoryHome(MemoryStore(CLUSTER_ID, clock, log))
