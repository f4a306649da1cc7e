"""The event loop that a broker runs on: uvloop's where it is installed, else asyncio's.

Everything works on both, and the contract tests run on both; uvloop takes 0.6 of the cpu per small
request (docs/decisions/0006-network.md). On Windows it is the selector loop, since the default one
there cannot watch raw sockets.
"""

from __future__ import annotations

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """For `asyncio.Runner(loop_factory=...)`."""
    try:
        from uvloop import new_event_loop as new_uvloop
    except ImportError:
        return asyncio.SelectorEventLoop()
    return new_uvloop()
