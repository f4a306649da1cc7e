"""Whether others have their turns while one request is worked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafkalite.server import turns

_MOST = 1_000
"""Turns of the loop; time does not go on during these."""


@contextmanager
def order_of(owner: object, name: str, *, turn_cost: int) -> Iterator[list[str]]:
    """What happens, in its order: `piece` whenever that function is called, `others` at each turn
    of the loop. One turn of `Turns` may cost so much."""
    order: list[str] = []
    loop = asyncio.get_running_loop()
    is_over = False
    # `Any`: whatever function it is, passed on as it comes.
    done: Callable[..., Any] = getattr(owner, name)

    def piece(*args: Any, **options: Any) -> Any:
        order.append("piece")
        return done(*args, **options)

    def others() -> None:
        order.append("others")
        if not is_over and len(order) < _MOST:
            loop.call_soon(others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, piece)
        patch.setattr(turns, "TURN_COST", turn_cost)
        loop.call_soon(others)
        yield order
    is_over = True


def pieces_in_a_row(order: list[str]) -> int:
    """The most that were done while all others had to wait."""
    return max(map(len, "".join("p" if each == "piece" else " " for each in order).split()))
