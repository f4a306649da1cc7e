"""The bytes of a file in memory: in chunks, with views that stay valid, knowing what is synced.

A chunk is never resized, nor written where bytes stand, but replaced by a copy; so a view given out
keeps its bytes whatever is appended, cut or overwritten.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.log.files import Buffer

_FIRST_CHUNK_BYTES = 1024
CHUNK_BYTES = 16 << 20
"""A file grows by doubling up to this, and then by chunks of it: no append copies more."""


class MemoryBytes:
    """The bytes of one file, apart from its names and open handles. Methods as `File` has them."""

    __slots__ = ("_chunk_bytes", "_chunks", "_durable", "_models_crashes", "durable_size", "size")

    def __init__(
        self, chunk_bytes: int, data: bytes = b"", *, models_crashes: bool = False
    ) -> None:
        """Only with `models_crashes` it is known, and kept, what a crash leaves."""
        self._chunk_bytes = chunk_bytes
        self._models_crashes = models_crashes
        self._chunks: list[bytearray] = []
        """All but the last are full."""
        self.size = 0
        self.durable_size = 0
        """Bytes that a crash leaves, of `_durable` or else of `_chunks`."""
        self._durable: list[bytearray] | None = None
        """What a crash leaves, where that is no beginning of `_chunks` any more."""
        self.append(data)

    def append(self, data: Buffer) -> None:
        """Write all of it at the end."""
        with memoryview(data) as view:
            done = 0
            while done < len(view):
                at = self.size % self._chunk_bytes
                count = min(len(view) - done, self._chunk_bytes - at)
                self._chunk_with_room(at + count)[at : at + count] = view[done : done + count]
                self.size += count
                done += count

    def _chunk_with_room(self, needed: int) -> bytearray:
        """The last chunk, with at least `needed` bytes of capacity."""
        used = self.size % self._chunk_bytes
        if not used:
            self._chunks.append(bytearray(self._capacity(needed)))
        elif len(self._chunks[-1]) < needed:
            self._copy_last(used, self._capacity(max(needed, 2 * used)))
        return self._chunks[-1]

    def _capacity(self, needed: int) -> int:
        least = self._chunk_bytes if len(self._chunks) > 1 else _FIRST_CHUNK_BYTES
        return min(max(needed, least), self._chunk_bytes)

    def _copy_last(self, used: int, capacity: int) -> None:
        chunk = bytearray(capacity)
        chunk[:used] = memoryview(self._chunks[-1])[:used]
        self._chunks[-1] = chunk

    def view(self, position: int, end: int) -> memoryview:
        """Those bytes, read-only; a copy only where they stand in two chunks."""
        if position >= end:
            return memoryview(b"")
        first = position // self._chunk_bytes
        start = first * self._chunk_bytes
        if end - start <= self._chunk_bytes:
            chunk = memoryview(self._chunks[first]).toreadonly()
            return chunk[position - start : end - start]
        return memoryview(_join(self._chunks, self._chunk_bytes, position, end))

    def overwrite(self, position: int, data: Buffer) -> None:
        """Change bytes below `size`; views given out keep what they saw."""
        if position < self.durable_size:
            self._keep_durable()
        done = 0
        while done < len(data):
            index, at = divmod(position + done, self._chunk_bytes)
            count = min(len(data) - done, self._chunk_bytes - at)
            self._chunks[index] = bytearray(self._chunks[index])
            self._chunks[index][at : at + count] = data[done : done + count]
            done += count

    def truncate(self, size: int) -> None:
        """Cut to `size` bytes; views of what is cut keep them."""
        if size < self.durable_size:
            self._keep_durable()
        self.size = size
        del self._chunks[-(-size // self._chunk_bytes) :]
        used = size % self._chunk_bytes
        if used:
            self._copy_last(used, self._capacity(used))

    def _keep_durable(self) -> None:
        if self._durable is None:
            self._durable = list(self._chunks)

    def sync(self) -> None:
        """From now on a crash leaves these bytes."""
        if not self._models_crashes:
            return
        self._durable = None
        self.durable_size = self.size

    def after_crash(self, kept: Callable[[int], int], *, zeros: bool) -> MemoryBytes:
        """What a disk would hold; `kept(unsynced)` of the unsynced bytes reached it after all.
        `zeros`: the length did, and zeros stand for the others."""
        if self._durable is not None:
            data = _join(self._durable, self._chunk_bytes, 0, self.durable_size)
        else:
            unsynced = self.size - self.durable_size
            end = self.durable_size + (kept(unsynced) if unsynced else 0)
            data = _join(self._chunks, self._chunk_bytes, 0, end)
            if zeros:
                data += bytes(self.size - end)
        node = MemoryBytes(self._chunk_bytes, data, models_crashes=True)
        node.sync()
        return node


def _join(chunks: list[bytearray], chunk_bytes: int, position: int, end: int) -> bytes:
    pieces = []
    while position < end:
        index, at = divmod(position, chunk_bytes)
        count = min(end - position, chunk_bytes - at)
        pieces.append(memoryview(chunks[index])[at : at + count])
        position += count
    return b"".join(pieces)
