"""What a log answers: where an append stands, what a read found."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.log.files import Part
from kafkalite.log.producers import BatchMetadata
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.types import Offset, TimestampMs


class Appended(NamedTuple):
    """Where the records of one append stand."""

    base_offset: Offset
    last_offset: Offset
    """Inclusive."""
    append_time: TimestampMs
    """The broker's time for a topic of `LogAppendTime`, else -1; its batch's of a duplicate."""
    size_bytes: int
    """What was written; 0 for a duplicate: the producer sent these records before."""

    @classmethod
    def repeated(cls, batch: BatchMetadata) -> Appended:
        """Of records that the log has already, as `batch`."""
        return cls(batch.first_offset, batch.last_offset, batch.timestamp, 0)

    @property
    def is_duplicate(self) -> bool:
        """Whether nothing was written."""
        return not self.size_bytes


class LogRead(NamedTuple):
    """Records from an offset on: whole batches, but for the last, which may be cut short."""

    part: Part | None
    """On lease: whoever gets it releases it. None when there is nothing to read (yet)."""
    size_bytes: int
    aborted: tuple[AbortedTransaction, ...] = ()
    """Of readers of what is committed: the transactions whose records, among these, were
    aborted. More may be named that end or begin close behind."""


NOTHING_READ = LogRead(None, 0)
