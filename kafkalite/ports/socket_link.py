"""One connected socket under a registered reader: receives into the machine's space, sends its
parts.

File slices leave by `sendfile` where the platform has it; a header before one is sent with
MSG_MORE, so that both share a packet. The numbers behind the constants are in
docs/decisions/0006-network.md.

uvloop calls a reader once after its connection was reset, and never again, whatever is left to be
read (libuv stops to watch a socket upon an error). So it is told of resets (`PeerEnds`), and then
registers the reader anew after each receive, until a receive finds the reset.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import cast

from kafkalite.log.files import Buffer, FileSlice, Part, release_parts
from kafkalite.ports.network import Address, Connection
from kafkalite.ports.peer_ends import PeerEnds
from kafkalite.ports.vigil import Vigil

TURN_BYTES = 1 << 20
"""The most that `sendfile` takes in a turn of the loop, so that the other connections have
theirs."""
READ_BYTES = 256 << 10
"""The most that is read from a file for a socket that cannot take it by `sendfile`."""
SMALL_RECEIVE = 4096
"""A receive of up to this size that filled its space is followed by a second one in the same
turn."""
SMALL_ANSWER = 4096
"""Several of up to this size leave as one: copying costs less than telling the kernel of each."""
_BUFFERS_A_CALL = 64
"""Far below IOV_MAX, which is 1024 on Linux and 16 at the least that POSIX allows."""

_HAS_SENDFILE = hasattr(os, "sendfile")
_HAS_SENDMSG = hasattr(socket.socket, "sendmsg")
_MSG_MORE = getattr(socket, "MSG_MORE", 0)


class TruncatedSliceError(OSError):
    """A file became shorter than the slice that was being sent; the peer cannot be told but by
    closing."""


def _in_one(parts: list[Part]) -> bytes | None:
    """Several small answers, of requests that came together; None when there is more to it."""
    for part in parts:
        if not isinstance(part, bytes) or len(part) > SMALL_ANSWER:
            return None
    return b"".join(cast("list[bytes]", parts))


class SocketLink:
    """See `Link`. Begins to read at `start`."""

    __slots__ = (
        "_closed",
        "_connection",
        "_ended",
        "_fd",
        "_is_reset",
        "_local",
        "_loop",
        "_paused",
        "_peer",
        "_peer_ends",
        "_progress",
        "_queue",
        "_reading",
        "_resets",
        "_sent",
        "_socket",
        "_vigil",
        "_writing",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        connection: Connection,
        peer_ends: PeerEnds,
        vigil: Vigil,
        resets: PeerEnds | None = None,
    ) -> None:
        """`resets`: None where the loop's own readers tell of them."""
        self._loop = loop
        self._socket = sock
        self._fd = sock.fileno()
        self._connection = connection
        self._local = Address(*sock.getsockname()[:2])
        self._peer = Address(*sock.getpeername()[:2])
        self._queue: deque[Part] = deque()
        self._sent = 0
        """Bytes of the queue's first part that have left."""
        self._progress = 0
        self._paused = False
        self._peer_ends = peer_ends
        self._vigil = vigil
        self._resets = resets
        self._is_reset = False
        self._ended: Callable[[], None] | None = None
        """Of `watch_end`."""
        self._reading = False
        self._writing = False
        self._closed = False

    @property
    def local(self) -> Address:
        """See `Link`."""
        return self._local

    @property
    def peer(self) -> Address:
        """See `Link`."""
        return self._peer

    @property
    def peer_certificate(self) -> None:
        """See `Link`."""
        return None

    @property
    def progress(self) -> int:
        """See `Link`."""
        return self._progress

    def start(self) -> None:
        """Hand the link to the machine and read."""
        if self._resets is not None:
            self._resets.watch(self._loop, self._fd, self._was_reset)
        self._connection.opened(self)
        self._read_on()

    # Receiving. A pause leaves the reader registered: mostly nothing comes meanwhile, and two
    # system calls are saved; when something does come, the reader is taken away then.

    def pause(self) -> None:
        """See `Link`."""
        self._paused = True

    def resume(self) -> None:
        """See `Link`."""
        self._paused = False
        if self._ended is not None:
            self._ended = None
            self._peer_ends.forget(self._fd)
        self._read_on()

    def watch_end(self, ended: Callable[[], None]) -> None:
        """See `Link`."""
        self._ended = ended
        if not self._reading and not self._closed:
            # Something has come since the pause began.
            self._look_for_end()

    def _look_for_end(self) -> None:
        try:
            first = self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)
        except OSError as error:
            self._end(error)
        else:
            if first:
                self._peer_ends.watch(self._loop, self._fd, self._tell_end)
            else:
                self._loop.call_soon(self._tell_end)

    def _tell_end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None and not self._closed:
            ended()

    def _read_on(self) -> None:
        if not (self._reading or self._is_held()):
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)

    def _readable(self) -> None:
        if self._paused or self._queue:
            self._reading = False
            self._loop.remove_reader(self._fd)
            if self._ended is not None:
                self._look_for_end()
            return
        if self._receive() and not self._is_held():
            self._receive()
        if self._is_reset and not self._closed:
            self._read_anew()

    def _was_reset(self) -> None:
        self._is_reset = True
        self._read_anew()

    def _read_anew(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)
        self._read_on()

    def _is_held(self) -> bool:
        return self._paused or bool(self._queue) or self._closed

    def _receive(self) -> bool:
        """Whether more is likely to wait, and the receive was small enough to look for it at
        once."""
        error = None
        try:
            space = self._connection.space()
            size = self._socket.recv_into(space)
        except (BlockingIOError, InterruptedError):
            self._connection.filled(0)
            return False
        except OSError as problem:
            error, size = problem, 0
        if not size:
            # Now: many may end in one turn, and `closed` is told in the next.
            self._connection.filled(0)
            self._end(error)
            return False
        self._connection.filled(size)
        if size > SMALL_RECEIVE:
            return False
        # From the answer on: that is what the next request comes after. A client that sends much
        # keeps the loop busy anyway, and needs its core for itself.
        self._vigil.prolong()
        return size == len(space)

    # Sending.

    def write(self, parts: list[Part]) -> bool:
        """See `Link`."""
        queue = self._queue
        if self._closed:
            release_parts(parts)
            return False
        if queue:
            queue.extend(parts)
            return False
        data = parts[0] if len(parts) == 1 else _in_one(parts)
        if isinstance(data, bytes):
            # The usual small answers, without the queue.
            try:
                sent = self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError as error:
                self._end(error)
                return False
            if sent == len(data):
                return True
            self._sent = sent
            queue.append(data)
        else:
            queue.extend(parts)
            if self._send_turn():
                return True
        if not self._closed:
            self._write_on()
        return False

    def _write_on(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._fd, self._writable)

    def _writable(self) -> None:
        before = len(self._queue), self._sent
        is_done = self._send_turn()
        if (len(self._queue), self._sent) != before:
            self._progress += 1
        if not is_done:
            return
        self._writing = False
        self._loop.remove_writer(self._fd)
        self._connection.drained()
        self._read_on()

    def _send_turn(self) -> bool:
        """Send as much as one turn allows. True when the queue is empty."""
        queue = self._queue
        allowance = TURN_BYTES
        try:
            while queue:
                part = queue[0]
                if isinstance(part, (bytes, bytearray, memoryview)):
                    if not self._send_buffers():
                        return False
                elif not len(part):
                    self._shift()
                elif not allowance:
                    return False
                else:
                    allowance -= self._send_slice(part, allowance)
                    if self._sent:
                        return False
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._end(error)
            return False
        return True

    def _send_buffers(self) -> bool:
        """Send the queue's leading bytes in one call. False when some of them have to wait."""
        buffers: list[Buffer] = []
        flags = 0
        for part in islice(self._queue, _BUFFERS_A_CALL):
            if isinstance(part, (bytes, bytearray, memoryview)):
                buffers.append(part)
            elif len(part):
                # Never before an empty slice: the kernel would hold the bytes back for 200 ms.
                flags = _MSG_MORE
                break
        if self._sent:
            buffers[0] = memoryview(buffers[0])[self._sent :]
        if _HAS_SENDMSG and len(buffers) > 1:
            left = self._socket.sendmsg(buffers, (), flags)
        else:
            left = self._socket.send(buffers[0], flags)
            del buffers[1:]
        whole = True
        for buffer in buffers:
            whole = left >= len(buffer)
            if not whole:
                self._sent += left
                break
            left -= len(buffer)
            self._shift_to_buffer()
        return whole

    def _shift_to_buffer(self) -> None:
        """Drop the first part that is bytes, and the empty slices before it."""
        while not isinstance(self._queue[0], (bytes, bytearray, memoryview)):
            self._shift()
        self._shift()

    def _send_slice(self, part: FileSlice, allowance: int) -> int:
        """Send at most `allowance` bytes of the slice that leads the queue. How many have left;
        some of it has to wait when `_sent` is not 0 afterwards."""
        left = len(part) - self._sent
        count = min(left, allowance)
        if _HAS_SENDFILE:
            sent = os.sendfile(self._fd, part.fd, part.position + self._sent, count)
        else:
            data = part.read(self._sent, min(count, READ_BYTES))
            sent = self._socket.send(data) if data else 0
        if not sent:
            raise TruncatedSliceError(f"{left} bytes of a file slice are gone")
        if sent < left:
            self._sent += sent
        else:
            self._shift()
        return sent

    def _shift(self) -> None:
        part = self._queue.popleft()
        self._sent = 0
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()

    # The end.

    def close(self) -> None:
        """See `Link`."""
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        if self._closed:
            return
        self._closed = True
        if self._reading:
            self._loop.remove_reader(self._fd)
        if self._writing:
            self._loop.remove_writer(self._fd)
        self._peer_ends.forget(self._fd)
        if self._resets is not None:
            self._resets.forget(self._fd)
        with suppress(OSError):  # The peer was quicker.
            # A process forked from this one may hold the socket too, which keeps it open.
            self._socket.shutdown(socket.SHUT_WR)
        self._socket.close()
        release_parts(self._queue)
        self._queue.clear()
        self._loop.call_soon(self._connection.closed, error)
