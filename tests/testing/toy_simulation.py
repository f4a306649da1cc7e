"""A toy cluster over the memory network, in all weathers: `toy_simulation.py SEED` prints its
trace.

Nodes greet each other for ever; what they say and when hangs on sets, task groups and the network's
faults, which are where a run could come to depend on the process it runs in.
"""

from __future__ import annotations

import asyncio
import sys
from struct import pack

from kafkalite.ports.network import Link
from kafkalite.ports.network_memory import MemoryNode
from kafkalite.server.connection import Answer, ClientConnection
from kafkalite.server.listener import ServerListener
from kafkalite.server.receive_buffer import BufferPool
from kafkalite.testing.faults import ROUGH
from kafkalite.testing.simulation import Simulation, Trace, run

NAMES = ("ann", "bob", "cyd")
PORT = 9092


class Caller:
    """Greets, waits for the answer, and hangs up; or hears of the failure."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = asyncio.get_running_loop().create_future()
        self.link: Link | None = None
        self._space = memoryview(bytearray(64))

    def opened(self, link: Link) -> None:
        self.link = link
        link.write([pack(">i", 100), self.name.encode().ljust(100)])

    def space(self) -> memoryview:
        return self._space

    def filled(self, size: int) -> None:
        assert self.link is not None
        self.link.close()

    def drained(self) -> None:
        pass

    def closed(self, error: OSError | None) -> None:
        self.over.set_result(str(error))


def greet(connection: ClientConnection[str], frame: memoryview) -> Answer:
    return [f"{connection.session} greets {bytes(frame).decode().strip()}".encode()]


async def live(simulation: Simulation, node: MemoryNode) -> None:
    """One node's life: serve, and call the others."""
    pool = BufferPool(1 << 20)
    listener = ServerListener(
        node, simulation.clock, pool, greet, new_session=lambda: node.name, checks_views=True
    )
    listener.start("", PORT)
    while True:
        others = {name for name in NAMES if name != node.name}
        callers = [Caller(node.name) for _ in others]
        for name, caller in zip(sorted(others), callers, strict=True):
            dialing = node.dial(name, PORT, caller)
            try:
                deadline_ms = simulation.clock.now_ms() + 500
                said = await simulation.clock.wait(asyncio.shield(caller.over), deadline_ms)
            except TimeoutError:
                dialing.cancel()
                if caller.link is not None:
                    caller.link.close()
                said = "gave up"
            simulation.trace.add(f"{node.name} called {name}: {said}")
        await simulation.sleep(int(simulation.entropy.random() * 200))


async def main(simulation: Simulation) -> None:
    simulation.weather.climate = ROUGH
    async with asyncio.TaskGroup() as group:
        lives = {
            group.create_task(live(simulation, simulation.network.node(name))) for name in NAMES
        }
        for _ in range(5):
            await simulation.sleep(2_000)
            simulation.trace.add("partition")
            simulation.weather.partition({"ann"}, {"bob", "cyd"})
            await simulation.sleep(2_000)
            simulation.weather.heal()
            simulation.network.deliver_held()
            simulation.trace.add("healed")
        simulation.trace.add("crash")
        simulation.network.crash("bob")
        await simulation.sleep(1_000)
        for task in lives:
            task.cancel()


def trace(seed: int) -> Trace:
    return run(main, seed)


if __name__ == "__main__":
    sys.stdout.write("\n".join(trace(int(sys.argv[1])).lines) + "\n")
