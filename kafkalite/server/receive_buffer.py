"""Where a connection's bytes arrive, and the frames in them, parsed in place.

A frame is an int32 length and that many bytes. A receive goes into a buffer that the broker's pool
offers for that moment. When its frames are handled nothing is left in most cases, and the next
connection is offered the same buffer: an idle connection holds none. What is left is kept:

    less than OWN_BYTES         moved to a small buffer of the connection's own
    more                        the offered buffer is borrowed, until it is empty

A frame up to SHARED_BYTES is received with what follows it, several in a receive. Of a larger one
exactly what is missing is received: nothing ever has to be moved.

A length is only a claim, so a buffer grows with what arrives: one that is full is changed for one
of about twice its size. Whoever has delivered a large frame before is believed for as much, and
offered as much, while the pool is not half lent. The pool's limit bounds all partial frames
together.

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
        self._ready: memoryview | None = None
        """The one that was taken back last: mostly the next to be offered is of its size. It counts
        as kept."""
        self._waiters: dict[Callable[[], None], None] = {}

    def lends_at_once(self, size: int) -> bool:
        """Whether so much can go to somebody for whom little has arrived yet: half of the limit is
        for those that show what they have."""
        return 2 * (self.lent_bytes + size) <= self.limit_bytes

    def offer(self, size: int) -> memoryview | None:
        """At least `size` bytes of any content, for one receive; None while half is lent. It comes
        back by `take_back`, or becomes a loan by `lend`."""
        ready = self._ready
        if ready is not None:
            capacity = len(ready)
            if (
                size <= capacity < max(2 * size, SHARED_BYTES + 1)
                and 2 * (self.lent_bytes + capacity) <= self.limit_bytes
            ):
                self._ready = None
                self._kept_bytes -= capacity
                return ready
        capacity = _capacity(size)
        return self._buffer(capacity) if self.lends_at_once(capacity) else None

    def take_back(self, offered: memoryview) -> None:
        """Nothing of it was needed for longer."""
        ready, self._ready = self._ready, None
        if ready is not None:
            self._kept_bytes -= len(ready)
            self._keep(ready)
        if self._kept_bytes + len(offered) <= KEPT_BYTES:
            self._kept_bytes += len(offered)
            self._ready = offered

    def lend(self, offered: memoryview) -> None:
        """Something in it has to stay."""
        self.lent_bytes += len(offered)

    def borrow(self, size: int, instead_of: memoryview | None = None) -> memoryview | None:
        """At least `size` bytes of any content; None while others hold too much. `instead_of` is a
        loan that is given back next."""
        capacity = _capacity(size)
        given_back = 0 if instead_of is None else len(instead_of)
        is_beyond = self.lent_bytes - given_back + capacity > self.limit_bytes
        if is_beyond and self._beyond is not None and self._beyond is not instead_of:
            return None
        buffer = self._buffer(capacity)
        self.lent_bytes += capacity
        if is_beyond:
            self._beyond = buffer
        return buffer

    def _buffer(self, capacity: int) -> memoryview:
        kept = self._kept.get(capacity)
        if kept:
            self._kept_bytes -= capacity
            return kept.pop()
        if capacity == SHARED_BYTES:
            return memoryview(bytearray(capacity))
        # Takes memory only as it fills, and all of it goes back to the system at its end.
        return memoryview(_map(capacity))

    def _keep(self, buffer: memoryview) -> None:
        capacity = len(buffer)
        if self._kept_bytes + capacity <= KEPT_BYTES:
            self._kept_bytes += capacity
            self._kept.setdefault(capacity, []).append(buffer)

    def give_back(self, buffer: memoryview) -> None:
        """The end of a loan. Those who wait are called, in their order, and may borrow."""
        self.lent_bytes -= len(buffer)
        if buffer is self._beyond or self.lent_bytes <= self.limit_bytes:
            self._beyond = None
        self._keep(buffer)
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


def _capacity(size: int) -> int:
    if size <= SHARED_BYTES:
        return SHARED_BYTES
    capacity = 1 << (size - 1).bit_length()
    return capacity if capacity <= KEPT_BYTES else size


def _map(size: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


_NO_BYTES = memoryview(bytearray())


class ReceiveBuffer:
    """The unread bytes of one connection."""

    __slots__ = (
        "_data", "_end", "_is_borrowed", "_is_offered", "_need", "_pool", "_start",
        "_trusted_bytes", "is_spent", "limit_bytes", "on_stalled", "received",
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
        self.is_spent = False
        """Whether nothing is behind the frame that `next_frame` has returned."""
        self._trusted_bytes = 0
        """The size of the last large frame that came whole."""
        self.limit_bytes = limit_bytes
        """Of a frame, from the next one on."""
        self._data = _NO_BYTES
        self._is_offered = False
        self._is_borrowed = False
        self._start = 0
        self._end = 0
        self._need = LENGTH_BYTES
        """Bytes from `_start` on without which nothing more can be told."""

    def space(self) -> memoryview:
        """Where the next bytes go; `filled` tells how many came, and `settle` ends it. Call it when
        `next_frame` had no more and `make_room` has succeeded: it is then never empty."""
        if self._start == self._end:
            return self._empty_space()
        if self._need > SHARED_BYTES:
            return self._data[self._end : self._start + self._need]
        return self._data[self._end :]

    def _empty_space(self) -> memoryview:
        data = self._data
        if not self._is_offered:
            if data is not _NO_BYTES:
                self._let_go()
            trusted = self._trusted_bytes
            offered = self._pool.offer(trusted)
            if offered is None:
                self._data = memoryview(bytearray(OWN_BYTES))
                return self._data
            self._is_offered = True
            data = self._data = offered
        # The next frame is likely to be as large as the last: of the one behind it nothing, which
        # would have to be moved.
        return data[: self._trusted_bytes] if self._trusted_bytes else data

    def filled(self, size: int) -> bool:
        """That many bytes came. Whether `next_frame` has something to tell now, or `make_room`
        something to do."""
        self.received += size
        end = self._end = self._end + size
        return end - self._start >= self._need or end == len(self._data)

    def next_frame(self) -> memoryview | None:
        """The next whole frame, without its length; None when it is not there yet. The view is good
        until the next call of another method. `ProtocolError` when its length cannot be."""
        start = self._start
        have = self._end - start
        if have < self._need:
            return None
        size: int = _unpack_length(self._data, start)[0]
        if not 0 <= size <= self.limit_bytes:
            seems = _other_protocol(bytes(self._data[start : start + LENGTH_BYTES]))
            raise ProtocolError(f"a frame of {size} bytes; the limit is {self.limit_bytes}{seems}")
        body = start + LENGTH_BYTES
        if have - LENGTH_BYTES < size:
            self._need = LENGTH_BYTES + size
            return None
        if size > SHARED_BYTES:
            self._trusted_bytes = min(LENGTH_BYTES + size, KEPT_BYTES)
        self._need = LENGTH_BYTES
        end = self._start = body + size
        self.is_spent = end == self._end
        return self._data[body:end]

    def make_room(self) -> bool:
        """Make room for more of the frame that has begun. False while the pool cannot lend.
        Gives back what is borrowed when there is none."""
        start, end, need = self._start, self._end, self._need
        if start == end:
            self._let_go()
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

    def settle(self) -> None:
        """What was received and can be handled is handled: let go of what was offered, or keep of
        it what is left."""
        if not self._is_offered:
            return
        rest = self._end - self._start
        if not rest:
            self._let_go()
        elif rest < OWN_BYTES and not (self._trusted_bytes and self._need > OWN_BYTES):
            offered = self._data
            self._data = memoryview(bytearray(OWN_BYTES))
            self._data[:rest] = offered[self._start : self._end]
            self._start, self._end = 0, rest
            self._is_offered = False
            self._pool.take_back(offered)
        else:
            self._is_offered = False
            self._is_borrowed = True
            self._pool.borrowers[self] = None
            self._pool.lend(self._data)

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
        new = self._pool.borrow(size, instead_of=old if self._is_borrowed else None)
        if new is None:
            return False
        rest = self._end - self._start
        new[:rest] = old[self._start : self._end]
        self._let_go()
        self._data = new
        self._is_borrowed = True
        self._pool.borrowers[self] = None
        return True

    def clear(self) -> None:
        """Forget all bytes, and give back what is borrowed."""
        self._need = LENGTH_BYTES
        self._let_go()

    def _let_go(self) -> None:
        data, self._data = self._data, _NO_BYTES
        self._start = self._end = 0
        if self._is_offered:
            self._is_offered = False
            self._pool.take_back(data)
        elif self._is_borrowed:
            self._is_borrowed = False
            del self._pool.borrowers[self]
            self._pool.give_back(data)


def _other_protocol(begin: bytes) -> str:
    """What a client speaks that has mistaken the listener, if its first bytes tell."""
    for protocol, beginnings in _OTHER_PROTOCOLS.items():
        if begin.startswith(beginnings):
            return f" (the client seems to speak {protocol}, which this listener does not)"
    return ""
