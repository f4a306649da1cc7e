"""One broker, put together: the only place that wires.

Made of a configuration and the ports, so that the same broker runs on sockets and disks, on a
frozen clock, in memory, or in a simulation. Lives in an `async with`: leaving it means that all is
closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.events import FailReplicas
from kafkalite.controller.features import SUPPORTED
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import InvariantError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet, Place
from kafkalite.log.files import Files
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.effective_configs import concerns_brokers, effective_broker_config
from kafkalite.metadata.image import BrokerImage, MetadataImage
from kafkalite.metadata.store import BrokerRegistration, MetadataSession, MetadataStore
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.network import Address, Network
from kafkalite.ports.workers import Workers
from kafkalite.protocol.messages.api_versions import ApiVersion
from kafkalite.replica.fetch_session import FetchSessions
from kafkalite.server.apis.table import APIS, listed
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.server.coordinators import Coordinators
from kafkalite.server.directory_reports import DirectoryReports
from kafkalite.server.dispatch import Dispatcher
from kafkalite.server.housekeeping import Housekeeping
from kafkalite.server.interceptor import Interceptor
from kafkalite.server.late_loading import load_the_rest
from kafkalite.server.listeners import Listeners
from kafkalite.server.membership import Membership
from kafkalite.server.partition import Partition
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.partition_homes import PartitionHomes
from kafkalite.server.recompressions import Recompressions
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.replica_moves import ReplicaMoves
from kafkalite.server.replica_roles import ReplicaRoles
from kafkalite.server.request import Services
from kafkalite.server.storage import Storage
from kafkalite.types import NO_BROKER_EPOCH, Uuid

if TYPE_CHECKING:
    from kafkalite.server.cluster_link import ClusterLink

_log = logging.getLogger(__name__)

SYNC_WITHIN_MS = 3_000
"""How long answers may wait for a sync that is under way when the broker stops."""
STOP_WITHIN_MS = 3_000
"""How long answers that are made already may take to leave when the broker stops."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The world, as far as a broker sees it."""

    clock: Clock
    entropy: Entropy
    network: Network
    files: Files
    workers: Workers


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
        clock = ports.clock
        storage = self._storage = Storage(
            config,
            self._places,
            clock,
            ports.entropy,
            store=self._store,
        )
        self._housekeeping = {
            directory.location: Housekeeping(
                self._tasks,
                ports.workers,
                clock,
                ports.entropy,
                directory,
                config,
                sync_metadata=storage.sync_metadata,
                on_refused=partial(self._disk_refused, directory),
                on_sync_refused=self._sync_refused,
                fail=self.fail,
            )
            for directory in storage.directories.live
        }
        try:
            self._services = self._wire(storage)
            self._listeners.start(self._new_dispatcher().handle)
            self._session = storage.store.open_session(
                config.node_id, self._controller.on_store_event
            )
            self._join(self._session)
            if self.failure is not None:
                raise self.failure
        except BaseException:
            await self._abandon()
            raise
        return self

    def _new_dispatcher(self) -> Dispatcher:
        services, link = self._services, self._link
        if link is None:
            return Dispatcher(services, APIS.find, self._interceptor, fail=self.fail)
        dispatcher = Dispatcher(
            services,
            lambda key: APIS.find(key) or link.apis.find(key),
            self._interceptor,
            fail=self.fail,
            inter_broker=link.listener,
        )
        forwarding = link.forwarding(APIS, dispatcher.handled)
        dispatcher.forwarding = services.envelopes = forwarding
        return dispatcher

    def _wire(self, storage: Storage) -> Services:
        """The parts that answer requests, of which none does anything yet."""
        config, ports = self._config, self._ports
        self._link = self._new_link()
        folders = {location: each.folders for location, each in self._housekeeping.items()}
        self._replicas = self._hold(storage.directories, folders)
        if self._link is None:
            self._controller = ControllerDriver(ports.clock, ControllerSettings.of(config))
        else:
            self._controller = self._link.controller
        self._reports = DirectoryReports(
            self._controller, lambda: self.image.brokers.get(config.node_id), ports.clock
        )
        self._moves = ReplicaMoves(
            self._tasks,
            ports.workers,
            ports.clock,
            ports.entropy,
            self._replicas,
            folders,
            on_settled=self._reports.settled,
        )
        self._coordinators = Coordinators(
            config,
            self._replicas,
            self._controller,
            ports.clock,
            route_markers=None if self._link is None else self._link.marker_routes,
            ask_elsewhere=None if self._link is None else self._link.verification_routes.ask,
        )
        return Services(
            broker_id=config.node_id,
            cluster_id=storage.store.cluster_id,
            config=config,
            clock=ports.clock,
            entropy=ports.entropy,
            replicas=self._replicas,
            controller=self._controller,
            coordinators=self._coordinators,
            moves=self._moves,
            recompressions=Recompressions(self._tasks, ports.workers, ports.clock, self._replicas),
            fetch_sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots),
            api_versions=cache(self._listed),
            peers=None if self._link is None else self._link.peers,
            any_is_controller=self._link is not None and not self._has_kafkas_beside_it,
            awaited=None if self._link is None else self._link.awaited,
        )

    def _listed(self) -> list[ApiVersion]:
        """What ApiVersions lists. Brokers of Kafka look there for what brokers ask each other."""
        if self._link is not None and self._has_kafkas_beside_it:
            return listed((*APIS, *self._link.apis))
        return listed(APIS)

    def _hold(
        self, directories: DirectorySet, folders: Mapping[str, PartitionFolders]
    ) -> ReplicaManager:
        """The replicas; none yet. `folders`: by the location of each log folder."""
        config, ports, link = self._config, self._ports, self._link
        return ReplicaManager(
            config.node_id,
            config,
            PartitionHomes(
                config.node_id,
                directories,
                folders,
                clock=ports.clock,
                entropy=ports.entropy,
                on_settled=lambda settled: self._reports.settled(settled),
                flush_later=self._flush_later,
            ),
            ReplicaRoles(config, ports.clock) if link is None else link.replication.roles,
            clock=ports.clock,
            on_failed=self._folder_failed,
            stop=self.fail,
        )

    def _new_link(self) -> ClusterLink | None:
        """None: a cluster of its own."""
        if self._store is None:
            return None
        from kafkalite.server.cluster_link import ClusterLink  # Nothing that a single one needs.

        return ClusterLink(
            self._config,
            self._ports.network,
            self._ports.clock,
            lambda: self.image,
            checks_views=self._checks_views,
            has_kafkas_beside_it=self._has_kafkas_beside_it,
        )

    def all_stop(self) -> None:
        """The whole cluster is about to stop: nobody takes anything over, and nobody misses
        anybody."""
        self._hands_over = False
        self._controller.stop()
        if self._link is not None:
            self._link.stop()

    async def kill(self) -> None:
        """End as when its process dies: answer nothing more, write nothing more, leave the folder
        for the next start to check. Leaving the broker does nothing then."""
        self._is_killed = True
        self._listeners.hang_up()
        await self._let_go()

    async def _let_go(self) -> None:
        self._controller.stop()
        if self._link is not None:
            self._link.stop()
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
        if self._link is not None and self._hands_over:
            await self._link.hand_over()
        # Last in, first out; each step is taken whatever the ones before it raise.
        async with AsyncExitStack() as end:
            end.callback(self._ports.workers.close)
            end.push_async_callback(self._close_storage)
            end.push_async_callback(self._tasks.__aexit__, None, None, None)
            end.callback(self._storage.close_store)
            if self._session is not None:
                end.callback(self._session.close)
            end.callback(self._controller.stop)
            if self._link is not None:
                end.callback(self._link.stop)
            end.callback(self._leave)
            for each in self._housekeeping.values():
                end.callback(each.stop)
            end.callback(self._reports.stop)
            end.callback(self._moves.stop)
            end.callback(self._replicas.stop)
            until_ms = self._ports.clock.now_ms() + SYNC_WITHIN_MS
            for each in self._housekeeping.values():
                await each.flusher.finish(until_ms)
            self._replicas.wake_all()
            self._coordinators.stop()
            await self._listeners.stop(self._ports.clock.now_ms() + STOP_WITHIN_MS)

    def _leave(self) -> None:
        me = self.image.brokers.get(self._config.node_id)
        if me is not None:
            self._controller.leave(me)

    async def _close_storage(self) -> None:
        """Put the clean stop on record."""
        me = self.image.brokers.get(self._config.node_id)
        await self._storage.close(
            self._ports.workers,
            broker_epoch=NO_BROKER_EPOCH if me is None else me.epoch,
            high_watermarks=self._replicas.high_watermarks(),
        )

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All that is listened on, the first listener's first."""
        return self._listeners.addresses

    @property
    def link(self) -> ClusterLink | None:
        """To the other brokers; None where it is a cluster of its own."""
        return self._link

    @property
    def cluster_id(self) -> str:
        """The 22 characters that name the cluster for good."""
        return self._services.cluster_id

    @property
    def image(self) -> MetadataImage:
        """The metadata as this broker sees it."""
        return self._replicas.image

    def lost_replicas(self) -> tuple[tuple[Uuid, int], ...]:
        """See `ReplicaManager.lost`."""
        return self._replicas.lost()

    def replicas_offline(self, broker: BrokerImage, replicas: tuple[tuple[Uuid, int], ...]) -> None:
        """To the controller, if it is here: what that broker has said to be on no disk."""
        self._controller.tell(FailReplicas(broker.id, broker.epoch, replicas))

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
            waits=self._link is not None and not self._has_kafkas_beside_it,
        )

        def folded(image: MetadataImage, delta: MetadataDelta) -> None:
            nonlocal is_first
            image, delta = membership.seen(image, delta)
            if is_first:
                removed = self._storage.removed_topics.union(each.id for each in delta.deleted)
                self._replicas.homes.set_strays_aside(image, removed)
                is_first = False
            if self._link is not None:
                self._link.peers.apply(image, delta)
            if concerns_brokers(delta):
                self._follow_settings(image)
            try:
                self._replicas.apply(image, delta)
                self._coordinators.apply(image, delta)
            except InvariantError as error:
                self.fail(error)
            if self._link is not None:
                self._link.awaited.apply(image)

        session.watch(folded)
        for directory in self._storage.directories.live:
            chores = self._housekeeping[directory.location]
            chores.start(partial(self._replicas.held, directory))
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
        if self._link is not None:
            self._link.replication.start(self._replicas.partitions)
        self._controller.start(session)
        self._moves.resume()
        load_the_rest(self._coordinators, self._ports.clock, fail=self.fail)

    def _follow_settings(self, image: MetadataImage) -> None:
        """Act by what the metadata says of this broker, where that may change while it runs."""
        config, left_out = effective_broker_config(image, self._config)
        for message in left_out:
            _log.warning("a setting of brokers in the metadata is not followed: %s", message)
        self._listeners.limit(config)
        self._replicas.configure(config)
        self._coordinators.configure(config)
        self._storage.directories.cordon(config.cordoned_log_dirs)
        for directory in self._storage.directories.live:
            directory.expire_producers_after(config.producer_id_expiration_ms)
        for each in self._housekeeping.values():
            each.configure(config)

    def _flush_later(self, partition: Partition) -> None:
        self._housekeeping[partition.directory.location].flusher.flush_later(partition)

    def _disk_refused(self, directory: LogDirectory, error: OSError) -> None:
        self._replicas.disk_refused(directory, error)

    def _sync_refused(self, partition: Partition, error: OSError) -> None:
        """Nobody knows what of its log is on the disk, nor would tell if it was asked again."""
        self._replicas.folder_failed(partition.directory, error)

    def _folder_failed(self, directory: LogDirectory) -> None:
        """Go on with the others."""
        self._housekeeping[directory.location].stop()
        self._reports.failed(directory.id)
        if self._session is not None:
            self._session.folder_failed()

    async def _abandon(self) -> None:
        """Undo a start that failed half-way; the folder is left as a crash would leave it."""
        if self._session is not None:  # Else no timer of theirs is set.
            self._coordinators.stop()
            self._replicas.abandon()
        async with AsyncExitStack() as end:
            end.push_async_callback(self._tasks.__aexit__, None, None, None)
            end.callback(self._ports.workers.close)
            end.callback(partial(self._storage.abandon, is_untouched=self._session is None))
            if self._session is not None:
                end.callback(self._session.close)
            for each in self._housekeeping.values():
                end.callback(each.stop)
            await self._listeners.stop(self._ports.clock.now_ms())
