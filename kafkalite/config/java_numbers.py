"""Whole numbers as Java reads them.

Python's `int` takes blanks and underscores, and refuses numbers of more than 4,300 digits whatever
they are.

Source: `Integer.parseInt` and its kin.
"""

from __future__ import annotations

_MOST_DIGITS = 19
"""Of a long, the longest that there is."""


def java_integer(text: str, bits: int = 32) -> int | None:
    """A sign perhaps, and decimal digits of any script; leading zeros do not count. None: it is
    something else, or does not fit in so many bits, the sign's among them."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal():
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    value = -int(digits) if text[0] == "-" else int(digits)
    limit = 1 << (bits - 1)
    return value if -limit <= value < limit else None
