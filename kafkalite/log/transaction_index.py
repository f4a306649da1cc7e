"""`<offset>.txnindex`: the aborted transactions whose markers stand in one segment (KIP-98).

Most segments have none. 34 bytes an entry, in the order of the markers, big-endian (Kafka's
`AbortedTxn` and `TransactionIndex`):

    int16   version: 0
    int64   producer id
    int64   first offset of the transaction
    int64   last offset: the marker's
    int64   last stable offset when the marker was appended

Kept in memory, and written when the segment rolls or closes, as the other indexes are. After a
crash it is made again from the log, by whoever replays what producers did.
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

TRANSACTION_INDEX_VERSION = 0
"""Of each entry; there is no other."""

_ENTRY = Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """Records of one producer from `first_offset` to `last_offset`, both inclusive, that nobody who
    reads what is committed is shown."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


def format_transaction_index(transactions: Iterable[AbortedTransaction]) -> bytes:
    """The content of the file, in the order given."""
    return b"".join(
        _ENTRY.pack(TRANSACTION_INDEX_VERSION, *transaction) for transaction in transactions
    )


def parse_transaction_index(data: bytes) -> list[AbortedTransaction]:
    """The inverse; `CorruptRecordError` for a damaged file."""
    if len(data) % _ENTRY.size:
        raise CorruptRecordError(f"a transaction index of {len(data)} bytes")
    found = []
    for version, producer_id, first, last, stable in _ENTRY.iter_unpack(data):
        if version != TRANSACTION_INDEX_VERSION:
            raise CorruptRecordError(f"an aborted transaction of version {version}")
        if not 0 <= first <= last:
            raise CorruptRecordError(f"a transaction from offset {first} to {last}")
        found.append(
            AbortedTransaction(ProducerId(producer_id), Offset(first), Offset(last), Offset(stable))
        )
    return found


class AbortedTransactions:
    """Those of one segment."""

    __slots__ = ("_entries", "_files", "_is_saved", "_path", "is_lost")

    def __init__(self, files: Files, path: str) -> None:
        """`path`: of the segment's files, without suffix. Nothing is read yet."""
        self._files = files
        self._path = path + TRANSACTION_INDEX_SUFFIX
        self._entries: list[AbortedTransaction] | None = None
        self._is_saved = True
        self.is_lost = False
        """Whether the segment's transactions are to be replayed to know them."""

    @property
    def name(self) -> str:
        """Its file, which need not exist."""
        return self._path

    @property
    def all(self) -> list[AbortedTransaction]:
        """In the order of their markers, read if they were not. `CorruptRecordError` for a damaged
        file, `OSError` for one that cannot be read."""
        if self._entries is None:
            self._entries = parse_transaction_index(read_file(self._files, self._path) or b"")
        return self._entries

    def load(self) -> None:
        """Read the file now; raises as `all` does."""
        assert self.all is not None

    def let_go(self) -> None:
        """Forget them until the next use, if the disk has them."""
        if self._is_saved and not self.is_lost:
            self._entries = None

    def begin(self) -> None:
        """Of a segment that is new: there are none."""
        self._entries = []

    def add(self, entry: AbortedTransaction) -> None:
        """Take in one, unless it is known already."""
        if entry not in self.all:
            self.all.append(entry)
            self._is_saved = False

    def forget(self, *, is_lost: bool) -> None:
        """The file is not to be trusted: it goes, and what is `add`ed from now on counts."""
        self.is_lost = is_lost
        self._entries = []
        self._is_saved = True
        if self._files.exists(self._path):
            self._files.remove(self._path)

    def cut(self, end_offset: Offset) -> None:
        """The segment was cut there. The file follows at once: other records may come after it."""
        kept = [entry for entry in self.all if entry.last_offset < end_offset]
        if len(kept) < len(self.all):
            self.forget(is_lost=False)
            self._entries = kept
            self._is_saved = not kept
            self.save()

    def save(self) -> bool:
        """Write the file, not synced, if it lacks something; whether it did."""
        if self._is_saved:
            return False
        data = format_transaction_index(self.all)
        self._files.replace(self._path, data, sync=False)
        self._is_saved = True
        return True
