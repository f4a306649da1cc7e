"""`<offset>.txnindex`: the aborted transactions whose markers stand in one segment (KIP-98).

Most segments have none. 34 bytes an entry, in the order of the markers, big-endian (Kafka's
`AbortedTxn` and `TransactionIndex`):

    int16   version: 0
    int64   producer id
    int64   first offset of the transaction
    int64   last offset: the marker's
    int64   last stable offset when the marker was appended

Written when the segment rolls or closes, or when there is no room in memory, as the other indexes
are. After a crash it is made again from the log, by whoever replays what producers did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files
from kafkalite.log.index_files import extend
from kafkalite.types import Offset, ProducerId

TRANSACTION_INDEX_SUFFIX = ".txnindex"

TRANSACTION_INDEX_VERSION = 0
"""Of each entry; there is no other."""

_ENTRY = Struct(">hqqqq")
_LAST_OFFSET = Struct(">q")
_LAST_OFFSET_AT = 18


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
    """Those of one segment: as they stand in the file, while that is in memory, and those that it
    lacks."""

    __slots__ = ("_added", "_files", "_latest", "_path", "_saved", "_saved_bytes", "is_lost")

    def __init__(self, files: Files, path: str) -> None:
        """`path`: of the segment's files, without suffix. Nothing is read yet."""
        self._files = files
        self._path = path + TRANSACTION_INDEX_SUFFIX
        self._saved: bytes | None = None
        """The file's content, if it is in memory."""
        self._saved_bytes = 0
        """Its size, once it was read or written."""
        self._added: bytes | bytearray = b""
        """The entries that come behind it."""
        self._latest: int | None = None
        """The last entry's last offset, -1 without entries; None: the file was not read."""
        self.is_lost = False
        """Whether the segment's transactions are to be replayed to know them."""

    @property
    def name(self) -> str:
        """Its file, which need not exist."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """In memory."""
        return len(self._added) + len(self._saved or b"")

    @property
    def is_loaded(self) -> bool:
        """Whether a look at the entries needs no file."""
        return self._saved is not None

    @property
    def all(self) -> list[AbortedTransaction]:
        """In the order of their markers; see `load`."""
        self.load()
        return parse_transaction_index((self._saved or b"") + self._added)

    def since(self, offset: int) -> Iterator[AbortedTransaction]:
        """Those that end at or above `offset`, in order; see `load`."""
        if self.is_loaded and not self.size_bytes:
            return iter(())
        self.load()
        return chain(_since(self._saved or b"", offset), _since(self._added, offset))

    def load(self) -> None:
        """Have all in memory, read if they were not. `CorruptRecordError` for a damaged file,
        `OSError` for one that cannot be read."""
        if self._saved is not None:
            return
        data = read_file(self._files, self._path) or b""
        if self._latest is None:
            parse_transaction_index(data)
            self._saved_bytes = len(data)
            self._latest = _last_offset(data, -1) if data else -1
        elif len(data) < self._saved_bytes:
            raise CorruptRecordError(f"{self._path} has lost its end")
        self._saved = data[: self._saved_bytes]

    def let_go(self) -> None:
        """Forget what the file has until the next use. What has none stays: it takes nothing."""
        if self._saved_bytes:
            self._saved = None

    def begin(self) -> None:
        """Of a segment that is new: there are none."""
        self._saved, self._saved_bytes, self._added, self._latest = b"", 0, b"", -1

    def add(self, entry: AbortedTransaction) -> None:
        """Take in one, unless it is known already. It needs the file only if that was never read,
        and raises as `load` does then."""
        if self._latest is None:
            self.load()
        assert self._latest is not None
        if entry.last_offset > self._latest:
            self._added = self._added or bytearray()
            self._added += format_transaction_index([entry])
            self._latest = entry.last_offset

    def forget(self, *, is_lost: bool) -> None:
        """The file is not to be trusted: it goes, and what is `add`ed from now on counts."""
        self.is_lost = is_lost
        self.begin()
        if self._files.exists(self._path):
            self._files.remove(self._path)

    def until(self, end_offset: Offset) -> bytes:
        """Those that end below `end_offset`, as a file would have them; raises as `load` does."""
        return format_transaction_index(each for each in self.all if each.last_offset < end_offset)

    def cut(self, kept: bytes) -> None:
        """The segment was cut: have those alone, which `until` told. The file is to be `trim`med
        before others come."""
        self._saved, self._added = kept[: self._saved_bytes], bytearray(kept[self._saved_bytes :])
        self._saved_bytes = len(self._saved)
        self._latest = _last_offset(kept, -1) if kept else -1

    def trim(self) -> None:
        """Have the file end with what counts of it. After an `OSError` it can be tried again."""
        assert self._latest is not None, "nobody knows what counts"
        if self._files.exists(self._path) and self._files.size(self._path) > self._saved_bytes:
            extend(self._files, self._path, self._saved_bytes, b"")

    def save(self) -> bool:
        """Add to the file, not synced, what it lacks; whether it lacked any. After an `OSError` it
        can be tried again."""
        if not self._added:
            return False
        extend(self._files, self._path, self._saved_bytes, self._added)
        if self._saved is not None:
            self._saved += self._added
        self._saved_bytes += len(self._added)
        self._added = b""
        return True


def _since(data: bytes | bytearray, offset: int) -> Iterator[AbortedTransaction]:
    """Those that end at or above `offset`. Whoever reads what is committed asks at each fetch, and
    a segment may have many: none is looked at that he does not take, and nothing is copied."""
    count = len(data) // _ENTRY.size
    first = bisect_left(range(count), offset, key=lambda at: _last_offset(data, at))
    return (_entry(data, at) for at in range(first, count))


def _last_offset(data: bytes | bytearray, at: int) -> int:
    """Of the entry of that number; -1 is the last one."""
    found: int = _LAST_OFFSET.unpack_from(data, at * _ENTRY.size + _LAST_OFFSET_AT)[0]
    return found


def _entry(data: bytes | bytearray, at: int) -> AbortedTransaction:
    _, *entry = _ENTRY.unpack_from(data, at * _ENTRY.size)
    return AbortedTransaction._make(entry)
