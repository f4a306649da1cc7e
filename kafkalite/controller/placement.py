"""Where the replicas of new partitions go: in stripes over racks and brokers.

Each partition starts one broker, and one rack, further than the one before; its replicas go to as
many racks as there are, the leader to a broker that is not fenced. After as many partitions as
there are unfenced brokers the order is shuffled, so that followers of one leader spread.

Source: Kafka's `StripedReplicaPlacer`. The same seed gives the same brokers as there: `JavaRandom`
is `java.util.Random`, whose arithmetic is part of Java's specification.

Kafka differs: racks follow one another in the order of Java's hash maps, here in that of names.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import TypeVar

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import BrokerImage
from kafkalite.types import BrokerId

T = TypeVar("T")

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1


class JavaRandom:
    """`java.util.Random`: predictable numbers out of a seed. Not for secrets."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _next_31_bits(self) -> int:
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """From 0 to `bound`, which is exclusive and positive."""
        bits = self._next_31_bits()
        if bound & -bound == bound:
            return bound * bits >> 31
        while bits - bits % bound + bound - 1 > 0x7FFF_FFFF:
            bits = self._next_31_bits()
        return bits % bound

    def shuffle(self, items: MutableSequence[T]) -> None:
        """In place, as `Collections.shuffle`."""
        for size in range(len(items), 1, -1):
            other = self.below(size)
            items[size - 1], items[other] = items[other], items[size - 1]


class _BrokerRing:
    """Brokers of one rack, handed out one by one; each round (epoch) starts one broker further."""

    def __init__(self) -> None:
        self.brokers: list[BrokerId] = []
        self._given = 0
        self._offset = 0
        self._epoch = 0

    def start(self, random: JavaRandom) -> None:
        if self.brokers:
            self.brokers.sort()
            self._offset = random.below(len(self.brokers))

    def take(self, epoch: int) -> BrokerId | None:
        """The next broker of this round; None when all were given."""
        if not self.brokers:
            return None
        if epoch != self._epoch:
            self._epoch = epoch
            self._given = 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._given >= len(self.brokers):
            return None
        self._given += 1
        return self.brokers[(self._given - 1 + self._offset) % len(self.brokers)]


class _Rack:
    """The brokers of one rack: fenced ones are the last resort."""

    def __init__(self) -> None:
        self.fenced = _BrokerRing()
        self.unfenced = _BrokerRing()

    def take(self, epoch: int) -> BrokerId | None:
        broker = self.unfenced.take(epoch)
        return self.fenced.take(epoch) if broker is None else broker


class _Racks:
    """All racks, walked in a ring. Brokers without a rack share one, which comes first."""

    def __init__(self, brokers: Iterable[BrokerImage], random: JavaRandom) -> None:
        racks: dict[str, _Rack] = {}
        self.total = 0
        self.unfenced = 0
        for broker in brokers:
            # A rack named by the empty string would be another one in Kafka; nobody has such a
            # rack.
            rack = racks.setdefault(broker.rack or "", _Rack())
            (rack.unfenced if broker.active else rack.fenced).brokers.append(broker.id)
            self.total += 1
            self.unfenced += broker.active
        self._racks = [racks[name] for name in sorted(racks)]
        self._in_order = tuple(self._racks)
        for rack in self._racks:
            rack.fenced.start(random)
            rack.unfenced.start(random)
        self._random = random
        self._epoch = 0
        self._offset = random.below(len(self._racks)) if self._racks else 0

    def place(self, factor: int) -> tuple[BrokerId, ...]:
        """Replicas of the next partition. At least one broker is unfenced, and `factor` brokers
        exist."""
        if self._epoch == self.unfenced > 1:
            self._shuffle()
            self._epoch = 0
        count = len(self._racks)
        self._offset %= count
        leader_rack = self._offset
        while (leader := self._racks[leader_rack].unfenced.take(self._epoch)) is None:
            leader_rack = (leader_rack + 1) % count
        replicas = [leader]
        rack = self._offset
        skip: int | None = leader_rack
        while len(replicas) < factor:
            if rack == skip:
                skip = None  # The leader's rack is passed over once: it has a replica already.
            elif (broker := self._racks[rack].take(self._epoch)) is not None:
                replicas.append(broker)
            rack = (rack + 1) % count
        self._epoch += 1
        self._offset += 1
        return tuple(replicas)

    def _shuffle(self) -> None:
        self._random.shuffle(self._racks)
        for rack in self._in_order:
            self._random.shuffle(rack.fenced.brokers)
            self._random.shuffle(rack.unfenced.brokers)


def place_replicas(
    brokers: Iterable[BrokerImage], *, partitions: int, factor: int, seed: int
) -> list[tuple[BrokerId, ...]]:
    """Replicas of each partition; `KafkaError(INVALID_REPLICATION_FACTOR)` when the brokers cannot
    do it."""
    racks = _Racks(brokers, JavaRandom(seed))
    if racks.unfenced == 0:
        problem = "All brokers are currently fenced, or have all their log directories cordoned."
    elif factor > racks.total:
        problem = (
            f"The target replication factor of {factor} cannot be reached because only"
            f" {racks.total} broker(s) are registered or some brokers have all their log"
            " directories cordoned."
        )
    else:
        return [racks.place(factor) for _ in range(partitions)]
    raise KafkaError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {factor} time(s): {problem}",
    )
