"""A TCP relay before a broker that notes which versions of which APIs its clients ask for.

The broker must advertise the relay's port: clients go where they are told.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from threading import Lock, Thread
from types import TracebackType
from typing import Self

Asked = dict[str, list[int]]
"""Names of APIs and their versions, both in order."""

_CHUNK_BYTES = 1 << 16
_HEADER = struct.Struct(">hhih")
"""API key, version, correlation id, and the size of the client id that follows."""
WITNESS = "witness"
"""The client id of a client that tests ask what another one has done: it is not noted."""
_OURS = (b"test", WITNESS.encode())
"""The first is `kafkalite.testing.client`'s, with which tests look at what no client tells."""


class WatchingRelay:
    """Listens from entering on, and forwards once it has a `target`."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._server.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.target = 0
        """The broker's own port."""
        self._seen: set[tuple[int, int]] = set()
        self._lock = Lock()
        self._sockets: set[socket.socket] = set()
        self._threads = [Thread(target=self._accept, name="relay")]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            _end(self._server)
            for each in self._sockets:
                _end(each)
        for thread in self._threads:
            thread.join()

    def seen(self, names: dict[int, str]) -> Asked:
        """What was asked so far; `names`: of the APIs, by key."""
        asked: Asked = {}
        with self._lock:
            for key, version in sorted(self._seen):
                asked.setdefault(names[key], []).append(version)
        return dict(sorted(asked.items()))

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
                broker = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            ways = ((client, broker, self._forward_requests), (broker, client, _forward))
            with self._lock:
                for source, sink, forward in ways:
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.add(source)
                    thread = Thread(target=forward, args=(source, sink), name="relay")
                    self._threads.append(thread)
                    thread.start()

    def _forward_requests(self, client: socket.socket, broker: socket.socket) -> None:
        with client.makefile("rb") as requests:
            try:
                while len(size := requests.read(4)) == 4:
                    frame = requests.read(int.from_bytes(size))
                    key, version, _, size_of_id = _HEADER.unpack_from(frame)
                    if frame[_HEADER.size :][: max(size_of_id, 0)] not in _OURS:
                        with self._lock:
                            self._seen.add((key, version))
                    broker.sendall(size + frame)
            except (OSError, struct.error):
                pass
        _end(broker)


def _forward(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK_BYTES):
            sink.sendall(data)
    except OSError:
        pass
    _end(sink)


def _end(each: socket.socket) -> None:
    """So that whoever waits at it, here or there, hears of the end."""
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
