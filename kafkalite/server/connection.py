"""The machine of one client's connection: requests out of bytes, answers into bytes, in request
order.

It knows neither sockets nor Kafka: the network fills it (`ports.network.Connection`), and `handle`,
which is dispatch or stands before it, gives the answer of each frame, or a `Pending` that is
completed later. While one is pending the connection is read on, within limits, and its peer's end
is seen at once.

Kafka differs: it takes up a connection's next request when the one before is answered. Here those
behind a fetch or a join that waits are carried out already, and their answers wait for its own: so
a group's last member can leave while its join waits, and a produce wakes the fetch before it. One
produce does wait for another that is not appended yet (`produce_order.py`).

Why it may hold back the requests that it has received (`_held`):

    TURN      16 requests were handled in this turn of the loop, or 5 ms went by; the next goes on
    AHEAD     16 requests, or 1 MiB of them, wait behind an answer that is not made yet
    OUTPUT    the peer does not take the answers
    ROOM      other connections use up the room for partial frames
    CLOSING   nothing more is answered; what is written may leave
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from kafkalite.errors import InvariantError, ProtocolError
from kafkalite.log.files import Part, release_parts
from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address, Link
from kafkalite.server.answer_queue import AnswerQueue, Pending
from kafkalite.server.receive_buffer import (
    STALL_BYTES,
    STALL_MS,
    BufferPool,
    ReceiveBuffer,
)

logger = logging.getLogger(__name__)

S = TypeVar("S")

REQUESTS_A_TURN = 16
TURN_MS = 5

_TURN, _AHEAD, _OUTPUT, _ROOM, _CLOSING = 1, 2, 4, 8, 16
_NOT_OUTPUT = ~_OUTPUT
"""For output alone the link itself stops reading."""


Answer = list[Part] | Pending | None
"""A response's parts with its length prefix; one that comes later; or none (acks=0)."""
Handle = Callable[["ClientConnection[S]", memoryview], Answer]
"""Answers one frame (without its length). The view dies when it returns: what is kept is copied,
the answer's parts too. `ProtocolError` closes the connection, with one line in the log."""


