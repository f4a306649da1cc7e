"""The real world for a broker: this machine's clock, sockets and threads, and an event loop that
stops the broker when an invariant breaks."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from kafkalite.config.listeners import WILDCARDS
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import InvariantError
from kafkalite.log.files import Files
from kafkalite.ports.clock import Clock, RealClock
from kafkalite.ports.entropy import RealEntropy
from kafkalite.ports.network import Address, Network
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.ports.workers import ThreadWorkers
from kafkalite.server.broker_parts import Ports


def ports_of_this_machine(config: BrokerConfig, files: Files, *, stay_awake_us: int = 0) -> Ports:
    """To be called on the thread of the running loop, as the network belongs to it.
    `stay_awake_us`: see `Vigil`."""
    clock = RealClock()
    network = network_of_this_machine(config, clock, stay_awake_us=stay_awake_us)
    return Ports(clock, RealEntropy(), network, files, ThreadWorkers())


def network_of_this_machine(
    config: BrokerConfig, clock: Clock, *, stay_awake_us: int = 0
) -> Network:
    """As above, alone."""
    return SocketNetwork(
        clock,
        backlog=config.socket_listen_backlog_size,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        stay_awake_us=stay_awake_us,
    )


class Fails(Protocol):
    """A broker, or several on one loop."""

    def fail(self, error: InvariantError) -> None:
        """See `Broker.fail`."""
        ...


def fail_on_broken_invariants(broker: Fails) -> None:
    """Whatever the running loop runs, timers and connections too: an `InvariantError` ends the
    broker (`Broker.fail`)."""

    # `Any`: what asyncio gives to such a handler.
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, InvariantError):
            broker.fail(error)
        else:
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)


def where_to_dial(bound: Address) -> Address:
    """From this machine: an address that is listened on, where that may be all of them."""
    if bound.host not in WILDCARDS:
        return bound
    return Address("::1" if ":" in bound.host else "127.0.0.1", bound.port)
