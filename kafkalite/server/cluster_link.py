"""What a broker has besides when it is one of several: the others, the controller wherever it is,
and what of its clients' requests goes there."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.settings import ControllerSettings
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.network import Network
from kafkalite.server.apis.cluster_table import CLUSTER_APIS
from kafkalite.server.apis.table import ApiTable
from kafkalite.server.awaited_images import AwaitedImages
from kafkalite.server.controller_channel import ControllerChannel
from kafkalite.server.departure import hand_over
from kafkalite.server.forwarding import Forwarding, Handled
from kafkalite.server.marker_routes import MarkerRoutes
from kafkalite.server.peers import Peers, inter_broker_listener
from kafkalite.server.replication import Replication
from kafkalite.server.secured import dialing, logging_in
from kafkalite.server.transaction_markers import Markers
from kafkalite.server.verification_routes import VerificationRoutes


class ClusterLink:
    """Of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        network: Network,
        clock: Clock,
        entropy: Entropy,
        image: Callable[[], MetadataImage],
        *,
        checks_views: bool,
        has_kafkas_beside_it: bool = False,
    ) -> None:
        """`image`: the newest that the broker has folded; `checks_views`: see `Peers`;
        `has_kafkas_beside_it`: see `Broker`. `ListenersError` as `logging_in`."""
        self._clock = clock
        self._config = config
        self._broker_id = config.node_id
        self._image = image
        self._timeout_ms = config.request_timeout_ms
        self.listener = inter_broker_listener(config)
        """Where the others come in."""
        network = dialing(network, clock, config, self.listener)
        self.peers = Peers(
            config.node_id,
            network,
            clock,
            config,
            new_login=logging_in(config, self.listener, entropy),
            checks_views=checks_views,
        )
        self.controller = ControllerChannel(
            clock,
            ControllerSettings.of(config, over_zookeeper=has_kafkas_beside_it),
            broker_id=config.node_id,
            peers=self.peers,
            image=image,
            timeout_ms=self._timeout_ms,
        )
        self.replication = Replication(
            config,
            clock,
            peers=self.peers,
            submit=self.controller.submit,
            image=image,
            keeps_isr_order=has_kafkas_beside_it,
        )
        self.awaited = AwaitedImages()
        self.verification_routes = VerificationRoutes(
            self._broker_id, self.peers, image, self._timeout_ms
        )
        """To coordinators of transactions elsewhere."""
        self.apis = CLUSTER_APIS
        """What brokers serve each other besides."""

    def stop(self) -> None:
        """Ask the others nothing more."""
        self.replication.stop()
        self.peers.stop()

    async def hand_over(self) -> None:
        """Before the broker stops: others are to lead what it leads."""
        await hand_over(self._config, self.controller, self._image, self._clock)

    def marker_routes(self, here: Markers) -> MarkerRoutes:
        """To partitions that any broker leads; `here` is for those that this one leads."""
        return MarkerRoutes(self._broker_id, here, self.peers, self._image)

    def forwarding(self, apis: ApiTable, handled: Handled) -> Forwarding:
        """For requests of those APIs that the controller decides."""
        return Forwarding(
            self.controller,
            self.peers,
            self._clock,
            apis,
            handled=handled,
            timeout_ms=self._timeout_ms,
        )
