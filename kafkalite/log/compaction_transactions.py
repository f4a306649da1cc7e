"""Which transactions a cleaner is amid while it goes through a log, from offset to offset.

Records of an aborted transaction go. A marker may go once no batch of its transaction is left: an
abort marker without its transaction means nothing, while a transaction without its marker would
look open for ever. Source: Kafka's `CleanedTransactionMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.log.scan import StoredBatch
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.record import read_records
from kafkalite.types import ProducerId

_CONTROL_BATCH_BYTES = 1 << 16


class _OpenAborted:
    """An aborted transaction whose marker is still to come."""

    __slots__ = ("has_batches", "transaction")

    def __init__(self, transaction: AbortedTransaction) -> None:
        self.transaction = transaction
        self.has_batches = False


class CleanedTransactions:
    """To be told of every batch, in order, before it is decided on."""

    __slots__ = ("_aborted", "_coming", "_committed", "kept_aborted")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted`: all that have offsets in what is cleaned; an entry given twice counts once."""
        self._coming = sorted(set(aborted), key=lambda entry: entry.first_offset, reverse=True)
        self._aborted: dict[ProducerId, _OpenAborted] = {}
        self._committed: set[ProducerId] = set()
        self.kept_aborted: list[AbortedTransaction] = []
        """Those whose markers stay: for the index of the cleaned segment. Its writer takes them."""

    def take_data(self, batch: StoredBatch) -> bool:
        """Take in a batch of data; whether its transaction was aborted, so that its records go."""
        header = batch.header
        self._begin(header)
        if not header.is_transactional:
            return False
        opened = self._aborted.get(header.producer_id)
        if opened is None or opened.transaction.last_offset < header.base_offset:
            self._committed.add(header.producer_id)
            return False
        opened.has_batches = True
        return True

    def take_control(self, batch: StoredBatch) -> bool:
        """Take in a control batch; whether nothing is left of what it ended. One without records
        was cleaned before, and so may go."""
        # With it comes the metadata log's codecs, which a log without transactions need not load.
        from kafkalite.protocol.records.control import ControlRecordType, control_record_type

        header = batch.header
        self._begin(header)
        for record in read_records(batch.buffer, batch.at, header, _CONTROL_BATCH_BYTES):
            match control_record_type(record.key):
                case ControlRecordType.ABORT:
                    opened = self._aborted.pop(header.producer_id, None)
                    if opened is None or not opened.has_batches:
                        return True
                    self.kept_aborted.append(opened.transaction)
                    return False
                case ControlRecordType.COMMIT:
                    if header.producer_id not in self._committed:
                        return True
                    self._committed.discard(header.producer_id)
                    return False
                case _:
                    return False
        return True

    def _begin(self, header: BatchHeader) -> None:
        """Those that begin before the batch ends, unless they ended before it."""
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            transaction = self._coming.pop()
            if transaction.last_offset >= header.base_offset:
                self._aborted.setdefault(transaction.producer_id, _OpenAborted(transaction))
