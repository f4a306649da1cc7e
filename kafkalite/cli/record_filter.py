"""Which records are shown: those whose key or value has a text in it, or matches a regular
expression."""

from __future__ import annotations

import re

from kafkalite.cli.errors import WrongUseError


class TextFilter:
    """`TEXT` is found anywhere, and so is the expression of `/REGEX/`. Null matches nothing."""

    def __init__(self, text: str, option: str) -> None:
        """`WrongUseError`, which names the option, when it is no expression."""
        pattern = re.escape(text)
        if len(text) > 1 and text.startswith("/") and text.endswith("/"):
            pattern = text[1:-1]
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise WrongUseError(f"{option} {text}: no regular expression ({error})") from error

    def matches(self, content: bytes | None) -> bool:
        """Bytes that are no UTF-8 are compared as U+FFFD."""
        if content is None:
            return False
        return self._pattern.search(content.decode("utf-8", "replace")) is not None
