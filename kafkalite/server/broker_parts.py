"""The parts of a broker, put together: the only place that wires. None of them does anything yet
when they are made: `broker.py` starts and stops them.

Made of a configuration and the ports, so that the same broker runs on sockets and disks, on a
frozen clock, in memory, or in a simulation.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import InvariantError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.metadata.effective_configs import effective_broker_config
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.network import Network
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
from kafkalite.server.metadata_upkeep import MetadataUpkeep
from kafkalite.server.partition import Partition
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.partition_homes import PartitionHomes
from kafkalite.server.produce_order import ProduceOrder
from kafkalite.server.recompressions import Recompressions
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.replica_moves import ReplicaMoves
from kafkalite.server.replica_roles import ReplicaRoles
from kafkalite.server.request import Services
from kafkalite.server.storage import Storage

if TYPE_CHECKING:
    from kafkalite.metadata.scram import ScramCredential
    from kafkalite.ports.complaints import Complaints
    from kafkalite.security.mechanisms import Mechanisms
    from kafkalite.server.cluster_link import ClusterLink
    from kafkalite.server.connection import Handle
    from kafkalite.server.request import Session

_log = logging.getLogger(__name__)


class Ports(NamedTuple):
    """The world, as far as a broker sees it."""

    clock: Clock
    entropy: Entropy
    network: Network
    files: Files
    workers: Workers


class BrokerParts:
    """Of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        ports: Ports,
        tasks: asyncio.TaskGroup,
        storage: Storage,
        *,
        is_alone: bool,
        has_kafkas_beside_it: bool,
        checks_views: bool,
        fail: Callable[[InvariantError], None],
        folder_failed: Callable[[], None],
    ) -> None:
        """`is_alone`: a cluster of its own; `folder_failed`: is called when one has. The others,
        see `Broker`."""
        self._config = config
        self._ports = ports
        self._tasks = tasks
        self._storage = storage
        self._has_kafkas_beside_it = has_kafkas_beside_it
        self._fail = fail
        self._one_has_failed = folder_failed
        self.housekeeping = {
            directory.location: self._new_housekeeping(directory)
            for directory in storage.directories.live
        }
        """Work beside the requests, by the location of each log folder."""
        self.link = None if is_alone else self._new_link(checks_views=checks_views)
        """To the other brokers."""
        folders = {location: each.folders for location, each in self.housekeeping.items()}
        self.replicas = self._new_replicas(folders)
        if self.link is None:
            self.controller = ControllerDriver(ports.clock, ControllerSettings.of(config))
        else:
            self.controller = self.link.controller
        self.reports = DirectoryReports(
            self.controller, lambda: self.image.brokers.get(config.node_id), ports.clock
        )
        self.moves = ReplicaMoves(
            tasks,
            ports.workers,
            ports.clock,
            ports.entropy,
            self.replicas,
            folders,
            on_settled=self.reports.settled,
            fail=fail,
        )
        self.coordinators = Coordinators(
            config,
            self.replicas,
            self.controller,
            ports.clock,
            route_markers=None if self.link is None else self.link.marker_routes,
            ask_elsewhere=None if self.link is None else self.link.verification_routes.ask,
        )
        self.upkeep = self._new_upkeep()
        """Of the metadata log, if it is kept here."""
        self.services = self._new_services()
        """What handlers are given of all this."""

    @property
    def image(self) -> MetadataImage:
        """The metadata as this broker sees it."""
        return self.replicas.image

    def new_dispatcher(self, interceptor: Interceptor | None) -> Dispatcher:
        """For the requests of clients, and of other brokers."""
        services, link = self.services, self.link
        if link is None:
            return Dispatcher(services, APIS.find, interceptor, fail=self._fail)
        dispatcher = Dispatcher(
            services,
            lambda key: APIS.find(key) or link.apis.find(key),
            interceptor,
            fail=self._fail,
            inter_broker=link.listener,
        )
        forwarding = link.forwarding(APIS, dispatcher.handled)
        dispatcher.forwarding = services.envelopes = forwarding
        return dispatcher

    def open_gate(
        self,
        dispatcher: Dispatcher,
        mechanisms: Mechanisms,
        complaints: Complaints,
        max_request_bytes: int,
    ) -> Handle[Session]:
        """See `OpenGate`."""
        from kafkalite.server.sasl_gate import SaslGate  # Few brokers ask who somebody is.

        gate = SaslGate(
            mechanisms,
            dispatcher,
            self._find_credential,
            self._ports.clock,
            self._ports.entropy,
            complaints,
            max_request_bytes=max_request_bytes,
        )
        return gate.handle

    def _find_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        from kafkalite.metadata.scram import ScramMechanism

        number = ScramMechanism[mechanism.replace("-", "_")]
        return self.image.scram_credential(number, user)

    def follow_settings(self, image: MetadataImage) -> BrokerConfig:
        """Act by what the metadata says of this broker, where that may change while it runs. The
        settings that count from now on."""
        config, left_out = effective_broker_config(image, self._config)
        for message in left_out:
            _log.warning("a setting of brokers in the metadata is not followed: %s", message)
        self.replicas.configure(config)
        self.coordinators.configure(config)
        directories = self._storage.directories
        directories.cordon(config.cordoned_log_dirs)
        for directory in directories.live:
            directory.expire_producers_after(config.producer_id_expiration_ms)
        for each in self.housekeeping.values():
            each.configure(config)
        return config

    def _new_housekeeping(self, directory: LogDirectory) -> Housekeeping:
        ports = self._ports
        return Housekeeping(
            self._tasks,
            ports.workers,
            ports.clock,
            ports.entropy,
            directory,
            self._config,
            sync_metadata=self._storage.sync_metadata,
            on_refused=partial(self._upkeep_refused, directory),
            on_sync_refused=self._sync_refused,
            fail=self._fail,
        )

    def _new_upkeep(self) -> MetadataUpkeep | None:
        storage, ports = self._storage, self._ports
        if storage.metadata_log is None:
            return None
        return MetadataUpkeep(
            self._tasks,
            ports.workers,
            ports.clock,
            storage.metadata_log,
            folders=lambda: [directory.files for directory in storage.directories.live],
            is_deleting=lambda: self.replicas.is_deleting,
            fail=self._fail,
        )

    def _new_link(self, *, checks_views: bool) -> ClusterLink:
        from kafkalite.server.cluster_link import ClusterLink  # Nothing that a single one needs.

        return ClusterLink(
            self._config,
            self._ports.network,
            self._ports.clock,
            self._ports.entropy,
            lambda: self.image,
            checks_views=checks_views,
            has_kafkas_beside_it=self._has_kafkas_beside_it,
        )

    def _new_replicas(self, folders: dict[str, PartitionFolders]) -> ReplicaManager:
        """None yet."""
        config, ports, link = self._config, self._ports, self.link
        return ReplicaManager(
            config.node_id,
            config,
            PartitionHomes(
                config.node_id,
                self._storage.directories,
                folders,
                clock=ports.clock,
                entropy=ports.entropy,
                workers=ports.workers,
                on_settled=lambda settled: self.reports.settled(settled),
                flush_later=self._flush_later,
            ),
            ReplicaRoles(config, ports.clock) if link is None else link.replication.roles,
            clock=ports.clock,
            on_failed=self._folder_failed,
            stop=self._fail,
        )

    def _new_services(self) -> Services:
        config, ports, link = self._config, self._ports, self.link
        order = ProduceOrder(ports.clock)
        return Services(
            broker_id=config.node_id,
            cluster_id=self._storage.store.cluster_id,
            config=config,
            clock=ports.clock,
            entropy=ports.entropy,
            replicas=self.replicas,
            controller=self.controller,
            coordinators=self.coordinators,
            moves=self.moves,
            produce_order=order,
            recompressions=Recompressions(
                self._tasks, ports.workers, ports.clock, self.replicas, order
            ),
            fetch_sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots),
            api_versions=cache(self._listed),
            peers=None if link is None else link.peers,
            any_is_controller=link is not None and not self._has_kafkas_beside_it,
            awaited=None if link is None else link.awaited,
        )

    def _listed(self) -> list[ApiVersion]:
        """What ApiVersions lists. Brokers of Kafka look there for what brokers ask each other."""
        if self.link is not None and self._has_kafkas_beside_it:
            return listed((*APIS, *self.link.apis))
        return listed(APIS)

    # What disks do.

    def _flush_later(self, partition: Partition) -> None:
        self.housekeeping[partition.directory.location].flusher.flush_later(partition)

    def _upkeep_refused(self, directory: LogDirectory, error: OSError) -> None:
        self.replicas.upkeep_refused(directory, error)

    def _sync_refused(self, partition: Partition, error: OSError) -> None:
        """Nobody knows what of its log is on the disk, nor would tell if it was asked again."""
        self.replicas.folder_failed(partition.directory, error)

    def _folder_failed(self, directory: LogDirectory) -> None:
        """Go on with the others."""
        self.housekeeping[directory.location].stop()
        self.reports.failed(directory.id)
        self._one_has_failed()
