"""Encryption between a link and the machine at it: to the link below it is a machine, to the
machine above it is a link, so that neither knows of it, over whatever network.

OpenSSL works on memory (`ssl.MemoryBIO`): what is received goes in, what it makes of it comes out
into the machine's space. What the machine sends is gathered in one buffer (a range of a file is
read into it, the only copy besides OpenSSL's own), encrypted, and handed on. Both buffers serve all
links of a network, for nothing stays in them: an idle connection holds none. OpenSSL's memory keeps
the size that it once had, so both ways it gets one record's worth at a time.

    SHAKING ── handshake through ── SPEAKING ── either end, or an error ── OVER
       └────── refused, too late ──────────────────────────────────────────┘

The machine above is told at once that the connection stands, before the handshake: its limits count
it, it may hang up, and what it writes waits. Bytes come when the handshake is through.

The peer's `close_notify` is its end, as the end of its stream is; what came before is delivered.

Kafka differs: whoever shows no certificate where one is due gets the alert `bad_certificate`; here
it is OpenSSL's, `handshake_failure` in TLSv1.2 and `certificate_required` in TLSv1.3.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from kafkalite.log.files import Buffer, Part, release_parts
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address, Connection, Link
from kafkalite.ports.socket_link import TURN_BYTES, TruncatedSliceError
from kafkalite.ports.tls_words import TlsError, words_for

HANDSHAKE_MS = 10_000
"""From the connection to the end of the handshake: as long as Kafka's clients give it at first
(`socket.connection.setup.timeout.ms`).

Kafka differs: its brokers give a handshake of TLS as long as an idle connection
(`connections.max.idle.ms`); here it is 10 s."""
_ALERT = bytes.fromhex("15 0303 0002 02 50")
"""Fatal, `internal_error`: what a broker of Kafka answers who does not speak TLS. OpenSSL hangs up
without a word, but a client that reads this as the length of an answer says so, and people look
that number (352518912) up."""
BUFFER_BYTES = 128 << 10
"""Received, and encrypted, at a time."""
_PIECE_BYTES = 16 << 10
"""Of that, what OpenSSL is given at a time: as much as a record has."""

_HAS_PREADV = hasattr(os, "preadv")


class TlsSide:
    """What the links of one context share: all that a network accepts by it, or dials."""

    def __init__(
        self, context: ssl.SSLContext, clock: Clock, complaints: Complaints | None
    ) -> None:
        """On the thread of the running loop. `complaints` are a server's."""
        self.context = context
        self.clock = clock
        self.complaints = complaints
        self.is_server = complaints is not None
        self.call_soon = asyncio.get_running_loop().call_soon
        self.received = memoryview(bytearray(BUFFER_BYTES))
        self.gathered = memoryview(bytearray(BUFFER_BYTES))
        self._due: deque[Callable[[], None]] = deque()

    def take_turn(self, step: Callable[[], None]) -> None:
        """Have it carried out soon, behind those that wait: steps of handshakes, of which each
        costs up to some milliseconds. One in a turn of the loop, so that a thousand clients at once
        hold up nobody whose connection stands."""
        self._due.append(step)
        if len(self._due) == 1:
            self.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        step = self._due.popleft()
        if self._due:
            self.call_soon(self._next_turn)
        step()


