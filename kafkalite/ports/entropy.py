"""The Entropy port: every random thing in kafkalite, so that a simulation can repeat itself."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Protocol

from kafkalite.types import Uuid

_STARTS_WITH_DASH = 0b1111_1000
"""A first byte of `111110xx` is `-` in URL-safe base64: Kafka's tools would take the id for an
option."""


class Entropy(Protocol):
    """A source of random bytes."""

    @abstractmethod
    def token_bytes(self, size: int) -> bytes:
        """`size` random bytes."""
        ...

    def uuid(self) -> Uuid:
        """A random UUID (version 4) that Kafka may give to a topic, as `Uuid.randomUuid` does: none
        whose text begins with a dash. The reserved ids are of no version, so they cannot be
        drawn."""
        while True:
            raw = bytearray(self.token_bytes(16))
            raw[6] = raw[6] & 0x0F | 0x40
            raw[8] = raw[8] & 0x3F | 0x80
            if raw[0] & 0b1111_1100 != _STARTS_WITH_DASH:
                return Uuid(bytes(raw))

    def random(self) -> float:
        """From 0 (inclusive) to 1 (exclusive), evenly."""
        return (int.from_bytes(self.token_bytes(7), "big") >> 3) * 2.0**-53


class RealEntropy(Entropy):
    """The operating system's randomness, fit for secrets."""

    def token_bytes(self, size: int) -> bytes:
        """See `Entropy`."""
        return os.urandom(size)


class SeededEntropy(Entropy):
    """The same bytes for the same seed, in any process. Not for secrets."""

    def __init__(self, seed: int) -> None:
        # Imported here: `random` costs a start-up that never uses it several milliseconds.
        from random import Random

        self._random = Random(seed)  # noqa: S311  # predictable on purpose

    def token_bytes(self, size: int) -> bytes:
        """See `Entropy`."""
        return self._random.randbytes(size)
