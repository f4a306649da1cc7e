"""Where a connection's bytes arrive, and the frames in them, parsed in place.

A frame is an int32 length and that many bytes. Small frames are read many at a time into a buffer
of the connection's own; a larger frame borrows a buffer from the broker's pool and gives it back as
soon as it is empty, so an idle connection holds little and the pool's limit bounds all partial
frames together.

    size of frame         buffer        space offered
    up to OWN_BYTES       its own       all that is free
    up to SHARED_BYTES    borrowed      all that is free: several frames a receive
    larger                borrowed      exactly what is missing: nothing ever has to be moved
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from kafkalite.errors import ProtocolError

LENGTH_BYTES = 4
OWN_BYTES = 4 << 10
SHARED_BYTES = 64 << 10
"""The least that is borrowed."""
KEPT_BYTES = 16 << 20
"""The most that the pool keeps for the next borrower: memory that the kernel need not clear
again."""

_unpack_length = Struct(">i").unpack_from


class BufferPool:
    """Buffers for the frames of all connections of a broker. Up to `limit_bytes` are lent at a
    time, and one buffer more: connections that each hold a part of the limit and need more would
    otherwise wait for each other for ever, and so would one whose frame is larger than the
    limit."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.lent_bytes = 0
        self._beyond: memoryview | None = None
        """The buffer that is lent beyond the limit."""
        self._kept: dict[int, list[memoryview]] = {}
        self._kept_bytes = 0
        self._waiters: dict[Callable[[], None], None] = {}

    def borrow(self, size: int, instead_of: memoryview | None = None) -> memoryview | None:
        """At least `size` bytes of any content; None while others hold too much. `instead_of` is a
        loan that is given back next."""
        capacity = SHARED_BYTES if size <= SHARED_BYTES else 1 << (size - 1).bit_length()
        if capacity > KEPT_BYTES:
            capacity = size
        is_beyond = self.lent_bytes + capacity > self.limit_bytes
        if is_beyond and self._beyond is not None and self._beyond is not instead_of:
            return None
        kept = self._kept.get(capacity)
        if kept:
            self._kept_bytes -= capacity
            buffer = kept.pop()
        else:
            buffer = memoryview(bytearray(capacity))
        self.lent_bytes += capacity
        if is_beyond:
            self._beyond = buffer
        return buffer

    def give_back(self, buffer: memoryview) -> None:
        """The end of a loan. Those who wait are called, in their order, and may borrow."""
        capacity = len(buffer)
        self.lent_bytes -= capacity
        if buffer is self._beyond or self.lent_bytes <= self.limit_bytes:
            self._beyond = None
        if self._kept_bytes + capacity <= KEPT_BYTES:
            self._kept_bytes += capacity
            self._kept.setdefault(capacity, []).append(buffer)
        waiters, self._waiters = self._waiters, {}
        for callback in waiters:
            callback()

    @property
    def waiting(self) -> int:
        """How many are to be called back."""
        return len(self._waiters)

    def forget(self, callback: Callable[[], None]) -> None:
        """Call it no more, if it is to be called."""
        self._waiters.pop(callback, None)

    def call_when_given_back(self, callback: Callable[[], None]) -> None:
        """Call back once, at the next end of a loan."""
        self._waiters[callback] = None


class ReceiveBuffer:
    """The unread bytes of one connection."""

    __slots__ = ("_data", "_end", "_limit_bytes", "_need", "_own", "_pool", "_start")

    def __init__(self, pool: BufferPool, limit_bytes: int) -> None:
        self._pool = pool
        self._limit_bytes = limit_bytes
        self._own = memoryview(bytearray(OWN_BYTES))
        self._data = self._own
        self._start = 0
        self._end = 0
        self._need = LENGTH_BYTES
        """Bytes from `_start` on without which nothing more can be told."""

    @property
    def is_ready(self) -> bool:
        """Whether `next_frame` has something to tell."""
        return self._end - self._start >= self._need

    def space(self) -> memoryview:
        """Where the next bytes go; `filled` tells how many came. Call it when `is_ready` is False
        and `make_room` has succeeded: it is then never empty."""
        if self._start == self._end:
            self.make_room()
            return self._own
        if self._need > SHARED_BYTES:
            return self._data[self._end : self._start + self._need]
        return self._data[self._end :]

    def filled(self, size: int) -> bool:
        """That many bytes came. Whether `next_frame` has something to tell now."""
        self._end += size
        return self._end - self._start >= self._need

    def next_frame(self) -> memoryview | None:
        """The next whole frame, without its length; None when it is not there yet. The view is good
        until the next call of `space` or `make_room`. `ProtocolError` when its length cannot be."""
        start = self._start
        have = self._end - start
        if have < self._need:
            return None
        size: int = _unpack_length(self._data, start)[0]
        if not 0 <= size <= self._limit_bytes:
            raise ProtocolError(f"a frame of {size} bytes; the limit is {self._limit_bytes}")
        body = start + LENGTH_BYTES
        if have - LENGTH_BYTES < size:
            self._need = LENGTH_BYTES + size
            return None
        self._need = LENGTH_BYTES
        self._start = body + size
        return self._data[body : body + size]

    def make_room(self) -> bool:
        """Make room for the rest of the frame that has begun. False while the pool cannot lend.
        Gives back what is borrowed when there is none."""
        start, end, need = self._start, self._end, self._need
        if start == end:
            self._start = self._end = 0
            if self._data is not self._own:
                self._give_back()
            return True
        if start + need <= len(self._data):
            return True
        rest = end - start
        if need <= len(self._data):
            self._data[:rest] = self._data[start:end]
        else:
            larger = self._pool.borrow(need, instead_of=self._data)
            if larger is None:
                return False
            larger[:rest] = self._data[start:end]
            if self._data is not self._own:
                self._give_back()
            self._data = larger
        self._start, self._end = 0, rest
        return True

    def clear(self) -> None:
        """Forget all bytes, and give back what is borrowed."""
        self._start = self._end = 0
        self._need = LENGTH_BYTES
        if self._data is not self._own:
            self._give_back()

    def _give_back(self) -> None:
        borrowed, self._data = self._data, self._own
        self._pool.give_back(borrowed)
