from __future__ import annotations

import pytest

from kafkalite.ports.complaints import EVERY_MS, IN_FULL, Complaints
from kafkalite.ports.network import Address
from tests.server.hand_clock import HandClock

PEER = Address("10.1.2.3", 5555)


class World:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.clock = HandClock()
        self.complaints = Complaints(self.clock)
        self._caplog = caplog

    def closing(self, times: int, why: str = "bad") -> list[str]:
        for _ in range(times):
            self.complaints.closing(PEER, why)
        return self.told()

    def later(self, ms: int) -> list[str]:
        self.clock.advance(ms)
        return self.told()

    def told(self) -> list[str]:
        """Since the last call."""
        lines = self._caplog.messages.copy()
        self._caplog.clear()
        return lines


@pytest.fixture
def world(caplog: pytest.LogCaptureFixture) -> World:
    return World(caplog)


FULL = "10.1.2.3:5555: closing the connection: bad"


def test_the_first_are_told_in_full_and_of_a_flood_how_many(world: World) -> None:
    assert world.closing(103_000) == [FULL] * IN_FULL
    assert world.later(EVERY_MS - 1) == []
    assert world.closing(1, "worse") == []
    assert world.later(1) == [
        f"closed {103_001 - IN_FULL} more connections, the last 10.1.2.3:5555: worse"
    ]


def test_while_the_flood_goes_on_there_is_a_line_now_and_then(world: World) -> None:
    world.closing(IN_FULL + 1)
    world.later(EVERY_MS)
    for _ in range(3):
        assert world.closing(500) == []
        (line,) = world.later(EVERY_MS)
        assert line.startswith("closed 500 more connections, ")


def test_after_some_peace_all_is_told_in_full_again(world: World) -> None:
    world.closing(IN_FULL + 1)
    assert len(world.later(EVERY_MS)) == 1
    assert world.later(EVERY_MS) == []
    assert world.closing(IN_FULL) == [FULL] * IN_FULL
    assert world.later(EVERY_MS) == []
    assert world.closing(1) == [FULL]


def test_what_was_counted_is_told_at_the_stop_and_nothing_after_it(world: World) -> None:
    world.closing(IN_FULL + 2)
    world.complaints.stop()
    assert world.clock.waiting == 0
    (line,) = world.told()
    assert line.startswith("closed 2 more connections, ")
    world.complaints.stop()
    assert world.later(10 * EVERY_MS) == []


def test_what_a_peer_says_makes_no_line_of_its_own_and_no_long_one(world: World) -> None:
    assert world.closing(1, "no\n2026 ERROR \x1b[2Jä\u2028\ud800") == [
        FULL.replace("bad", "no\\n2026 ERROR \\x1b[2Jä\\u2028\\ud800")
    ]
    (line,) = world.closing(1, "x" * 500_000)
    assert len(line) < 1_100
