"""A connection's machine without a network: a link that notes, and turns of the loop taken by
hand."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

from kafkalite.log.files import Part
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address
from kafkalite.server.connection import Answer, ClientConnection, Handle
from kafkalite.server.receive_buffer import BufferPool
from tests.server.hand_clock import HandClock

LIMIT_BYTES = 8 << 20


class FakeLink:
    """Notes what the machine does; `takes` says whether the peer takes what is written."""

    local = Address("127.0.0.1", 9092)
    peer = Address("10.1.2.3", 5555)
    peer_certificate = None

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.paused = False
        self.is_closed = False
        self.takes = True
        self.progress = 0
        self.watched_end: Callable[[], None] | None = None

    def write(self, parts: list[Part]) -> bool:
        if self.is_closed:
            return False
        self.writes.append(
            b"".join(
                bytes(part)
                if isinstance(part, (bytes, bytearray, memoryview))
                else part.read(0, len(part))
                for part in parts
            )
        )
        return self.takes

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def watch_end(self, ended: Callable[[], None]) -> None:
        self.watched_end = ended

    def close(self) -> None:
        self.is_closed = True


class FakeSlice:
    fd = -1
    position = 0

    def __init__(self) -> None:
        self.released = 0

    def __len__(self) -> int:
        return 3

    def read(self, offset: int, size: int) -> bytes:
        return b"abc"[offset : offset + size]

    def release(self) -> None:
        self.released += 1


class World:
    """A machine, its link, its handler's memory, and the loop's next turns."""

    def __init__(
        self,
        answer: Callable[[bytes], Answer] | None = None,
        *,
        handle: Handle[str] | None = None,
        pool: BufferPool | None = None,
        checks_views: bool = True,
    ) -> None:
        self.requests: list[bytes] = []
        self.answer = answer or (lambda body: [b"<" + body + b">"])
        self.soon: list[Callable[[], None]] = []
        self.ended: list[ClientConnection[str]] = []
        self.link = FakeLink()
        self.clock = HandClock()
        self.pool = pool or BufferPool(1 << 30)
        self.connection = ClientConnection(
            "session",
            handle or self._handle,
            pool=self.pool,
            clock=self.clock,
            call_soon=self.soon.append,
            max_request_bytes=LIMIT_BYTES,
            on_closed=self.ended.append,
            complaints=Complaints(self.clock),
            checks_views=checks_views,
        )
        self.connection.opened(self.link)

    def _handle(self, connection: ClientConnection[str], frame: memoryview) -> Answer:
        body = bytes(frame)
        self.requests.append(body)
        return self.answer(body)

    def receive(self, data: bytes) -> int:
        """Give the machine what its space takes, as long as it reads. How many bytes it took."""
        taken = 0
        while taken < len(data) and not self.link.paused and not self.link.is_closed:
            space = self.connection.space()
            assert len(space) > 0
            size = min(len(space), len(data) - taken)
            space[:size] = data[taken : taken + size]
            self.connection.filled(size)
            taken += size
        return taken

    def reads(self) -> bool:
        return not self.link.paused

    def closes(self) -> bool:
        return self.link.is_closed

    def next_turn(self) -> None:
        soon, self.soon[:] = list(self.soon), []
        for callback in soon:
            callback()


def frame(body: bytes) -> bytes:
    return pack(">i", len(body)) + body
