"""What is said of a start that takes a while."""

from __future__ import annotations

import logging

import pytest

from kafkalite.server.opening_progress import INTERVAL_MS, OpeningProgress
from tests.server.hand_clock import HandClock


@pytest.fixture(autouse=True)
def _told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_a_short_start_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    progress = OpeningProgress(HandClock(), 500)
    for left in (400, 100, 0):
        progress.left(left)
    assert caplog.messages == []


def test_a_long_one_says_how_far_it_is_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    progress = OpeningProgress(clock, 500)
    for left in (400, 300, 200):
        clock.advance(INTERVAL_MS // 2)
        progress.left(left)
    clock.advance(INTERVAL_MS)
    progress.left(10)
    progress.left(0)
    assert caplog.messages == [
        "200 of 500 partitions are open",
        "490 of 500 partitions are open",
        "all 500 partitions are open after 2500 ms",
    ]
