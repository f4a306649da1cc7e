"""Settings as the command line has them: `KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.cli.errors import WrongUseError


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """By key. The value may be empty. `WrongUseError` when a key is missing or set twice."""
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise WrongUseError(f"{text!r}: expected KEY=VALUE, such as retention.ms=60000")
        if key in values:
            raise WrongUseError(f"{key} is set twice")
        values[key] = value
    return values
