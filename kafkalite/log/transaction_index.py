"""`<offset>.txnindex`: the aborted transactions whose markers stand in one segment (KIP-98).

Written where a transaction ends that had records, so most segments have none. 34 bytes an entry, in
the order of the markers, big-endian (Kafka's `AbortedTxn` and `TransactionIndex`):

    int16   version: 0
    int64   producer id
    int64   first offset of the transaction
    int64   last offset: the marker's
    int64   last stable offset when the marker was appended
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files
from kafkalite.types import Offset, ProducerId

TRANSACTION_INDEX_SUFFIX = ".txnindex"

_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """Records of one producer from `first_offset` to `last_offset`, both inclusive, that nobody who
    reads what is committed is shown."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


def format_transaction_index(transactions: Iterable[AbortedTransaction]) -> bytes:
    """The content of the file, in the order given."""
    return b"".join(_ENTRY.pack(_VERSION, *transaction) for transaction in transactions)


def parse_transaction_index(data: bytes) -> list[AbortedTransaction]:
    """The inverse; `CorruptRecordError` for a damaged file."""
    if len(data) % _ENTRY.size:
        raise CorruptRecordError(f"a transaction index of {len(data)} bytes")
    found = []
    for version, producer_id, first, last, stable in _ENTRY.iter_unpack(data):
        if version != _VERSION:
            raise CorruptRecordError(f"an aborted transaction of version {version}")
        if not 0 <= first <= last:
            raise CorruptRecordError(f"a transaction from offset {first} to {last}")
        found.append(
            AbortedTransaction(ProducerId(producer_id), Offset(first), Offset(last), Offset(stable))
        )
    return found


def read_transaction_index(files: Files, path: str) -> list[AbortedTransaction]:
    """Of the segment at `path` plus suffix; none without the file."""
    return parse_transaction_index(read_file(files, path + TRANSACTION_INDEX_SUFFIX) or b"")
