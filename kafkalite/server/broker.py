"""The life of one broker: it starts, joins the cluster, and stops. It lives in an `async with`:
leaving it means that all is closed. What it consists of: `broker_parts.py`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.features import SUPPORTED
from kafkalite.errors import InvariantError
from kafkalite.log.directory_set import Place
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.effective_configs import concerns_brokers
from kafkalite.metadata.image import BrokerImage, MetadataImage
from kafkalite.metadata.store import BrokerRegistration, MetadataSession, MetadataStore
from kafkalite.ports.network import Address, Network
from kafkalite.server.broker_parts import BrokerParts, Ports
from kafkalite.server.housekeeping import Housekeeping
from kafkalite.server.interceptor import Interceptor
from kafkalite.server.late_loading import load_the_rest
from kafkalite.server.listeners import Listeners
from kafkalite.server.membership import Membership
from kafkalite.server.metadata_upkeep import MetadataUpkeep
from kafkalite.server.storage import Storage
from kafkalite.types import NO_BROKER_EPOCH, Uuid

if TYPE_CHECKING:
    from kafkalite.server.cluster_link import ClusterLink

_log = logging.getLogger(__name__)

SYNC_WITHIN_MS = 3_000
"""How long answers may wait for a sync that is under way when the broker stops."""
STOP_WITHIN_MS = 3_000
"""How long answers that are made already may take to leave when the broker stops."""


class Broker:
    """Starts on entering, stops on leaving."""

    def __init__(
        self,
        config: BrokerConfig,
        ports: Ports,
        *,
        location: str,
        more_places: Sequence[Place] = (),
        store: MetadataStore | None = None,
        has_kafkas_beside_it: bool = False,
        interceptor: Interceptor | None = None,
        checks_views: bool = False,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`location` names the log folder to people; `more_places` are further ones, in the order
        of `log.dirs`. Without `store` the broker is a cluster of its own, whose metadata is kept in
        its first log folder. `has_kafkas_beside_it`: brokers of Kafka may be in the cluster, so
        everyone is told what brokers ask each other, as in Kafka's clusters over ZooKeeper.
        `checks_views`: see `ClientConnection`.
        `on_failure` is called once, when there is a `failure`: leave the broker then."""
        self._config = config
        self._ports = ports
        self._places = (Place(location, ports.files), *more_places)
        self._store = store
        self._has_kafkas_beside_it = has_kafkas_beside_it
        self._interceptor = interceptor
        self._checks_views = checks_views
        self._tasks = asyncio.TaskGroup()
        self._listeners = Listeners(config, ports.network, ports.clock, checks_views=checks_views)
        self._housekeeping: Mapping[str, Housekeeping] = {}
        self._upkeep: MetadataUpkeep | None = None
        self._session: MetadataSession | None = None
        self._on_failure = on_failure
        self._is_killed = False
        self._hands_over = True
        self.failure: InvariantError | None = None
        """What must hold and does not. The broker answers nothing from then on, and leaves its
        folder as a crash would, so that the next start checks it."""

    async def __aenter__(self) -> Self:
        """Open the log folder, join the cluster, listen. `LogDirectoryError` when the folder must
        not be used, `OSError` when an address cannot be had; nothing is left open then."""
        await self._tasks.__aenter__()
        config, ports = self._config, self._ports
        storage = self._storage = Storage(
            config,
            self._places,
            ports.clock,
            ports.entropy,
            store=self._store,
        )
        try:
            parts = self._parts = BrokerParts(
                config,
                ports,
                self._tasks,
                storage,
                is_alone=self._store is None,
                has_kafkas_beside_it=self._has_kafkas_beside_it,
                checks_views=self._checks_views,
                fail=self.fail,
                folder_failed=self._folder_failed,
            )
            self._services = parts.services
            self._housekeeping = parts.housekeeping
            self._upkeep = parts.upkeep
            dispatcher = parts.new_dispatcher(self._interceptor)
            self._listeners.start(dispatcher.handle, partial(parts.open_gate, dispatcher))
            self._session = storage.store.open_session(
                config.node_id, parts.controller.on_store_event
            )
            self._join(self._session)
            if self.failure is not None:
                raise self.failure
        except BaseException:
            await self._abandon()
            raise
        return self

    def all_stop(self) -> None:
        """The whole cluster is about to stop: nobody takes anything over, and nobody misses
        anybody."""
        self._hands_over = False
        self._parts.controller.stop()
        if self.link is not None:
            self.link.stop()

    async def kill(self) -> None:
        """End as when its process dies: answer nothing more, write nothing more, leave the folder
        for the next start to check. Leaving the broker does nothing then."""
        self._is_killed = True
        self._listeners.hang_up()
        await self._let_go()

    async def _let_go(self) -> None:
        self._services.produce_order.stop()
        self._parts.controller.stop()
        if self.link is not None:
            self.link.stop()
        with suppress(OSError):  # The reason why it ends says more.
            await self._abandon()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let answers leave, close every log, and put the clean stop on record; after a `failure`
        only let go."""
        if self._is_killed:
            return
        if self.failure is not None:
            await self._let_go()
            return
        if self.link is not None and self._hands_over:
            await self.link.hand_over()
        # Last in, first out; each step is taken whatever the ones before it raise.
        async with AsyncExitStack() as end:
            end.callback(self._ports.workers.close)
            end.push_async_callback(self._close_storage)
            end.push_async_callback(self._tasks.__aexit__, None, None, None)
            end.callback(self._storage.close_store)
            if self._session is not None:
                end.callback(self._session.close)
            end.callback(self._parts.controller.stop)
            if self.link is not None:
                end.callback(self.link.stop)
            end.callback(self._leave)
            for each in self._housekeeping.values():
                end.callback(each.stop)
            if self._upkeep is not None:
                end.callback(self._upkeep.stop)
            end.callback(self._parts.reports.stop)
            end.callback(self._parts.moves.stop)
            end.callback(self._parts.replicas.stop)
            end.callback(self._services.produce_order.stop)
            until_ms = self._ports.clock.now_ms() + SYNC_WITHIN_MS
            for each in self._housekeeping.values():
                await each.flusher.finish(until_ms)
            self._parts.replicas.wake_all()
            self._parts.coordinators.stop()
            await self._listeners.stop(self._ports.clock.now_ms() + STOP_WITHIN_MS)

    def _leave(self) -> None:
        me = self.image.brokers.get(self._config.node_id)
        if me is not None:
            self._parts.controller.leave(me)

    async def _close_storage(self) -> None:
        """Put the clean stop on record."""
        me = self.image.brokers.get(self._config.node_id)
        await self._storage.close(
            self._ports.workers,
            broker_epoch=NO_BROKER_EPOCH if me is None else me.epoch,
            high_watermarks=self._parts.replicas.high_watermarks(),
        )

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All that is listened on, the first listener's first."""
        return self._listeners.addresses

    def network_to(self, listener: str | None = None) -> Network:
        """As whoever dials that listener from this process needs it, TLS and all; None: the first
        listener."""
        return self._listeners.network_to(listener)

    @property
    def link(self) -> ClusterLink | None:
        """To the other brokers; None where it is a cluster of its own."""
        return self._parts.link

    @property
    def cluster_id(self) -> str:
        """The 22 characters that name the cluster for good."""
        return self._services.cluster_id

    @property
    def image(self) -> MetadataImage:
        """The metadata as this broker sees it."""
        return self._parts.replicas.image

    def lost_replicas(self) -> tuple[tuple[Uuid, int], ...]:
        """See `ReplicaManager.lost`."""
        return self._parts.replicas.lost()

    def replicas_offline(self, broker: BrokerImage, replicas: tuple[tuple[Uuid, int], ...]) -> None:
        """To the controller, if it is here: what that broker has said to be on no disk."""
        from kafkalite.controller.events import FailReplicas  # Nothing that a start needs.

        self._parts.controller.tell(FailReplicas(broker.id, broker.epoch, replicas))

    def fail(self, error: InvariantError) -> None:
        """Stop for good: close every connection, answer and accept nothing more."""
        if self.failure is not None:
            return
        self.failure = error
        _log.critical("The broker stops: %s", error, exc_info=error)
        self._listeners.hang_up()
        self._on_failure()

    def _join(self, session: MetadataSession) -> None:
        """Register, become what the metadata says, and be a candidate for controller."""
        is_first = True
        incarnation_id = self._ports.entropy.uuid()
        membership = Membership(
            self._config.node_id,
            incarnation_id,
            waits=self.link is not None and not self._has_kafkas_beside_it,
        )

        def folded(image: MetadataImage, delta: MetadataDelta) -> None:
            nonlocal is_first
            image, delta = membership.seen(image, delta)
            if is_first:
                removed = self._storage.removed_topics.union(each.id for each in delta.deleted)
                self._parts.replicas.homes.set_strays_aside(image, removed)
                is_first = False
            if self.link is not None:
                self.link.peers.apply(image, delta)
            if concerns_brokers(delta):
                self._listeners.limit(self._parts.follow_settings(image))
            try:
                self._parts.replicas.apply(image, delta)
                self._parts.coordinators.apply(image, delta)
            except InvariantError as error:
                self.fail(error)
            if self.link is not None:
                self.link.awaited.apply(image)

        session.watch(folded)
        if self._upkeep is not None:
            session.watch(self._upkeep.watch)
        for directory in self._storage.directories.live:
            chores = self._housekeeping[directory.location]
            chores.start(partial(self._parts.replicas.held, directory))
        session.register(
            BrokerRegistration(
                broker_id=self._config.node_id,
                incarnation_id=incarnation_id,
                endpoints=self._listeners.endpoints,
                features=tuple(SUPPORTED.items()),
                rack=self._config.broker_rack,
                log_dirs=self._storage.directories.ids,
                previous_broker_epoch=self._storage.previous_broker_epoch,
            )
        )
        if self.link is not None:
            self.link.replication.start(self._parts.replicas.partitions)
        self._parts.controller.start(session)
        self._parts.moves.resume()
        load_the_rest(self._parts.coordinators, self._ports.clock, fail=self.fail)

    def _folder_failed(self) -> None:
        if self._session is not None:
            self._session.folder_failed()

    async def _abandon(self) -> None:
        """Undo a start that failed half-way; the folder is left as a crash would leave it."""
        if self._session is not None:  # Else no timer of theirs is set.
            self._parts.coordinators.stop()
            self._parts.replicas.abandon()
        async with AsyncExitStack() as end:
            end.push_async_callback(self._tasks.__aexit__, None, None, None)
            end.callback(self._ports.workers.close)
            end.callback(partial(self._storage.abandon, is_untouched=self._session is None))
            if self._session is not None:
                end.callback(self._session.close)
                end.callback(self._parts.moves.stop)
            for each in self._housekeeping.values():
                end.callback(each.stop)
            if self._upkeep is not None:
                end.callback(self._upkeep.stop)
            await self._listeners.stop(self._ports.clock.now_ms())
