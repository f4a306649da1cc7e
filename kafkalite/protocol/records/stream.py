"""The records of a batch as a stream of bytes: what is compressed is decompressed piece by piece,
only as far as the reader goes, and no more of it is held than a piece or what the reader takes.

Batches come from strangers, and a small one can hold gigabytes of nothing. A `ReadBudget` bounds
what one reader may cost, over all its batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.compression import Buffer, Compression, decompress_pieces

HEAD_BYTES = 21
"""The most that a record's length, attributes, timestamp and offset take."""


class ReadBudget:
    """What may still be decompressed, and how many records may still be looked at."""

    __slots__ = ("bytes_left", "records_left")

    def __init__(self, limit_bytes: int, limit_records: int) -> None:
        self.bytes_left = limit_bytes
        self.records_left = limit_records

    def take_record(self) -> None:
        """Look at one more; `CorruptRecordError` when it is one too many."""
        self.records_left -= 1
        if self.records_left < 0:
            raise CorruptRecordError("more records than may be looked at")


class RecordStream:
    """Decompressed bytes, of which a few are kept. `CorruptRecordError` for bytes that are none of
    the codec's, and when the budget is spent."""

    __slots__ = ("_pieces", "at", "window")

    def __init__(self, codec: Compression, payload: memoryview, budget: ReadBudget) -> None:
        if codec is Compression.NONE:
            self._pieces: Iterator[Buffer] = iter((payload,))
        else:
            self._pieces = _charged(codec, payload, budget)
        self.window = memoryview(b"")
        """What is decompressed and kept."""
        self.at = 0
        """Where the stream stands in it."""

    def head(self) -> memoryview:
        """The next `HEAD_BYTES`; fewer where the batch ends."""
        if len(self.window) - self.at < HEAD_BYTES:
            self.fill(HEAD_BYTES)
        return self.window[self.at : self.at + HEAD_BYTES]

    def fill(self, size: int) -> None:
        """Have the next `size` bytes in `window`, as far as the batch has them."""
        pieces: list[Buffer] = [self.window[self.at :]]
        missing = size - len(pieces[0])
        while missing > 0:
            piece = next(self._pieces, None)
            if piece is None:
                break
            pieces.append(piece)
            missing -= len(piece)
        if len(pieces) > 1:
            is_one = len(pieces) == 2 and not len(pieces[0])
            self.window = memoryview(pieces[1] if is_one else b"".join(pieces))
            self.at = 0

    def skip(self, size: int) -> None:
        """Pass over `size` bytes. `CorruptRecordError` where the batch ends before."""
        self.at += size
        while self.at > len(self.window):
            self.at -= len(self.window)
            piece = next(self._pieces, None)
            if piece is None:
                raise CorruptRecordError("the batch ends within a record")
            self.window = memoryview(piece)

    def rest(self) -> int:
        """How many bytes are left, all of which are read."""
        left = len(self.window) - self.at + sum(map(len, self._pieces))
        self.window, self.at = memoryview(b""), 0
        return left


def _charged(codec: Compression, payload: memoryview, budget: ReadBudget) -> Iterator[Buffer]:
    for piece in decompress_pieces(codec, payload, budget.bytes_left):
        budget.bytes_left -= len(piece)
        yield piece
