"""A broker's place in a cluster that ZooKeeper keeps: found before the broker starts, left after it
has stopped."""

from __future__ import annotations

import asyncio
from functools import partial
from types import TracebackType
from typing import Self

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import MetadataStore, StoreNotReachedError
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.zookeeper_kazoo import KazooZooKeeper
from kafkalite.server.broker import Broker
from kafkalite.server.inter_broker import InterBrokerPushes
from kafkalite.server.zookeeper_settings import (
    connection_timeout_ms,
    ensemble_of,
    join_timeout_ms,
)
from kafkalite.stores.lasting import LastingStore
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.stores.zookeeper_founding import found_cluster
from kafkalite.types import format_uuid


class Membership:
    """Finds the cluster on entering, or makes it; on leaving waits until ZooKeeper knows that the
    broker is gone."""

    store: MetadataStore

    def __init__(self, config: BrokerConfig, hosts: str, clock: Clock, entropy: Entropy) -> None:
        self._config = config
        self._hosts = hosts
        self._clock = clock
        self._entropy = entropy
        self._joined = asyncio.Event()
        self._inner: ZooKeeperStore | None = None
        self._pushes: InterBrokerPushes | None = None

    async def __aenter__(self) -> Self:
        """`StoreNotReachedError` when `zookeeper.connection.timeout.ms` is over first, or a setting
        that says how to reach it cannot be followed."""
        loop = asyncio.get_running_loop()
        try:
            ensemble = ensemble_of(self._config, self._hosts)
            timeout_ms = connection_timeout_ms(self._config.settings)
            ControllerSettings.of(self._config, over_zookeeper=True)  # It refuses here, not later.
        except KafkaError as error:
            raise StoreNotReachedError(error.message) from error
        zookeeper = KazooZooKeeper(ensemble, loop.call_soon_threadsafe)
        found: asyncio.Future[str] = loop.create_future()
        wanted = self._config.kafkalite_cluster_id or format_uuid(self._entropy.uuid())
        founding = found_cluster(zookeeper, wanted, found.set_result)
        try:
            until_ms = self._clock.now_ms() + timeout_ms
            cluster_id = await self._clock.wait(found, until_ms)
        except TimeoutError:
            founding.close()
            raise StoreNotReachedError(
                f"ZooKeeper does not answer at {self._hosts}; is it running there?"
            ) from None
        self._inner = ZooKeeperStore(
            zookeeper,
            cluster_id,
            self._clock,
            self._entropy,
            on_fold=self._folded,
            deletes_topics=self._config.delete_topic_enable,
        )
        self.store = LastingStore(self._inner)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._inner is not None:
            self._inner.close()
            await self._inner.wait_closed()

    def attach(self, broker: Broker) -> None:
        """Tell the other brokers what this one decides as the controller. Before the loop runs
        again after it has started."""
        link, inner = broker.link, self._inner
        assert link is not None, "a broker of a cluster"
        assert inner is not None, "entered"
        self._pushes = InterBrokerPushes(
            self._config.node_id, link.listener, link.peers, self._clock
        )
        inner.spread = self._pushes.wait_answered
        inner.stop = self._pushes.stop
        inner.on_folder_failed = self._pushes.look_for_offline
        link.awaited.on_told = partial(inner.tell, self._config.node_id)
        link.controller.alter_own = partial(inner.alter_own, self._config.node_id)
        self._pushes.on_offline = broker.replicas_offline
        self._pushes.lost_here = broker.lost_replicas

    async def wait_joined(self) -> None:
        """Until this broker is a member, and has folded what the cluster has agreed on:
        `StoreNotReachedError` when that takes too long."""
        until_ms = self._clock.now_ms() + join_timeout_ms(self._config.settings)
        try:
            await self._clock.wait(self._joined.wait(), until_ms)
        except TimeoutError:
            raise StoreNotReachedError(
                f"broker {self._config.node_id} could not register at {self._hosts}:"
                " is another one running under that id?"
            ) from None

    def _folded(self, image: MetadataImage, delta: MetadataDelta) -> None:
        if self._pushes is not None:
            self._pushes.apply(image, delta)
        if self._inner is not None and self._inner.is_registered(self._config.node_id):
            self._joined.set()