class ClientConnection(Generic[S]):
    """See the module, and `ports.network.Connection`. `session` is what dispatch keeps about the
    client."""

    __slots__ = (
        "_buffer",
        "_call_soon",
        "_checks_views",
        "_clock",
        "_complaints",
        "_farewells",
        "_held",
        "_in_turn",
        "_link",
        "_on_closed",
        "_out",
        "_pool",
        "_seen_progress",
        "_waiting",
        "_was_active",
        "handle",
        "session",
        "space",
    )  # fmt: skip

    def __init__(
        self,
        session: S,
        handle: Handle[S],
        *,
        pool: BufferPool,
        clock: Clock,
        call_soon: Callable[[Callable[[], None]], object],
        max_request_bytes: int,
        on_closed: Callable[[ClientConnection[S]], None],
        complaints: Complaints,
        checks_views: bool = False,
    ) -> None:
        """`checks_views` proves for each request that its handler kept no view of it, at the price
        of a copy: for tests."""
        self.session = session
        self.handle = handle
        """May be replaced: the next frame goes to what it is then."""
        self._pool = pool
        self._clock = clock
        self._buffer = ReceiveBuffer(pool, max_request_bytes, self._stalled)
        self.space: Callable[[], memoryview] = self._buffer.space
        """See `Connection`."""
        self._call_soon = call_soon
        self._on_closed = on_closed
        self._complaints = complaints
        self._farewells: list[Callable[[], None]] = []
        self._checks_views = checks_views
        self._link: Link | None = None
        self._waiting = AnswerQueue(self._completed)
        """The answers that cannot leave yet."""
        self._out: list[Part] = []
        self._held = 0
        self._in_turn = False
        self._was_active = True
        self._seen_progress = 0

    @property
    def link(self) -> Link:
        """The network's end. There is one from `opened` on."""
        assert self._link is not None, "the connection is not open yet"
        return self._link

    @property
    def peer(self) -> Address:
        """The client's address."""
        return self.link.peer

    @property
    def local(self) -> Address:
        """The address that the client connected to."""
        return self.link.local

    def take_activity(self) -> bool:
        """Whether the client was served since the last call, or waits to be; whoever takes an
        answer slowly is served."""
        progress = 0 if self._link is None else self._link.progress
        active = self._was_active or bool(self._waiting.slots) or progress != self._seen_progress
        self._was_active = False
        self._seen_progress = progress
        return active

    def when_closed(self, call: Callable[[], None]) -> None:
        """Once, when the connection is closed, by whichever end."""
        self._farewells.append(call)

    def limit_requests(self, max_request_bytes: int) -> None:
        """From the next one on."""
        self._buffer.limit_bytes = max_request_bytes

    # What the network calls.

    def opened(self, link: Link) -> None:
        """See `Connection`."""
        self._link = link

    def filled(self, size: int) -> None:
        """See `Connection`."""
        self._was_active = True
        if self._buffer.filled(size) and not self._held:
            self._turn()
        self._buffer.settle()

    def drained(self) -> None:
        """See `Connection`."""
        self._was_active = True
        if self._held & _CLOSING:
            self.link.close()
            return
        self._held &= ~_OUTPUT
        if not self._held:
            self._turn()

    def closed(self, error: OSError | None) -> None:
        """See `Connection`."""
        if error is not None:
            logger.debug("%s: connection lost: %s", self._link and self._link.peer, error)
        self._held |= _CLOSING
        self._pool.forget(self._try_room)
        self._buffer.clear()
        release_parts(self._out)
        self._out = []
        self._waiting.abandon()
        self._on_closed(self)
        for farewell in self._farewells:
            farewell()

    # What the broker calls.

    def stop(self) -> None:
        """Handle no more requests, abandon what is pending, and close when the answers made have
        left."""
        self._hold(_CLOSING)
        self._waiting.abandon()
        if not self._in_turn:
            self._buffer.clear()
            self._flush()
        if not self._held & _OUTPUT and not self._in_turn:
            self.link.close()

    def close(self) -> None:
        """Close at once; answers that have not left are dropped."""
        self._hold(_CLOSING)
        self.link.close()

    # Requests.

    def _turn(self) -> None:
        """Handle the requests that are there, as many as one turn allows, and send what they
        gave."""
        buffer = self._buffer
        self._in_turn = True
        try:
            turn_ends_ms = self._clock.now_ms() + TURN_MS
            for handled in range(1, REQUESTS_A_TURN + 1):
                frame = buffer.next_frame()
                if frame is None:
                    if not buffer.make_room():
                        self._wait_for_room()
                    break
                size = len(frame)
                if self._checks_views:
                    answer = self._handle_checked(frame)
                else:
                    answer = self.handle(self, frame)
                    frame.release()
                if type(answer) is list and not self._waiting.slots:
                    if self._out:
                        self._out += answer
                    else:
                        self._out = answer
                elif answer is not None:
                    self._park(answer, size)
                if self._held:
                    break
                if buffer.is_spent:
                    buffer.make_room()
                    break
                if handled == REQUESTS_A_TURN or self._clock.now_ms() >= turn_ends_ms:
                    self._hold(_TURN)
                    self._call_soon(self._next_turn)
                    break
        except ProtocolError as error:
            self._complaints.closing(self.peer, error)
            self._in_turn = False
            self.stop()
        except BaseException:
            self._in_turn = False
            self.close()
            raise
        else:
            self._in_turn = False
            if self._held & _CLOSING:
                self.stop()
            elif self._out:
                self._flush()

    def _handle_checked(self, frame: memoryview) -> Answer:
        copy = bytearray(frame)
        view = memoryview(copy)
        answer = self.handle(self, view)
        view.release()
        try:
            copy.clear()
        except BufferError:
            raise InvariantError("a handler kept a view of its request") from None
        return answer

    def _park(self, answer: list[Part] | Pending, size: int) -> None:
        waiting = self._waiting
        waiting.add(answer, size)
        waiting.move_to(self._out)
        if waiting.is_full:
            self._hold(_AHEAD)
            self.link.watch_end(self._peer_ended)

    def _peer_ended(self) -> None:
        """Nobody waits for the answers any more; what came behind their requests is still carried
        out."""
        if self._held & _AHEAD and not self._held & _CLOSING:
            self._waiting.abandon()
            self._let_go(_AHEAD)

    def _wait_for_room(self) -> None:
        self._hold(_ROOM)
        self._pool.call_when_given_back(self._try_room)

    def _try_room(self) -> None:
        if self._held & _CLOSING:
            return
        if self._buffer.make_room():
            self._let_go(_ROOM)
        else:
            self._pool.call_when_given_back(self._try_room)

    def _stalled(self) -> None:
        """Others wait for the room that this one keeps. Those that wait themselves are not to
        blame."""
        if not self._held & (_ROOM | _CLOSING):
            self._complaints.closing(
                self.peer,
                f"less than {STALL_BYTES >> 10} KiB of its request came in {STALL_MS // 1000} s,"
                " while others wait for the room that it takes",
            )
            self.close()

    # Holding back, and going on in a turn of its own: never inside whoever caused it.

    def _hold(self, reason: int) -> None:
        if not self._held & _NOT_OUTPUT:
            self.link.pause()
        self._held |= reason

    def _let_go(self, reason: int) -> None:
        if not self._held & reason:
            return
        self._held &= ~reason
        if not self._held & _NOT_OUTPUT:
            self._held |= _TURN
            self._call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._held &= ~_TURN
        if not self._held:
            self._turn()
        if not self._held & _NOT_OUTPUT:
            self.link.resume()

    # Answers.

    def _completed(self) -> None:
        """A slot is done. Answers leave at once, or at the end of the turn that is under way
        here."""
        self._was_active = True
        self._waiting.move_to(self._out)
        if self._held & _AHEAD and not self._waiting.is_full:
            self._let_go(_AHEAD)
        if self._out and not self._in_turn:
            self._flush()

    def _flush(self) -> None:
        parts = self._out
        if parts:
            self._out = []
            link = self._link
            assert link is not None, "answers without a request"
            if not link.write(parts):
                self._held |= _OUTPUT
