"""One broker, put together: the only place that wires.

Made of a configuration and the ports, so that the same broker runs on sockets and disks, on a
frozen clock, in memory, or in a simulation. Lives in an `async with`: leaving it means that all is
closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from kafkalite.config.listeners import parse_ip_limits, parse_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.controller.events import AllocateProducerIds, ProducerIdBlock
from kafkalite.controller.features import SUPPORTED, formatted_with
from kafkalite.controller.topics import TopicDefaults
from kafkalite.errors import ErrorCode, InvariantError, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import (
    NO_BROKER_EPOCH,
    BrokerRegistration,
    MetadataSession,
    MetadataStore,
)
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.network import Address, Network
from kafkalite.ports.workers import Workers
from kafkalite.protocol.messages.api_versions import ApiVersion
from kafkalite.replica.fetch_session import FetchSessions
from kafkalite.server.addresses import registered_endpoint
from kafkalite.server.apis.table import APIS
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.server.dispatch import Dispatcher
from kafkalite.server.group_coordinators import GroupCoordinators
from kafkalite.server.housekeeping import Housekeeping
from kafkalite.server.interceptor import Interceptor
from kafkalite.server.listener import ConnectionCounts, ConnectionLimits, ServerListener
from kafkalite.server.producer_ids import OnBlock, ProducerIds
from kafkalite.server.receive_buffer import BufferPool
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.request import Services, Session
from kafkalite.stores.memory import MemoryStore
from kafkalite.stores.metadata_log import MetadataLog
from kafkalite.types import format_uuid

_log = logging.getLogger(__name__)

STOP_WITHIN_MS = 3_000
"""How long answers that are made already may take to leave when the broker stops."""
_PARTIAL_FRAMES_BYTES = 1 << 28
"""All requests that have arrived in part, of all connections together."""


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
        store: MetadataStore | None = None,
        interceptor: Interceptor | None = None,
        checks_views: bool = False,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`location` names the log folder to people. Without `store` the broker is a cluster of its
        own, whose metadata is kept in its log folder. `checks_views`: see `ClientConnection`.
        `on_failure` is called once, when there is a `failure`: leave the broker then."""
        self._config = config
        self._wanted_listeners = parse_listeners(config)
        self._ports = ports
        self._location = location
        self._store = store
        self._interceptor = interceptor
        self._checks_views = checks_views
        self._tasks = asyncio.TaskGroup()
        self._listeners: list[ServerListener[Session]] = []
        self._owned_store: MetadataStore | None = None
        self._session: MetadataSession | None = None
        self._on_failure = on_failure
        self.failure: InvariantError | None = None
        """What must hold and does not. The broker answers nothing from then on, and leaves its
        folder as a crash would, so that the next start checks it."""

    async def __aenter__(self) -> Self:
        """Open the log folder, join the cluster, listen. `LogDirectoryError` when the folder must
        not be used, `OSError` when an address cannot be had; nothing is left open then."""
        await self._tasks.__aenter__()
        config, ports = self._config, self._ports
        clock = ports.clock
        self._directory = _open_directory(config, ports, self._location)
        self._housekeeping = Housekeeping(
            self._tasks,
            ports.workers,
            clock,
            self._directory,
            log_starts_interval_ms=config.log_flush_start_offset_checkpoint_interval_ms,
        )
        try:
            store = self._store
            if store is None:
                store = self._owned_store = _own_store(config, ports, self._directory)
            self._replicas = ReplicaManager(
                config.node_id,
                config,
                self._directory,
                clock=clock,
                entropy=ports.entropy,
                remove_later=self._housekeeping.remove_later,
            )
            self._controller = ControllerDriver(
                clock,
                TopicDefaults(
                    config.num_partitions,
                    config.default_replication_factor,
                    config.topic_defaults.min_insync_replicas,
                ),
            )
            self._groups = GroupCoordinators(config, self._replicas, clock)
            session = self._session = store.open_session(
                config.node_id, self._controller.on_store_event
            )
            self._services = Services(
                broker_id=config.node_id,
                cluster_id=store.cluster_id,
                config=config,
                clock=clock,
                entropy=ports.entropy,
                image=MetadataImage(),
                replicas=self._replicas,
                controller=self._controller,
                groups=self._groups,
                producer_ids=ProducerIds(self._ask_producer_ids),
                fetch_sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots),
                api_versions=_api_versions(),
            )
            self._listen()
            self._join(session)
            if self.failure is not None:
                raise self.failure
        except BaseException:
            await self._abandon()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let answers leave, close every log, and put the clean stop on record; after a `failure`
        only let go."""
        if self.failure is not None:
            self._groups.stop()
            self._controller.stop()
            await self._abandon()
            return
        # Last in, first out; each step is taken whatever the ones before it raise.
        async with AsyncExitStack() as end:
            end.callback(self._close_directory)
            end.callback(self._ports.workers.close)
            end.push_async_callback(self._tasks.__aexit__, None, None, None)
            if self._owned_store is not None:
                end.callback(self._owned_store.close)
            if self._session is not None:
                end.callback(self._session.close)
            end.callback(self._controller.stop)
            end.callback(self._housekeeping.stop)
            self._replicas.wake_all()
            self._groups.stop()
            until_ms = self._ports.clock.now_ms() + STOP_WITHIN_MS
            for listener in self._listeners:
                await listener.stop(until_ms)

    def _close_directory(self) -> None:
        """Put the clean stop on record."""
        me = self._services.image.brokers.get(self._config.node_id)
        self._directory.close(
            broker_epoch=NO_BROKER_EPOCH if me is None else me.epoch,
            high_watermarks=self._replicas.high_watermarks(),
        )

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All that is listened on, the first listener's first."""
        return tuple(address for each in self._listeners for address in each.addresses)

    @property
    def cluster_id(self) -> str:
        """The 22 characters that name the cluster for good."""
        return self._services.cluster_id

    @property
    def image(self) -> MetadataImage:
        """The metadata as this broker sees it."""
        return self._services.image

    def fail(self, error: InvariantError) -> None:
        """Stop for good: close every connection, answer and accept nothing more."""
        if self.failure is not None:
            return
        self.failure = error
        _log.critical("The broker stops: %s", error, exc_info=error)
        for listener in self._listeners:
            for connection in list(listener.connections):
                connection.close()
        self._on_failure()

    def _listen(self) -> None:
        config = self._config
        dispatcher = Dispatcher(self._services, APIS, self._interceptor, fail=self.fail)
        pool = BufferPool(_PARTIAL_FRAMES_BYTES, self._ports.clock)
        limits = ConnectionLimits(
            max_connections=config.max_connections,
            max_connections_per_ip=config.max_connections_per_ip,
            max_connections_per_ip_overrides=parse_ip_limits(config),
            max_idle_ms=config.connections_max_idle_ms,
            max_request_bytes=config.socket_request_max_bytes,
        )
        counts = ConnectionCounts()
        for wanted in self._wanted_listeners:
            listener = ServerListener(
                self._ports.network,
                self._ports.clock,
                pool,
                dispatcher.handle,
                new_session=partial(Session, wanted.name, wanted.advertised),
                limits=limits,
                counts=counts,
                checks_views=self._checks_views,
            )
            listener.start(wanted.bound.host, wanted.bound.port)
            self._listeners.append(listener)

    def _join(self, session: MetadataSession) -> None:
        """Register, become what the metadata says, and be a candidate for controller."""
        endpoints = tuple(
            registered_endpoint(listener.address, wanted.advertised)
            for wanted, listener in zip(self._wanted_listeners, self._listeners, strict=True)
            if wanted.advertised is not None
        )
        is_first = True

        def folded(image: MetadataImage, delta: MetadataDelta) -> None:
            nonlocal is_first
            if is_first:
                self._replicas.set_strays_aside(image)
                is_first = False
            # First, so that a fetch that the change wakes tells who leads now.
            self._services.image = image
            try:
                self._replicas.apply(image, delta)
                self._groups.apply(image, delta)
            except InvariantError as error:
                self.fail(error)

        session.watch(folded)
        self._housekeeping.start()
        session.register(
            BrokerRegistration(
                broker_id=self._config.node_id,
                incarnation_id=self._ports.entropy.uuid(),
                endpoints=endpoints,
                features=tuple(SUPPORTED.items()),
                rack=self._config.broker_rack,
                log_dirs=(self._directory.meta.directory_id,),
                previous_broker_epoch=self._directory.broker_epoch,
            )
        )
        self._controller.start(session)

    def _ask_producer_ids(self, on_block: OnBlock) -> None:
        """The next block, as `ProducerIds` wants it."""
        me = self._services.image.brokers.get(self._config.node_id)
        if me is None:
            on_block(KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "not registered yet"))
            return

        def on_reply(reply: ProducerIdBlock | KafkaError) -> None:
            if isinstance(reply, KafkaError):
                on_block(reply)
            else:
                on_block(range(reply.first, reply.first + reply.size))

        self._controller.submit(AllocateProducerIds(None, me.id, me.epoch), on_reply)

    async def _abandon(self) -> None:
        """Undo a start that failed half-way; the folder is left as a crash would leave it."""
        async with AsyncExitStack() as end:
            end.push_async_callback(self._tasks.__aexit__, None, None, None)
            end.callback(self._ports.workers.close)
            end.callback(self._directory.abandon)
            if self._owned_store is not None:
                end.callback(self._owned_store.close)
            if self._session is not None:
                end.callback(self._session.close)
            end.callback(self._housekeeping.stop)
            now_ms = self._ports.clock.now_ms()
            for listener in self._listeners:
                await listener.stop(now_ms)


