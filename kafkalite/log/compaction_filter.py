"""What compaction leaves of one batch: all of it, a batch with fewer records, its header, nothing.

A batch keeps its offsets, its sequence and its codec whatever goes of it. A header without records
stays where its last sequence or epoch is what a producer goes on from, and where it tells how far
the log was cleaned. A batch of which tombstones stay, or a marker whose transaction is gone, is
given a delete horizon (KIP-534): from that time on they may go.

Source: Kafka's `Cleaner` and `MemoryRecords.filterTo`.

Kafka differs: what is left of a batch in snappy may be some bytes longer or shorter there, as its
library finds other matches. With the other codecs all bytes are the same.

Kafka differs: it looks into compressed batches of any size. Here one of more than 256 MiB of
records stays as it is, and so does what it supersedes.

Kafka differs: it takes records out of a batch whose CRC is wrong, and gives what is left a right
one. Here such a log is not cleaned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.compaction_records import (
    OffsetMap,
    keep_all,
    keep_latest,
    record_bytes,
    write_records,
)
from kafkalite.log.compaction_transactions import CleanedTransactions
from kafkalite.log.files import Buffer
from kafkalite.log.scan import StoredBatch
from kafkalite.protocol.records.batch import (
    COMPRESSION_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    crc_is_valid,
    write_header,
)
from kafkalite.protocol.records.compression import DecompressedTooLargeError, compress
from kafkalite.types import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)

_KINDS = TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT
_MAX_LONG = 2**63 - 1


class LastRecord(NamedTuple):
    """What a producer that may go on needs of the log (Kafka's `LastRecord`)."""

    last_data_offset: Offset | None
    """Of its last batch of data; None when only markers are known of its epoch."""
    epoch: ProducerEpoch


class CleanedBatch(NamedTuple):
    """A batch for the cleaned segment."""

    header: BatchHeader
    data: Buffer


class BatchFilter:
    """Decides batch after batch, in the order of the log."""

    __slots__ = (
        "_high_watermark",
        "_horizon_ms",
        "_last_records",
        "_now",
        "_offsets",
        "_transactions",
        "keyless",
        "oversized",
    )

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        last_records: Mapping[ProducerId, LastRecord],
        *,
        high_watermark: Offset,
        now: TimestampMs,
        delete_retention_ms: int,
    ) -> None:
        """A batch that ends at `high_watermark` keeps its header at least, as in Kafka."""
        self._offsets = offsets
        self._transactions = transactions
        self._last_records = last_records
        self._high_watermark = high_watermark
        self._now = now
        self._horizon_ms = TimestampMs(min(now + delete_retention_ms, _MAX_LONG))
        self.keyless = 0
        """Records so far that went because they have no key."""
        self.oversized = 0
        """Batches so far that stayed because their records are too many bytes to look at."""

    def filter(self, batch: StoredBatch) -> CleanedBatch | None:
        """What stays of `batch`; None: nothing. `CorruptRecordError` for one that is damaged."""
        header = batch.header
        if not crc_is_valid(batch.buffer, batch.at, header):
            raise CorruptRecordError(f"the batch at offset {header.base_offset} has a wrong CRC")
        horizon_ms = header.delete_horizon_ms
        is_over = horizon_ms is not None and horizon_ms <= self._now
        if header.is_control:
            has_nothing_left = self._transactions.take_control(batch)
            drops_records = has_nothing_left and is_over
        else:
            has_nothing_left = False
            drops_records = self._transactions.take_data(batch)
        if not drops_records:
            cleaned = self._keep(batch, is_over=is_over, needs_horizon=has_nothing_left)
            if cleaned is not None:
                return cleaned
        if header.next_offset == self._high_watermark or self._is_last_of_producer(header):
            return _without_records(header)
        return None

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        if header.producer_id <= NO_PRODUCER_ID:
            return False
        last = self._last_records.get(header.producer_id)
        if last is None:
            return False
        if last.last_data_offset is not None:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.epoch

    def _keep(
        self, batch: StoredBatch, *, is_over: bool, needs_horizon: bool
    ) -> CleanedBatch | None:
        header = batch.header
        try:
            data = record_bytes(batch)
        except DecompressedTooLargeError:
            self.oversized += 1
            return _as_it_is(batch)
        if header.is_control:
            kept = keep_all(data, header.records_count)
        else:
            kept = keep_latest(
                data,
                header.records_count,
                header.base_offset,
                self._offsets,
                keeps_tombstones=not is_over,
            )
            self.keyless += kept.keyless
        if not kept.spans:
            return None
        horizon_ms = header.delete_horizon_ms
        sets_horizon = horizon_ms is None and (kept.has_tombstones or needs_horizon)
        if len(kept.spans) == header.records_count and not sets_horizon:
            return _as_it_is(batch)
        if sets_horizon:
            horizon_ms = self._horizon_ms
        append_time = (
            header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
        )
        written = write_records(
            data,
            kept.spans,
            header.base_timestamp,
            append_time=append_time,
            new_base=horizon_ms,
        )
        attributes = header.attributes & (_KINDS | COMPRESSION_BITS)
        return _build(
            header._replace(
                attributes=attributes | (0 if horizon_ms is None else DELETE_HORIZON_BIT),
                base_timestamp=written.base_timestamp,
                max_timestamp=written.max_timestamp,
                records_count=len(kept.spans),
            ),
            compress(header.compression, written.data),
        )


def _as_it_is(batch: StoredBatch) -> CleanedBatch:
    end = batch.at + batch.header.size_bytes
    return CleanedBatch(batch.header, memoryview(batch.buffer)[batch.at : end])


def _without_records(header: BatchHeader) -> CleanedBatch:
    return _build(
        header._replace(
            attributes=header.attributes & _KINDS, base_timestamp=NO_TIMESTAMP, records_count=0
        ),
        b"",
    )


def _build(header: BatchHeader, payload: Buffer) -> CleanedBatch:
    data = bytearray(HEADER_SIZE)
    data += payload
    header = header._replace(batch_length=len(data) - LOG_OVERHEAD)
    write_header(data, header)
    return CleanedBatch(header, data)
