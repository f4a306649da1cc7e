"""Whole numbers as people type them."""

from __future__ import annotations

_MOST_DIGITS = 1_000
"""More than any number that is meant; Python refuses to read more than 4,300."""


def read_whole(text: str) -> int | None:
    """Of the digits 0 to 9, without a sign. None: it is something else."""
    is_one = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_one else None