def _open_directory(config: BrokerConfig, ports: Ports, location: str) -> LogDirectory:
    return LogDirectory.open(
        ports.files,
        location=location,
        node_id=config.node_id,
        new_cluster_id=config.kafkalite_cluster_id or format_uuid(ports.entropy.uuid()),
        new_directory_id=ports.entropy.uuid(),
        record_validation="full" if config.kafkalite_record_validation == "full" else "header",
        producer_expiration_ms=config.producer_id_expiration_ms,
    )


def _own_store(config: BrokerConfig, ports: Ports, directory: LogDirectory) -> MemoryStore:
    """A cluster of one: its metadata log stands beside its partitions."""
    log = MetadataLog.open(
        ports.files,
        node_id=config.node_id,
        directory_id=directory.meta.directory_id,
        now=ports.clock.now_ms(),
        clean=directory.was_clean,
        formatted_with=formatted_with(config.topic_defaults.min_insync_replicas),
    )
    return MemoryStore(directory.meta.cluster_id, ports.clock, log)


def _api_versions() -> list[ApiVersion]:
    listed = []
    for module in APIS:
        api = module.API
        least = (
            api.min_version if api.advertised_min_version is None else api.advertised_min_version
        )
        listed.append(ApiVersion(api_key=api.key, min_version=least, max_version=api.max_version))
    return listed
