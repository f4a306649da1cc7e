"""What only the network in memory has: delays, resets, cuts and crashes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kafkalite.ports.memory_link import WINDOW_BYTES
from kafkalite.ports.network import Address, Link
from kafkalite.testing.faults import Climate
from kafkalite.testing.simulation import Simulation, run

PORT = 9092


class Machine:
    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.link: Link | None = None
        self.received = bytearray()
        self.drained_at: list[int] = []
        self.ended: list[tuple[int, OSError | None]] = []
        self._space = memoryview(bytearray(64 << 10))

    def opened(self, link: Link) -> None:
        self.link = link

    def space(self) -> memoryview:
        return self._space

    def filled(self, size: int) -> None:
        self.received += self._space[:size]

    def drained(self) -> None:
        self.drained_at.append(self.simulation.clock.now_ms())

    def closed(self, error: OSError | None) -> None:
        self.ended.append((self.simulation.clock.now_ms(), error))

    def peer(self) -> Address | None:
        return None if self.link is None else self.link.peer

    def write(self, data: bytes) -> bool:
        assert self.link is not None
        return self.link.write([data])


class Pair:
    """`near` on node a has dialled `far` on node b."""

    def __init__(self, simulation: Simulation) -> None:
        self.near = Machine(simulation)
        self.far = Machine(simulation)

        def accept(peer: Address) -> Machine:
            return self.far

        network = simulation.network
        self.listener = network.node("b").listen("", PORT, accept)
        self.dialing = network.node("a").dial("b", PORT, self.near)


def simulate(body: Callable[[Simulation], object]) -> list[str]:
    async def main(simulation: Simulation) -> None:
        running = body(simulation)
        assert asyncio.iscoroutine(running)
        await running

    return run(main, seed=3).lines


def test_delays_keep_the_order_of_each_direction() -> None:
    async def body(simulation: Simulation) -> None:
        pair = Pair(simulation)
        await simulation.sleep(1)
        simulation.weather.climate = Climate(min_delay_ms=5, max_delay_ms=20)
        for number in range(200):
            pair.near.write(b"%d," % number)
        await simulation.sleep(4)
        assert pair.far.received == b""
        await simulation.sleep(17)
        assert pair.far.received == b"".join(b"%d," % number for number in range(200))

    simulate(body)


def test_a_dial_takes_its_time() -> None:
    async def body(simulation: Simulation) -> None:
        simulation.weather.climate = Climate(min_delay_ms=7, max_delay_ms=7)
        pair = Pair(simulation)
        await simulation.sleep(6)
        assert pair.near.peer() is None
        await simulation.sleep(1)
        assert pair.near.peer() == Address("b", PORT)

    simulate(body)


def test_a_reset_is_heard_on_both_sides() -> None:
    async def body(simulation: Simulation) -> None:
        pair = Pair(simulation)
        await simulation.sleep(1)
        simulation.weather.climate = Climate(drop_probability=1)
        pair.near.write(b"lost")
        await simulation.sleep(1)
        assert pair.far.received == b""
        for machine in (pair.near, pair.far):
            ((_, error),) = machine.ended
            assert isinstance(error, ConnectionResetError)

    simulate(body)


def test_a_dial_may_be_refused() -> None:
    async def body(simulation: Simulation) -> None:
        simulation.weather.climate = Climate(refuse_probability=1)
        pair = Pair(simulation)
        await simulation.sleep(1)
        assert isinstance(pair.near.ended[0][1], ConnectionRefusedError)
        assert pair.near.link is None

    simulate(body)


def test_a_cut_holds_bytes_ends_and_dials_until_it_heals() -> None:
    async def body(simulation: Simulation) -> None:
        pair = Pair(simulation)
        await simulation.sleep(1)
        simulation.weather.partition({"a"}, {"b", "c"})
        pair.near.write(b"held")
        assert pair.near.link is not None
        pair.near.link.close()
        late, cancelled = Machine(simulation), Machine(simulation)
        simulation.network.node("c").dial("a", PORT, late)
        dialing = simulation.network.node("c").dial("a", PORT, cancelled)
        await simulation.sleep(60_000)
        assert pair.far.received == b""
        assert pair.far.ended == []
        assert late.ended == []
        dialing.cancel()
        simulation.weather.heal()
        simulation.network.deliver_held()
        healed_ms = simulation.clock.now_ms()
        await simulation.sleep(1)
        assert pair.far.received == b"held"
        assert pair.far.ended == [(healed_ms, None)]
        assert isinstance(late.ended[0][1], ConnectionRefusedError)
        assert cancelled.ended == [(healed_ms, None)]

    simulate(body)


def test_a_crash_is_heard_by_the_peers_alone() -> None:
    async def body(simulation: Simulation) -> None:
        pair = Pair(simulation)
        await simulation.sleep(1)
        simulation.network.crash("b")
        await simulation.sleep(1)
        assert isinstance(pair.near.ended[0][1], ConnectionResetError)
        assert pair.far.ended == []
        again = Machine(simulation)
        simulation.network.node("a").dial("b", PORT, again)
        await simulation.sleep(1)
        assert isinstance(again.ended[0][1], ConnectionRefusedError)

    simulate(body)


def test_a_crash_forgets_the_dials_of_the_node() -> None:
    async def body(simulation: Simulation) -> None:
        simulation.weather.partition({"a"}, {"b"})
        pair = Pair(simulation)
        await simulation.sleep(1)
        simulation.network.crash("a")
        simulation.weather.heal()
        simulation.network.deliver_held()
        await simulation.sleep(1)
        assert pair.near.link is None
        assert pair.near.ended == []

    simulate(body)


def test_what_is_under_way_is_limited() -> None:
    async def body(simulation: Simulation) -> None:
        pair = Pair(simulation)
        await simulation.sleep(1)
        assert pair.far.link is not None
        pair.far.link.pause()
        assert pair.near.write(bytes(WINDOW_BYTES))
        assert not pair.near.write(b"x")
        await simulation.sleep(1)
        assert pair.near.drained_at == []
        pair.far.link.resume()
        await simulation.sleep(1)
        assert len(pair.near.drained_at) == 1
        assert len(pair.far.received) == WINDOW_BYTES + 1

    simulate(body)


def test_all_that_arrives_is_observed() -> None:
    async def body(simulation: Simulation) -> None:
        pair = Pair(simulation)
        await simulation.sleep(1)
        pair.near.write(b"12345")
        await simulation.sleep(1)
        assert pair.far.link is not None
        pair.far.link.close()
        pair.listener.close()

    assert simulate(body) == [
        "0.000 a:40001 > b:9092 opened",
        "0.001 a:40001 > b:9092 5 bytes",
        "0.002 b:9092 > a:40001 end",
    ]
