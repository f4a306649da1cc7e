"""A client of a few lines, over any network: messages of `protocol/messages` in, responses out.

For tests that steer what a stock client hides (versions, pipelining, waiting, hanging up), and for
simulations, where a stock client cannot go.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self, TypeVar, cast

from kafkalite.errors import ProtocolError
from kafkalite.log.files import Part
from kafkalite.ports.network import Address, Link, Network
from kafkalite.protocol.codec import decode
from kafkalite.protocol.framing import FrameSplitter
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.schema import Request, Response, schema_of

R = TypeVar("R", bound=Response)

_CHUNK_BYTES = 1 << 16


class Client:
    """One connection. `connect` opens it, `ask` and `send` use it, `close` ends it."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._over: asyncio.Future[OSError | None] = self._loop.create_future()
        self._chunk = bytearray(_CHUNK_BYTES)
        self._splitter = FrameSplitter()
        self._link: Link | None = None
        self._waiting: deque[tuple[int, int, asyncio.Future[memoryview]]] = deque()
        self._next_correlation_id = 0

    @classmethod
    async def connect(cls, network: Network, address: Address, client_id: str = "test") -> Self:
        """A client that is connected; the `OSError` of the network when it cannot be."""
        client = cls(client_id)
        dialing = network.dial(address.host, address.port, client)
        try:
            await client._opened
        except asyncio.CancelledError:
            dialing.cancel()
            client.close()
            raise
        return client

    async def ask(self, request: Request, version: int, response: type[R]) -> R:
        """The answer. `ConnectionError` when the broker hangs up instead, `ProtocolError` when it
        says what makes no sense."""
        return await self.send(request, version, response)

    def send(self, request: Request, version: int, response: type[R]) -> asyncio.Future[R]:
        """Send now; the answer comes later. Several may be under way."""
        answer = self.expect(schema_of(type(request)).api_key, version, response)
        self._write(request, version)
        return answer

    def expect(self, key: int, version: int, response: type[R]) -> asyncio.Future[R]:
        """The next answer that nobody else waits for, as that version of that API: for requests
        that went out as `send_bytes`."""
        frame = asyncio.Future[memoryview](loop=self._loop)
        self._waiting.append((key, version, frame))
        answer = asyncio.Future[R](loop=self._loop)

        def arrived(done: asyncio.Future[memoryview]) -> None:
            error = done.exception()
            if answer.cancelled():
                return
            if error is not None:
                answer.set_exception(error)
                return
            try:
                answer.set_result(decode(response, version, done.result()))
            except ProtocolError as malformed:
                answer.set_exception(malformed)

        frame.add_done_callback(arrived)
        if self._over.done():
            frame.set_exception(ConnectionResetError("the broker hung up before"))
        return answer

    def send_unanswered(self, request: Request, version: int) -> None:
        """Send what has no answer: a Produce with acks=0."""
        self._write(request, version)

    def send_bytes(self, data: bytes) -> None:
        """Send anything at all, well formed or not."""
        self._connected.write([data])

    async def wait_closed(self) -> None:
        """Return when the broker has hung up."""
        await asyncio.shield(self._over)

    def close(self) -> None:
        """Hang up."""
        if self._link is not None:
            self._link.close()

    @property
    def local(self) -> Address:
        """This end."""
        return self._connected.local

    @property
    def _connected(self) -> Link:
        assert self._link is not None, "not connected"
        return self._link

    def _write(self, request: Request, version: int) -> None:
        frame = request_frame(
            request,
            version,
            correlation_id=self._next_correlation_id,
            client_id=self._client_id,
        )
        self._next_correlation_id += 1
        # Requests hold nothing but bytes in their records.
        self._connected.write(cast("list[Part]", frame))

    # What the network calls.

    def opened(self, link: Link) -> None:
        """See `Connection`."""
        self._link = link
        if self._opened.done():  # Whoever wanted to connect has given up.
            link.close()
        else:
            self._opened.set_result(None)

    def space(self) -> memoryview:
        """See `Connection`."""
        return memoryview(self._chunk)

    def filled(self, size: int) -> None:
        """See `Connection`."""
        try:
            frames = self._splitter.feed(bytes(self._chunk[:size]))
        except ProtocolError as error:  # It speaks something else, such as TLS.
            self._fail_all(error)
            self.close()
            return
        for frame in frames:
            key, version, waiting = self._waiting.popleft()
            try:
                _, position = read_response_header(key, version, frame)
            except ProtocolError as error:
                waiting.set_exception(error)
            else:
                waiting.set_result(memoryview(frame)[position:])

    def drained(self) -> None:
        """See `Connection`."""

    def closed(self, error: OSError | None) -> None:
        """See `Connection`."""
        reason = error or ConnectionResetError("the broker hung up")
        if not self._opened.done():
            self._opened.set_exception(reason)
        self._fail_all(reason)
        self._over.set_result(error)

    def _fail_all(self, reason: Exception) -> None:
        waiting, self._waiting = self._waiting, deque()
        for _, _, answer in waiting:
            if not answer.done():
                answer.set_exception(reason)
