"""One request on its way through the broker, and what its handler may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kafkalite.security.principals import ANONYMOUS, KafkaPrincipal
from kafkalite.types import BrokerId

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkalite.config.listeners import ListenerAddress
    from kafkalite.config.views import BrokerConfig
    from kafkalite.metadata.image import MetadataImage
    from kafkalite.ports.clock import Clock
    from kafkalite.ports.entropy import Entropy
    from kafkalite.protocol.messages.api_versions import ApiVersion
    from kafkalite.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
    from kafkalite.protocol.produce_shape import ProduceShape
    from kafkalite.replica.fetch_session import FetchSessions, FetchWatcher
    from kafkalite.server.awaited_images import AwaitedImages
    from kafkalite.server.connection import ClientConnection
    from kafkalite.server.controller_driver import ControllerDriver
    from kafkalite.server.coordinators import Coordinators
    from kafkalite.server.disk_troubles import Trouble
    from kafkalite.server.group_coordinators import GroupCoordinators
    from kafkalite.server.peers import Peers
    from kafkalite.server.produce_order import ProduceOrder
    from kafkalite.server.producer_ids import ProducerIds
    from kafkalite.server.purgatory import Parked
    from kafkalite.server.recompressions import Recompressions
    from kafkalite.server.replica_manager import ReplicaManager
    from kafkalite.server.replica_moves import ReplicaMoves
    from kafkalite.server.transaction_coordinators import TransactionCoordinators
    from kafkalite.server.transaction_markers import MarkerWriter


class Session:
    """What a broker keeps about a client for as long as its connection lasts."""

    __slots__ = ("advertised", "fetches", "head_ends", "listener", "principal")

    def __init__(
        self,
        listener: str,
        advertised: ListenerAddress | None,
        principal: KafkaPrincipal | None = ANONYMOUS,
    ) -> None:
        """`listener` is the name of the one that it came in by."""
        self.listener = listener
        self.principal = principal
        """Who it is. None: it has not shown it yet, and nothing is answered that matters."""
        self.advertised = advertised
        """What its clients are told of this broker: an empty host or port 0 is the one that a
        client reached; None: they are not told of it."""
        self.fetches: dict[FetchWatcher, None] = {}
        """Those that wait, and begin a fetch session with their answer."""
        self.head_ends: tuple[int, ...] = ()
        """Of the shapes that it has produced in: `produce_shapes.py`."""

    def wake_first_fetches(self) -> None:
        """The client closes its fetch session, and names none: it has not heard of it yet. So does
        Java's consumer."""
        for wait in list(self.fetches):
            wait.wake()


class OpensEnvelopes(Protocol):
    """See `Forwarding`."""

    def open(self, ctx: RequestContext, sealed: EnvelopeRequest) -> EnvelopeResponse | Parked:
        """Another broker's client asks."""
        ...


class Services:
    """The parts of one broker that handlers ask; wired in `broker_parts.py`."""

    __slots__ = (
        "any_is_controller", "api_versions", "awaited", "broker_id", "clock", "cluster_id",
        "config", "controller", "coordinators", "creation_troubles", "entropy", "envelopes",
        "fetch_sessions", "moves", "peers", "produce_order", "recompressions", "replicas",
    )  # fmt: skip

    def __init__(
        self,
        *,
        broker_id: BrokerId,
        cluster_id: str,
        config: BrokerConfig,
        clock: Clock,
        entropy: Entropy,
        replicas: ReplicaManager,
        controller: ControllerDriver,
        coordinators: Coordinators,
        fetch_sessions: FetchSessions,
        produce_order: ProduceOrder,
        recompressions: Recompressions,
        moves: ReplicaMoves,
        api_versions: Callable[[], list[ApiVersion]],
        peers: Peers | None,
        awaited: AwaitedImages | None,
        any_is_controller: bool,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.config = config
        self.clock = clock
        self.entropy = entropy
        self.replicas = replicas
        self.controller = controller
        self.coordinators = coordinators
        self.fetch_sessions = fetch_sessions
        self.produce_order = produce_order
        self.recompressions = recompressions
        self.moves = moves
        self.api_versions = api_versions
        """What ApiVersions lists, by key."""
        self.peers = peers
        """None: this broker is a cluster of its own."""
        self.awaited = awaited
        """None: as `peers`."""
        self.any_is_controller = any_is_controller
        """Whether clients may take any broker for the controller: each hands on what is for it."""
        self.envelopes: OpensEnvelopes | None = None
        """None: as `peers`."""
        self.creation_troubles: dict[str, Trouble] = {}
        """Of internal topics that are wanted and cannot be made, by name."""

    @property
    def image(self) -> MetadataImage:
        """The newest metadata that this broker has folded; replaced, never changed."""
        return self.replicas.image

    @property
    def groups(self) -> GroupCoordinators:
        """Those of this broker."""
        return self.coordinators.parts.groups

    @property
    def transactions(self) -> TransactionCoordinators:
        """Those of this broker."""
        return self.coordinators.parts.transactions

    @property
    def markers(self) -> MarkerWriter:
        """Ends transactions in the partitions that this broker leads."""
        return self.coordinators.parts.markers

    @property
    def producer_ids(self) -> ProducerIds:
        """Never given before."""
        return self.coordinators.parts.producer_ids


class RequestContext:
    """A request's header and where it came from. Slotted by hand: one is made for every request."""

    __slots__ = (
        "asked", "client_id", "connection", "correlation_id", "frame", "services", "shape",
        "version",
    )  # fmt: skip

    def __init__(
        self,
        services: Services,
        connection: ClientConnection[Session],
        version: int,
        correlation_id: int,
        client_id: str | None,
        shape: ProduceShape | None = None,
    ) -> None:
        self.services = services
        self.connection = connection
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.shape = shape
        """That of a produce like one before: its handler may answer with the whole frame."""
        self.frame: bytes | None = None
        """The whole request, without its length, where it may have to be handed on."""
        self.asked = services.broker_id
        """The broker that the client asked: another one, where that has handed it on."""
