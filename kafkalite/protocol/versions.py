"""Ranges of versions, as Kafka's schemas write them: "0+", "3-11", "7", "none"."""

from __future__ import annotations

from typing import Final, NamedTuple

OPEN_END: Final = 0x7FFF
"""The last version of a range without end: the greatest int16."""


class Versions(NamedTuple):
    """A range of versions, `first` and `last` inclusive; empty when `last < first`."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last

    @classmethod
    def parse(cls, text: str) -> Versions:
        """From Kafka's notation; `ValueError` for anything else."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), OPEN_END)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))
