"""How long the loop stays awake, by a clock that the test sets and turns that it makes."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable

from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.ports.vigil import Vigil
from kafkalite.testing.clock import SteerableClock
from tests.ports.test_network_sockets import _connected, made

LONG_US = 3_600_000_000


def test_it_lasts_for_its_length_after_the_last_bytes() -> None:
    soon: list[Callable[[], None]] = []
    now_ns = 0
    given_way: list[int] = []
    vigil = Vigil(soon.append, 60, now_ns=lambda: now_ns, give_way=lambda: given_way.append(now_ns))

    def turn() -> bool:
        """Whether there was anything to do, so that the loop would not have slept."""
        callbacks, soon[:] = list(soon), []
        for callback in callbacks:
            callback()
        return bool(callbacks)

    vigil.prolong()
    assert turn()
    now_ns = 59_000
    assert turn()
    vigil.prolong()
    assert len(soon) == 1, "one callback a turn, however often it is prolonged"
    now_ns = 118_999
    assert turn()
    now_ns = 119_000
    turn()
    assert not turn()
    assert given_way == [0, 59_000, 118_999], "once a look, and not at the end"
    vigil.prolong()
    assert turn(), "it begins anew"


def test_without_a_length_the_loop_sleeps_at_once() -> None:
    soon: list[Callable[[], None]] = []
    Vigil(soon.append, 0).prolong()
    assert not soon


class Watched(selectors.DefaultSelector):
    """Tells when the loop has looked at its sockets often without waiting for them."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.often = asyncio.Event()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.looks = self.looks + 1 if timeout == 0 else 0
        if self.looks >= 1000:
            self.often.set()
        return super().select(timeout)


def test_a_network_keeps_its_loop_awake_after_bytes() -> None:
    selector = Watched()

    async def main() -> None:
        made.clear()
        network = SocketNetwork(SteerableClock(), stay_awake_us=LONG_US)
        client, machine = await _connected(network)
        assert selector.looks < 100, "nothing came yet"
        client.send(b"a")
        await selector.often.wait()
        client.close()
        await machine.until(lambda it: bool(it.ends))

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(main())