class TlsLink:
    """See the module, `Connection` and `Link`."""

    __slots__ = (
        "_below", "_connection", "_ended", "_error", "_has_ended", "_host", "_incoming",
        "_is_blocked", "_is_over", "_is_scheduled", "_is_shaking", "_outgoing", "_owes_drained",
        "_paused", "_progress", "_queue", "_sent", "_side", "_timer", "_tls", "_unfed",
    )  # fmt: skip

    def __init__(self, side: TlsSide, connection: Connection, host: str | None = None) -> None:
        """`host`: that was dialed, for its certificate."""
        self._side = side
        self._connection = connection
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._host = host
        self._tls: ssl.SSLObject
        """From `opened` on."""
        self._below: Link | None = None
        self._timer: Timer | None = None
        self._queue: deque[Part] = deque()
        """What is not encrypted yet."""
        self._sent = 0
        """Bytes of the queue's first part that are."""
        self._is_blocked = False
        """Whether the link below has not sent all that it was given."""
        self._owes_drained = False
        self._progress = 0
        self._paused = False
        self._ended: Callable[[], None] | None = None
        """Of `watch_end`."""
        self._unfed: Buffer = b""
        """What was received and OpenSSL has not got yet."""
        self._has_ended = False
        """Whether the peer's end was read, or an error, behind all that came before."""
        self._is_shaking = True
        self._is_scheduled = False
        """Whether what was received will be looked at in a later turn."""
        self._error: OSError | None = None
        """Why it is over, where this side says so."""
        self._is_over = False

    # What the machine above asks.

    @property
    def link(self) -> Link:
        """The one below."""
        assert self._below is not None, "it is not open yet"
        return self._below

    @property
    def local(self) -> Address:
        """See `Link`."""
        return self.link.local

    @property
    def peer(self) -> Address:
        """See `Link`."""
        return self.link.peer

    @property
    def progress(self) -> int:
        """See `Link`."""
        return self.link.progress + self._progress

    @property
    def peer_certificate(self) -> bytes | None:
        """See `Link`."""
        return None if self._is_shaking else self._tls.getpeercert(binary_form=True)

    def write(self, parts: list[Part]) -> bool:
        """See `Link`."""
        if self._is_over:
            release_parts(parts)
            return False
        self._queue.extend(parts)
        if self._owes_drained:
            return False
        if self._is_shaking or self._is_blocked or not self._pump():
            self._owes_drained = True
            self._hold_below()
            return False
        return True

    def pause(self) -> None:
        """See `Link`."""
        self._paused = True
        self._hold_below()

    def watch_end(self, ended: Callable[[], None]) -> None:
        """See `Link`."""
        self._ended = ended
        if self._has_ended:
            self._side.call_soon(self._tell_end)
        else:
            self.link.watch_end(self._tell_end)

    def resume(self) -> None:
        """See `Link`."""
        self._paused = False
        self._ended = None
        self._read_on()

    def close(self) -> None:
        """See `Link`."""
        self._end(None)

    def _tell_end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None and not self._is_over:
            ended()

    # What the link below tells.

    def opened(self, link: Link) -> None:
        """See `Connection`."""
        self._below = link
        side = self._side
        clock = side.clock
        self._timer = clock.call_at(clock.now_ms() + HANDSHAKE_MS, self._too_late)
        self._connection.opened(self)
        if self._is_over:
            return
        try:
            self._tls = side.context.wrap_bio(
                self._incoming,
                self._outgoing,
                server_side=side.is_server,
                server_hostname=self._host,
            )
        except (ValueError, TypeError):
            self._fail(f"no certificate can be for the host {self._host!r}")
        else:
            if not side.is_server:
                self._shake()

    def space(self) -> memoryview:
        """See `Connection`."""
        return self._side.received

    def filled(self, size: int) -> None:
        """See `Connection`."""
        if not size or self._is_over:
            return
        self._unfed = self._side.received[:size]
        self._feed()
        if self._is_shaking:
            # What comes behind it, its end too, is for later.
            self.link.pause()
            self._side.take_turn(self._shake)
        else:
            self._deliver()
        self._unfed = bytes(self._unfed)  # The buffer is used again.

    def drained(self) -> None:
        """See `Connection`."""
        self._is_blocked = False
        self._send_on()

    def closed(self, error: OSError | None) -> None:
        """See `Connection`."""
        if self._timer is not None:
            self._timer.cancel()
        is_early = self._below is not None and self._is_shaking and not self._is_over
        if error is None and is_early and not self._side.is_server:
            error = TlsError("it hung up in the TLS handshake")
        self._is_over = True
        release_parts(self._queue)
        self._queue.clear()
        self._connection.closed(self._error or error)

    # The handshake.

    def _shake(self) -> None:
        if self._is_over or not self._is_shaking:
            return
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._hand_on()
            if self._feed():
                self._side.take_turn(self._shake)
            else:
                self.link.resume()
            return
        except ssl.SSLError as error:
            if self._side.is_server and not self._outgoing.pending:
                self._outgoing.write(_ALERT)
            self._fail(words_for(error))
            return
        self._is_shaking = False
        if self._timer is not None:
            self._timer.cancel()
        self._hand_on()
        self._send_on()
        self._read_on()

    def _too_late(self) -> None:
        self._fail(f"no TLS handshake within {HANDSHAKE_MS // 1000} s")

    # Receiving. While the machine above is not to be told, the link below is paused, so that an end
    # is not told before what came ahead of it.

    def _hold_below(self) -> None:
        if not self._is_shaking:
            self.link.pause()

    def _is_held(self) -> bool:
        return self._paused or self._owes_drained or self._is_shaking or self._is_over

    def _has_unread(self) -> bool:
        return bool(self._incoming.pending or self._unfed or self._has_ended or self._tls.pending())

    def _feed(self) -> bool:
        """Give OpenSSL the next piece; whether there was one."""
        piece, self._unfed = self._unfed[:_PIECE_BYTES], self._unfed[_PIECE_BYTES:]
        return bool(self._incoming.write(piece))

    def _read_on(self) -> None:
        if self._is_held() or self._is_scheduled:
            return
        if self._has_unread():
            self._is_scheduled = True
            self._side.call_soon(self._deliver_later)
        else:
            self.link.resume()

    def _deliver_later(self) -> None:
        self._is_scheduled = False
        if not self._is_over:
            self._deliver()
            self._read_on()

    def _deliver(self) -> None:
        """Give the machine what there is, as long as it takes it; its end comes behind that."""
        while not self._is_held() and self._has_unread():
            if self._has_ended:
                self._end(None)
            else:
                self._connection.filled(self._decrypt(self._connection.space()))
        if not self._is_over:
            self._hand_on()  # Both sides may renew their keys.

    def _decrypt(self, space: memoryview) -> int:
        """How many bytes of it were filled. OpenSSL gives at most one record of 16 KiB at a
        time."""
        tls, size = self._tls, 0
        while size < len(space) and self._has_unread():
            try:
                # With a buffer it gives a number, which typeshed does not know.
                count = cast("int", tls.read(len(space) - size, space[size:]))
            except ssl.SSLWantReadError:
                if self._feed():
                    continue
                break
            except ssl.SSLZeroReturnError:
                count = 0
            except ssl.SSLError as error:
                self._error, count = TlsError(words_for(error)), 0
            if not count:
                self._has_ended = True
                break
            size += count
        return size

    # Sending.

    def _send_on(self) -> None:
        if self._is_over or self._is_shaking or self._is_blocked:
            return
        if self._queue and not self._pump():
            return
        if self._owes_drained:
            self._owes_drained = False
            self._connection.drained()
            self._read_on()

    def _pump(self) -> bool:
        """Encrypt and hand on as much as one turn allows; whether all has left."""
        allowance = TURN_BYTES
        gathered = self._side.gathered
        try:
            while self._queue:
                if allowance <= 0:
                    self._progress += 1
                    self._side.call_soon(self._send_on)
                    return False
                size = self._gather(gathered)
                allowance -= size
                done, parts = 0, list[Part]()
                while done < size:
                    done += self._tls.write(gathered[done : min(done + _PIECE_BYTES, size)])
                    parts.append(self._outgoing.read())
                if parts and not self.link.write(parts):
                    self._is_blocked = True
                    return False
        except OSError as error:  # OpenSSL's own errors too.
            self._error = error
            self._end(None)
            return False
        return True

    def _gather(self, space: memoryview) -> int:
        """Move the queue's first bytes there; how many."""
        size = 0
        while self._queue and size < len(space):
            part = self._queue[0]
            count = min(len(part) - self._sent, len(space) - size)
            target = space[size : size + count]
            if isinstance(part, (bytes, bytearray, memoryview)):
                target[:] = memoryview(part)[self._sent : self._sent + count]
            elif _HAS_PREADV:
                read = os.preadv(part.fd, [target], part.position + self._sent) if count else 0
                if read < count:
                    raise TruncatedSliceError(f"{count - read} bytes of a file slice are gone")
            else:
                data = part.read(self._sent, count)
                if len(data) < count:
                    raise TruncatedSliceError(f"{count - len(data)} bytes of a file slice are gone")
                target[:] = data
            size += count
            self._sent += count
            if self._sent == len(part):
                self._sent = 0
                self._queue.popleft()
                if not isinstance(part, (bytes, bytearray, memoryview)):
                    part.release()
        return size

    def _hand_on(self) -> bool:
        """Give the link below what OpenSSL has made; whether it is rid of it."""
        if self._outgoing.pending and not self.link.write([self._outgoing.read()]):
            self._is_blocked = True
        return not self._is_blocked

    # The end.

    def _fail(self, why: str) -> None:
        """The handshake has come to nothing."""
        if self._is_over:
            return
        if self._side.complaints is not None:
            self._side.complaints.closing(self.peer, why)
        self._error = TlsError(why)
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        if self._is_over:
            return
        self._is_over, self._unfed = True, b""
        if error is not None:
            self._error = error
        if not self._is_shaking:
            with suppress(ssl.SSLError):  # It says so, and does not wait for the answer.
                self._tls.unwrap()
        if not self._is_blocked:
            self._hand_on()  # An alert, or close_notify.
        release_parts(self._queue)
        self._queue.clear()
        self.link.close()
