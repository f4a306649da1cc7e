"""How records of groups stand in `__consumer_offsets`: offsets of a transaction in a batch of its
producer, and how that ended in a marker of its own.

Source: Kafka's `CoordinatorPartitionWriter` and `CoordinatorLoaderImpl`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.commit_reader import CommitReader, is_commit
from kafkalite.coordinator.groups.log_record import (
    JournalRecord,
    Record,
    TransactionEnded,
    encode_record,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.records import record as log_record
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.control import (
    EndTransactionMarker,
    build_end_transaction_batch,
    read_end_transaction_marker,
)
from kafkalite.protocol.records.record import build_batch
from kafkalite.server.coordinator_replay import BATCH_BYTES
from kafkalite.types import NO_PRODUCER_ID, ProducerEpoch, TimestampMs

_BASE_SEQUENCE = 0
"""As Kafka has it in these batches, though no producer numbers them."""


class GroupRecordCodec:
    """See `RecordCodec`."""

    def __init__(self, compression: Compression = Compression.NONE) -> None:
        """`offsets.topic.compression.codec`."""
        self._compression = compression
        self._reader = CommitReader()

    def batch(self, records: tuple[JournalRecord, ...], now: TimestampMs) -> bytearray:
        """Records of one event: all of one producer, or of none; or one marker."""
        first = records[0]
        if isinstance(first, TransactionEnded):
            assert len(records) == 1, records
            return build_end_transaction_batch(
                EndTransactionMarker(first.committed, first.coordinator_epoch),
                producer_id=first.producer_id,
                producer_epoch=first.producer_epoch,
                timestamp=now,
            )
        plain = [record for record in records if isinstance(record, Record)]
        assert len(plain) == len(records), records
        encoded = [encode_record(record) for record in plain]
        size = sum(len(each.key) + len(each.value or b"") for each in encoded)
        if size > BATCH_BYTES:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"a batch of {size} bytes")
        return build_batch(
            [log_record.Record(each.key, each.value, timestamp=now) for each in encoded],
            compression=self._compression,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            base_sequence=_BASE_SEQUENCE,
            is_transactional=first.producer_id != NO_PRODUCER_ID,
        )

    def read(self, record: log_record.Record, header: BatchHeader) -> JournalRecord | None:
        """None: a control record that ends no transaction."""
        if header.is_control:
            marker = read_end_transaction_marker(record)
            if marker is None:
                return None
            return TransactionEnded(
                header.producer_id,
                committed=marker.is_commit,
                producer_epoch=ProducerEpoch(header.producer_epoch),
                coordinator_epoch=marker.coordinator_epoch,
            )
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        return self._reader.read(bytes(record.key or b""), record.value, producer_id)

    def tells_all(self, record: log_record.Record) -> bool:
        """Commits, most of all that is here."""
        return is_commit(record.key, record.value)
