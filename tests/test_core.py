"""What cores and the shell have in common."""

from __future__ import annotations

import pytest

from kafkalite.core import NO_PAUSE, Pause
from kafkalite.types import TimestampMs


@pytest.mark.parametrize(
    ("at_ms", "is_over"),
    [
        pytest.param(5_000, False, id="at its begin"),
        pytest.param(5_299, False, id="just before its end"),
        pytest.param(5_300, True, id="at its end"),
        pytest.param(9_000_000, True, id="long after it"),
        pytest.param(4_999, True, id="with a clock that was set back"),
    ],
)
def test_a_pause_is_over(at_ms: int, is_over: bool) -> None:
    assert Pause.of(300, TimestampMs(5_000)).is_over(TimestampMs(at_ms)) is is_over


def test_no_pause_is_over_always() -> None:
    assert NO_PAUSE.is_over(TimestampMs(0))
