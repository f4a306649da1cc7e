"""What became of records that were sent: kafka-python tells it later, on a thread of its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from threading import Condition
from typing import TYPE_CHECKING, Any

from kafkalite.cli.interrupts import interrupts_held_back

if TYPE_CHECKING:
    from kafka.producer.future import FutureRecordMetadata

_INTERRUPTED_EVERY_S = 0.2
"""No longer: Ctrl-C waits for it."""


@dataclass(slots=True)
class Delivered:
    """The records of one partition that are acknowledged."""

    records: int = 0
    first_offset: int | None = None
    """None: the broker was not asked to answer."""
    last_offset: int | None = None


class Deliveries:
    """Counts them."""

    def __init__(self, *, has_offsets: bool) -> None:
        """Without offsets, for `acks=0`, the broker does not say where records went."""
        self.partitions: dict[int, Delivered] = {}
        self.failure: tuple[int, BaseException] | None = None
        """The first line of those that failed, and why."""
        self._has_offsets = has_offsets
        self._open = 0
        self._changed = Condition()

    @property
    def records(self) -> int:
        """How many are acknowledged."""
        return sum(each.records for each in self.partitions.values())

    def follow(self, line: int, future: FutureRecordMetadata) -> None:
        """Wait for news of the record of this line."""
        with self._changed:
            self._open += 1
        future.add_callback(self._on_delivery)
        future.add_errback(self._on_failure, line)

    def wait(self, within_s: float) -> None:
        """Return when the end of each record is known. `flush` of kafka-python would not do: it
        fails when a batch was too large and is sent in parts."""
        for _ in range(ceil(within_s / _INTERRUPTED_EVERY_S)):
            with interrupts_held_back(), self._changed:
                if self._changed.wait_for(lambda: self._open == 0, _INTERRUPTED_EVERY_S):
                    return

    def _on_delivery(self, metadata: Any) -> None:  # `Any`: kafka-python's RecordMetadata.
        delivered = self.partitions.setdefault(metadata.partition, Delivered())
        delivered.records += 1
        if self._has_offsets:
            if delivered.first_offset is None:
                delivered.first_offset = metadata.offset
            delivered.last_offset = metadata.offset
        self._close_one()

    def _on_failure(self, line: int, error: BaseException) -> None:
        if self.failure is None or line < self.failure[0]:
            self.failure = (line, error)
        self._close_one()

    def _close_one(self) -> None:
        with self._changed:
            self._open -= 1
            if self._open == 0:
                self._changed.notify_all()
