"""Where clients are told to find the brokers. One function answers for every API that tells.

A client is told the addresses of the listener that it came in by: what `advertised.listeners` says
of it. Without that setting it is told the address at which it reached this broker, so that IPv6,
several network cards and a free port work with no setting; other brokers are told by their
registration. A broker that advertises no such listener is not told of. A wildcard is never told:
the local address of an accepted connection is a real one.

Kafka differs: without `advertised.listeners` it tells everyone the listener's own host, whatever
way they came.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.config.listeners import PROTOCOLS, WILDCARDS, ListenerAddress
from kafkalite.metadata.image import BrokerImage, Endpoint
from kafkalite.ports.network import Address
from kafkalite.ports.process import host_name
from kafkalite.server.request import RequestContext, Services
from kafkalite.types import BrokerId

MAPPED_PREFIX = "::ffff:"
"""An IPv4 client on an IPv6 socket."""


class Node(NamedTuple):
    """A broker as a client may dial it."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None


def nodes(ctx: RequestContext) -> list[Node]:
    """All brokers that are not fenced and have the listener that the client came in by, by id."""
    services = ctx.services
    session = ctx.connection.session
    found: list[Node] = []
    for broker in services.image.active_brokers():
        if broker.id == services.broker_id:
            if session.advertised is not None:
                local = ctx.connection.local
                host = session.advertised.host or local.host.removeprefix(MAPPED_PREFIX)
                port = session.advertised.port or local.port
                found.append(Node(broker.id, host, port, broker.rack))
        else:
            found += _as_registered(broker, session.listener)
    return found


def told_controller(services: Services) -> BrokerId:
    """Whom clients are told to be the controller. In a cluster the broker that they ask: each hands
    on what is the controller's to decide, and this one is alive.

    Kafka differs: its brokers name any one that they take for alive. A client that is told of one
    that has just died (librdkafka) waits for it to come back.
    """
    if services.any_is_controller:
        return services.broker_id
    return services.image.controller_id


def fenced_nodes(ctx: RequestContext) -> list[Node]:
    """The brokers that are fenced, by id, as they registered last: nobody reaches them now."""
    listener = ctx.connection.session.listener
    return [
        node
        for _, broker in sorted(ctx.services.image.brokers.items())
        if broker.fenced
        for node in _as_registered(broker, listener)
    ]


def _as_registered(broker: BrokerImage, listener: str) -> list[Node]:
    """At the listener of that name; none when it has no such."""
    return [
        Node(broker.id, endpoint.host, endpoint.port, broker.rack)
        for endpoint in broker.endpoints
        if endpoint.name == listener
    ]


def registered_endpoint(bound: Address, advertised: ListenerAddress, protocol: str) -> Endpoint:
    """What the other brokers' clients are told of a listener that is bound there and speaks that
    security protocol."""
    host = advertised.host or bound.host
    if host in WILDCARDS:
        host = host_name()
    number = PROTOCOLS.index(protocol)
    return Endpoint(advertised.name, host, advertised.port or bound.port, number)
