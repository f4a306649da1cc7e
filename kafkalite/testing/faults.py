"""Faults of the in-memory network, by seed: delays, lost connections, partitions."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalite.ports.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Climate:
    """How bad it may get. Probabilities are per delivery, from 0 to 1."""

    min_delay_ms: int = 0
    max_delay_ms: int = 0
    """Each delivery takes a time between the two, inclusive. Bytes of one direction never
    overtake."""
    drop_probability: float = 0.0
    """A connection is reset instead of delivering."""
    refuse_probability: float = 0.0
    """A dial fails."""


FAIR = Climate()
"""No delay, no faults."""
ROUGH = Climate(min_delay_ms=0, max_delay_ms=50, drop_probability=0.01, refuse_probability=0.02)


class Weather:
    """The policy of a memory network, see `ports.network_memory`. Fair until a test sets a
    `climate`."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._cut: set[frozenset[str]] = set()
        self.climate = FAIR

    def partition(self, *sides: set[str]) -> None:
        """Cut every node of one side from every node of the others. Connections stay and deliver
        nothing; dials wait. Adds to earlier partitions."""
        for number, side in enumerate(sides):
            for other in sides[number + 1 :]:
                self._cut |= {frozenset((one, two)) for one in side for two in other}

    def heal(self) -> None:
        """End all partitions. Tell the network too (`MemoryNetwork.deliver_held`)."""
        self._cut.clear()

    def dial_delay_ms(self, source: str, target: str) -> int | None:
        """See `Policy`."""
        return self._delay_ms(self.climate.refuse_probability)

    def delay_ms(self, source: str, target: str) -> int | None:
        """See `Policy`."""
        return self._delay_ms(self.climate.drop_probability)

    def is_cut(self, source: str, target: str) -> bool:
        """See `Policy`."""
        return frozenset((source, target)) in self._cut

    def _delay_ms(self, failure: float) -> int | None:
        climate = self.climate
        if failure and self._entropy.random() < failure:
            return None
        span_ms = climate.max_delay_ms - climate.min_delay_ms
        return climate.min_delay_ms + int(self._entropy.random() * (span_ms + 1))
