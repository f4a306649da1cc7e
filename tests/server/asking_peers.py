"""A broker that asks another one, for tests."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import BrokerImage, Endpoint, MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Network
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.peer_login import PeerLogin
from kafkalite.server.peers import Peers
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerEpoch, BrokerId, Uuid
from tests.server.running import PORT

OTHER = BrokerId(1)
ME = BrokerId(2)
HEARTBEAT = {12: (0, 4)}
"""All that it serves, where a test says so."""


def image(
    host: str = "broker", port: int = PORT, *, epoch: int = 0, fenced: bool = False, **others: str
) -> MetadataImage:
    """Broker 1 of the cluster, at that address."""
    name = others.get("listener", "PLAINTEXT")
    broker = BrokerImage(
        id=OTHER,
        epoch=BrokerEpoch(epoch),
        incarnation_id=Uuid(bytes(16)),
        endpoints=(Endpoint("ELSEWHERE", "nowhere", 1), Endpoint(name, host, port)),
        features={},
        fenced=fenced,
    )
    return MetadataImage(brokers={OTHER: broker})


class Asking:
    """A broker's peers, and what they answered, in the order of the answers."""

    def __init__(self, peers: Peers) -> None:
        self.peers = peers
        self.replies: list[Response | KafkaError] = []

    def ask(
        self,
        request: Request | None = None,
        *,
        timeout_ms: int = 5_000,
        purpose: str = "",
        version_cap: int | None = None,
    ) -> None:
        self.peers.ask(
            OTHER,
            HeartbeatRequest() if request is None else request,
            self.replies.append,
            timeout_ms=timeout_ms,
            purpose=purpose,
            version_cap=version_cap,
        )

    def follow(self, image: MetadataImage) -> None:
        self.peers.apply(image, MetadataDelta(brokers=tuple(image.brokers)))

    @property
    def codes(self) -> list[ErrorCode]:
        """Those of the replies, NONE for a response."""
        return [
            each.code if isinstance(each, KafkaError) else ErrorCode.NONE for each in self.replies
        ]


def asking(
    simulation: Simulation,
    *,
    checks_views: bool = False,
    known: MetadataImage | None = None,
    clock: Clock | None = None,
    new_login: Callable[[], PeerLogin] | None = None,
) -> Asking:
    node: Network = simulation.network.node("me")
    clock = clock or simulation.clock
    peers = Peers(ME, node, clock, BrokerConfig(), new_login=new_login, checks_views=checks_views)
    made = Asking(peers)
    made.follow(image() if known is None else known)
    return made
