"""Text of others (keys, values, names of groups) made safe to print: a terminal obeys what it is
sent."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""On one line: what is no visible character stands as Python writes it, such as `\n`."""
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)


def printable_bytes(content: bytes) -> str:
    r"""As UTF-8, and bytes that are not as `\xff`."""
    return printable(content.decode("utf-8", "backslashreplace"))
