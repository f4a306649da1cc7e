"""Where clients are told to find the brokers. One function answers for every API that tells.

A client that reached this broker is told the address that it reached us on, so containers, proxies
and IPv6 work with no setting; other brokers are told by their registration. A wildcard is never
told: the local address of an accepted connection is a real one.

Kafka differs: it tells everyone the listener's `advertised.listeners`, whatever way they came.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID, BrokerId, Uuid

_MAPPED_PREFIX = "::ffff:"
"""An IPv4 client on an IPv6 socket."""


@dataclass(frozen=True, slots=True)
class Node:
    """A broker as a client may dial it."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None


def nodes(ctx: RequestContext) -> list[Node]:
    """All brokers that are not fenced, by id."""
    services = ctx.services
    found = []
    for broker in services.image.active_brokers():
        if broker.id == services.broker_id:
            host, port = ctx.connection.local
            host = host.removeprefix(_MAPPED_PREFIX)
        else:
            endpoint = broker.endpoints[0]
            host, port = endpoint.host, endpoint.port
        found.append(Node(broker.id, host, port, broker.rack))
    return found


def leader_of(
    image: MetadataImage, topic: str, topic_id: Uuid, index: int
) -> PartitionImage | None:
    """Who leads a partition that a request names by its topic's name, or by its id when it has
    one."""
    if topic_id != ZERO_UUID:
        found = image.topics_by_id.get(topic_id)
        if found is None:
            return None
        topic = found.name
    return image.partition(topic, index)


def nodes_of(ctx: RequestContext, brokers: set[BrokerId]) -> list[Node]:
    """Only these: for answers that tell where a partition's leader is now (KIP-951)."""
    return [node for node in nodes(ctx) if node.broker_id in brokers]
