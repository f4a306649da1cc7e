"""How many bytes readers get to see when the high watermark moves.

What was appended waits here until it is committed, or on the disk where that is to be first.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from kafkalite.types import Offset

MANY: Final = 1 << 31
"""Bytes of records that were there before: how many is not known, and more than any fetch waits
for."""
_MOST: Final = 1_000
"""Appends that are told apart; those beyond count as one."""


class _Append(NamedTuple):
    end_offset: Offset
    size_bytes: int


class UnseenBytes:
    """Of one log."""

    __slots__ = ("appends",)

    def __init__(self) -> None:
        self.appends: deque[_Append] = deque()
        """Oldest first; empty when all is seen. Only to be looked at."""

    def begin(self, high_watermark: Offset, end_offset: Offset) -> None:
        """Begin anew, with a log that was there before."""
        self.appends.clear()
        if high_watermark < end_offset:
            self.appends.append(_Append(end_offset, MANY))

    def add(self, end_offset: Offset, size_bytes: int) -> None:
        """So much was appended, and the log ends there now."""
        appends = self.appends
        if len(appends) >= _MOST:
            size_bytes += appends.pop().size_bytes
        appends.append(_Append(end_offset, size_bytes))

    def see(self, high_watermark: Offset) -> int:
        """Bytes that are seen now, and were not before."""
        appends, size_bytes = self.appends, 0
        while appends and appends[0].end_offset <= high_watermark:
            size_bytes += appends.popleft().size_bytes
        if appends and appends[0].size_bytes >= MANY:
            return MANY  # A part of them.
        return size_bytes
