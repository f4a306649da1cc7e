"""The network's twin: connections within one event loop, in an order that only its policy decides.

A node is a host by its own name: it listens and dials. What comes of a dial are two ends of a
connection (`memory_link.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.memory_link import Calm, Distance, MemoryLink, Policy
from kafkalite.ports.network import Address, Connection, Dialing, Listener, NewConnection

FIRST_FREE_PORT = 40_000


class MemoryNetwork(Distance):
    """All nodes, and what lies between them."""

    def __init__(
        self,
        clock: Clock,
        policy: Policy | None = None,
        *,
        observe: Callable[[str], None] = lambda line: None,
    ) -> None:
        """See `Distance`."""
        super().__init__(clock, policy or Calm(), observe)
        self.listeners: dict[Address, _MemoryListener] = {}
        self.held_dials: dict[_MemoryDialing, None] = {}
        self._last_port = FIRST_FREE_PORT

    def node(self, name: str) -> MemoryNode:
        """The `Network` as that node sees it."""
        return MemoryNode(self, name)

    def free_port(self) -> int:
        """A port that no one had."""
        self._last_port += 1
        return self._last_port

    def deliver_held(self) -> None:
        """Let pass what a cut held back. Call it when the policy has ended one."""
        for dialing in list(self.held_dials):
            dialing.arrive()
        for link in list(self.held_links):
            link.hand_over()

    def crash(self, name: str) -> None:
        """The node's process ends: its machines are told nothing, its peers see a reset."""
        for address in [address for address in self.listeners if address.host == name]:
            del self.listeners[address]
        for dialing in [dialing for dialing in self.held_dials if dialing.source == name]:
            del self.held_dials[dialing]
        for link in [link for link in self.links if link.local.host == name]:
            link.crash()


class MemoryNode:
    """See `Network`."""

    def __init__(self, network: MemoryNetwork, name: str) -> None:
        self._network = network
        self.name = name

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        """See `Network`. Whatever the host, it is this node that listens."""
        address = Address(self.name, port or self._network.free_port())
        if address in self._network.listeners:
            raise OSError(f"cannot listen on {address}: it is taken")
        listener = _MemoryListener(self._network, address, new_connection)
        self._network.listeners[address] = listener
        return listener

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        """See `Network`."""
        target = Address(self.name if host == "localhost" else host, port)
        return _MemoryDialing(self._network, self.name, target, connection)


class _MemoryListener:
    def __init__(
        self, network: MemoryNetwork, address: Address, new_connection: NewConnection
    ) -> None:
        self._network = network
        self._address = address
        self.new_connection = new_connection

    @property
    def address(self) -> Address:
        return self._address

    @property
    def addresses(self) -> tuple[Address, ...]:
        return (self._address,)

    def close(self) -> None:
        if self._network.listeners.get(self._address) is self:
            del self._network.listeners[self._address]


class _MemoryDialing:
    def __init__(
        self, network: MemoryNetwork, source: str, target: Address, connection: Connection
    ) -> None:
        self.source = source
        self._network = network
        self._target = target
        self._connection = connection
        self._is_over = False
        delay_ms = network.policy.dial_delay_ms(source, target.host)
        self._is_refused = delay_ms is None
        self._timer: Timer = network.clock.call_at(
            network.clock.now_ms() + (delay_ms or 0), self.arrive
        )

    def cancel(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._timer.cancel()
        self._network.held_dials.pop(self, None)
        asyncio.get_running_loop().call_soon(self._connection.closed, None)

    def arrive(self) -> None:
        """The dial has come to its target, if nothing lies between."""
        network = self._network
        if network.policy.is_cut(self.source, self._target.host):
            network.held_dials[self] = None
            return
        network.held_dials.pop(self, None)
        self._is_over = True
        listener = network.listeners.get(self._target)
        if listener is None or self._is_refused:
            network.observe(f"{self.source} > {self._target} refused")
            error = ConnectionRefusedError(f"nobody listens on {self._target}")
            self._connection.closed(error)
            return
        local = Address(self.source, network.free_port())
        network.observe(f"{local} > {self._target} opened")
        near = MemoryLink(network, local, self._target, self._connection)
        accepted = listener.new_connection(local)
        if accepted is None:
            near.open()
            near.end(None)
            return
        far = MemoryLink(network, self._target, local, accepted)
        near.other, far.other = far, near
        far.open()
        near.open()
