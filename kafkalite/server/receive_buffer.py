"""Where a connection's bytes arrive, and the frames in them, parsed in place.

A frame is an int32 length and that many bytes. Small frames are read many at a time into a buffer
of the connection's own; a larger frame borrows a buffer from the broker's pool and gives it back as
soon as it is empty, so an idle connection holds little and the pool's limit bounds all partial
frames together.

    size of frame         buffer        space offered
    up to OWN_BYTES       its own       all that is free
    up to SHARED_BYTES    borrowed      all that is free: several frames a receive
    larger                borrowed      exactly what is missing: nothing ever has to be moved

A length is only a claim, so a buffer grows with what arrives: one that is full is changed for one
of about twice its size. Whoever has delivered a large frame before is believed for as much, while
the pool is not half lent.

Kafka differs: it has the whole buffer at once and no limit for all (`queued.max.request.bytes` is
-1). With its limit set, a client that stalls in the middle of a request keeps its room for as long
as it likes; here it is closed while others wait for room, when less than 64 KiB came from it in
10 s.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable
from struct import Struct

from kafkalite.errors import ProtocolError
from kafkalite.ports.clock import Clock, Timer

LENGTH_BYTES = 4
OWN_BYTES = 4 << 10
SHARED_BYTES = 64 << 10
"""The least that is borrowed."""
KEPT_BYTES = 16 << 20
"""The most that the pool keeps for the next borrower: memory that the kernel need not clear
again."""
STALL_MS = 10_000
STALL_BYTES = SHARED_BYTES

_OTHER_PROTOCOLS = {"TLS": (b"\x16\x03",), "HTTP": (b"GET ", b"POST", b"PUT ", b"HEAD", b"PRI ")}
"""How those begin that, read as a length, are beyond most limits."""

_unpack_length = Struct(">i").unpack_from


class BufferPool:
    """Buffers for the frames of all connections of a broker. Up to `limit_bytes` are lent at a
    time, and one buffer more: connections that each hold a part of the limit and need more would
    otherwise wait for each other for ever, and so would one whose frame is larger than the
    limit."""

    def __init__(self, limit_bytes: int, clock: Clock | None = None) -> None:
        """Without a clock nobody is told to have stalled."""
        self.limit_bytes = limit_bytes
        self.lent_bytes = 0
        self.borrowers: dict[ReceiveBuffer, None] = {}
        """Those that hold a loan, the oldest first."""
        self._clock = clock
        self._stall_timer: Timer | None = None
        """Runs while somebody waits."""
        self._received_before: dict[ReceiveBuffer, int] = {}
        """What each borrower had received when the timer was set."""
        self._beyond: memoryview | None = None
        """The buffer that is lent beyond the limit."""
        self._kept: dict[int, list[memoryview]] = {}
        self._kept_bytes = 0
        self._waiters: dict[Callable[[], None], None] = {}

    def lends_at_once(self, size: int) -> bool:
        """Whether so much can go to somebody for whom little has arrived yet: half of the limit is
        for those that show what they have."""
        return 2 * (self.lent_bytes + size) <= self.limit_bytes

    def borrow(self, size: int, instead_of: memoryview | None = None) -> memoryview | None:
        """At least `size` bytes of any content; None while others hold too much. `instead_of` is a
        loan that is given back next."""
        capacity = SHARED_BYTES if size <= SHARED_BYTES else 1 << (size - 1).bit_length()
        if capacity > KEPT_BYTES:
            capacity = size
        given_back = 0 if instead_of is None else len(instead_of)
        is_beyond = self.lent_bytes - given_back + capacity > self.limit_bytes
        if is_beyond and self._beyond is not None and self._beyond is not instead_of:
            return None
        kept = self._kept.get(capacity)
        if kept:
            self._kept_bytes -= capacity
            buffer = kept.pop()
        elif capacity == SHARED_BYTES:
            buffer = memoryview(bytearray(capacity))
        else:
            # Takes memory only as it fills, and all of it goes back to the system at its end.
            buffer = memoryview(_map(capacity))
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
        self._stop_watch()

    @property
    def waiting(self) -> int:
        """How many are to be called back."""
        return len(self._waiters)

    def forget(self, callback: Callable[[], None]) -> None:
        """Call it no more, if it is to be called."""
        self._waiters.pop(callback, None)
        self._stop_watch()

    def call_when_given_back(self, callback: Callable[[], None]) -> None:
        """Call back once, at the next end of a loan."""
        self._waiters[callback] = None
        if self._stall_timer is None and self._clock is not None:
            self._watch(self._clock)

    def _watch(self, clock: Clock) -> None:
        self._received_before = {buffer: buffer.received for buffer in self.borrowers}
        self._stall_timer = clock.call_at(
            clock.now_ms() + STALL_MS, lambda: self._tell_stalled(clock)
        )

    def _stop_watch(self) -> None:
        if self._stall_timer is not None and not self._waiters:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _tell_stalled(self, clock: Clock) -> None:
        self._stall_timer = None
        for buffer, before in self._received_before.items():
            if buffer in self.borrowers and buffer.received - before < STALL_BYTES:
                buffer.on_stalled()
        self._received_before = {}
        if self._waiters and self._stall_timer is None:
            self._watch(clock)


def _map(size: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class ReceiveBuffer:
    """The unread bytes of one connection."""

    __slots__ = (
        "_data", "_end", "_limit_bytes", "_need", "_own", "_pool", "_start", "_trusted_bytes",
        "on_stalled", "received",
    )  # fmt: skip

    def __init__(
        self, pool: BufferPool, limit_bytes: int, on_stalled: Callable[[], None] = lambda: None
    ) -> None:
        """`on_stalled` is called while others wait for room, when this buffer holds some and next
        to nothing came into it for a while."""
        self._pool = pool
        self.on_stalled = on_stalled
        self.received = 0
        """Bytes, in all."""
        self._trusted_bytes = 0
        """The size of the last large frame that came whole."""
        self._limit_bytes = limit_bytes
        self._own = memoryview(bytearray(OWN_BYTES))
        self._data = self._own
        self._start = 0
        self._end = 0
        self._need = LENGTH_BYTES
        """Bytes from `_start` on without which nothing more can be told."""

    def space(self) -> memoryview:
        """Where the next bytes go; `filled` tells how many came. Call it when it was not ready, or
        `make_room` has succeeded: it is then never empty."""
        if self._start == self._end:
            self.make_room()
            return self._own
        if self._need > SHARED_BYTES:
            return self._data[self._end : self._start + self._need]
        return self._data[self._end :]

    def filled(self, size: int) -> bool:
        """That many bytes came. Whether it is ready now: `next_frame` has something to tell, or
        `make_room` something to do."""
        self.received += size
        end = self._end = self._end + size
        return end - self._start >= self._need or end == len(self._data)

    def next_frame(self) -> memoryview | None:
        """The next whole frame, without its length; None when it is not there yet. The view is good
        until the next call of `space` or `make_room`. `ProtocolError` when its length cannot be."""
        start = self._start
        have = self._end - start
        if have < self._need:
            return None
        size: int = _unpack_length(self._data, start)[0]
        if not 0 <= size <= self._limit_bytes:
            seems = _other_protocol(bytes(self._data[start : start + LENGTH_BYTES]))
            raise ProtocolError(f"a frame of {size} bytes; the limit is {self._limit_bytes}{seems}")
        body = start + LENGTH_BYTES
        if have - LENGTH_BYTES < size:
            self._need = LENGTH_BYTES + size
            return None
        if size > SHARED_BYTES:
            self._trusted_bytes = min(self._need, KEPT_BYTES)
        self._need = LENGTH_BYTES
        self._start = body + size
        return self._data[body : body + size]

    def make_room(self) -> bool:
        """Make room for more of the frame that has begun. False while the pool cannot lend.
        Gives back what is borrowed when there is none."""
        start, end, need = self._start, self._end, self._need
        if start == end:
            self._start = self._end = 0
            if self._data is not self._own:
                self._give_back()
            return True
        data = self._data
        if start + need <= len(data):
            return True
        rest = end - start
        wanted = need
        if need > len(data):
            wanted = self._grown(rest, need)
            if wanted <= len(data) and end < len(data):
                return True
        if wanted <= len(data):
            data[:rest] = data[start:end]
        elif not self._change(wanted):
            return False
        self._start, self._end = 0, rest
        return True

    def _grown(self, rest: int, need: int) -> int:
        """How large a buffer the frame may have now, of which `rest` bytes have come."""
        trusted = min(need, self._trusted_bytes)
        if rest < trusted and self._pool.lends_at_once(trusted):
            return trusted
        if self._end < len(self._data):
            return 0
        return min(need, max(2 * rest, SHARED_BYTES))

    def _change(self, size: int) -> bool:
        """Go on in a borrowed buffer of that size."""
        old = self._data
        is_own = old is self._own
        new = self._pool.borrow(size, instead_of=None if is_own else old)
        if new is None:
            return False
        rest = self._end - self._start
        new[:rest] = old[self._start : self._end]
        self._data = new
        if is_own:
            self._pool.borrowers[self] = None
        else:
            self._pool.give_back(old)
        return True

    def clear(self) -> None:
        """Forget all bytes, and give back what is borrowed."""
        self._start = self._end = 0
        self._need = LENGTH_BYTES
        if self._data is not self._own:
            self._give_back()

    def _give_back(self) -> None:
        borrowed, self._data = self._data, self._own
        del self._pool.borrowers[self]
        self._pool.give_back(borrowed)


def _other_protocol(begin: bytes) -> str:
    """What a client speaks that has mistaken the listener, if its first bytes tell."""
    for protocol, beginnings in _OTHER_PROTOCOLS.items():
        if begin.startswith(beginnings):
            return f" (the client seems to speak {protocol}, which this listener does not)"
    return ""
