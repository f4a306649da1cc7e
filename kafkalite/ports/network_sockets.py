"""The real network: raw non-blocking TCP sockets, registered with the running event loop.

Works on any loop that has `add_reader`: asyncio's selector loop (on Windows too) and uvloop.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeGuard

from kafkalite.log.open_files import descriptor_limit
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.network import Address, Connection, Dialing, Listener, NewConnection
from kafkalite.ports.peer_ends import PeerEnds
from kafkalite.ports.socket_link import SocketLink
from kafkalite.ports.vigil import Vigil

logger = logging.getLogger(__name__)

DEFAULT_BACKLOG = 1024
"""Connections that the kernel completes before they are accepted; the kernel caps it
(`somaxconn`)."""
DEFAULT_SEND_BUFFER_BYTES = 256 << 10
"""What a socket holds of an answer on its way. Left alone, the kernel lets it grow to megabytes,
and a large fetch then takes twice the time and cpu; see docs/decisions/0006-network.md."""
ACCEPTS_A_TURN = 64
"""More would keep the connections that stand waiting."""
OUT_OF_DESCRIPTORS_PAUSE_MS = 1_000
"""Until the next try."""
KEPT_DESCRIPTORS = 64
"""Those that connections leave for the log's files: a broker that cannot open one serves nobody."""

_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PORT_TRIES = 16
"""A free port of IPv4 may be taken in IPv6."""
_ALL = ("0.0.0.0", "::")  # noqa: S104  # Asked for by one of these names.
_HOSTS = {"localhost": ("127.0.0.1", "::1"), **dict.fromkeys(("", *_ALL), _ALL)}
"""Names of more than one address. All addresses are those of both families, whichever of them names
them: so it is with Java, whose sockets have both."""
_SocketAddress = tuple[str, int] | tuple[str, int, int, int]
_Info = tuple[socket.AddressFamily, _SocketAddress]


def _resolve(host: str, port: int, flags: int = 0) -> list[_Info]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    # A Python built without IPv6 gives addresses of another shape.
    return [(family, address) for family, _, _, _, address in found if _is_usual(address)]


def _is_usual(address: tuple[object, ...]) -> TypeGuard[_SocketAddress]:
    return isinstance(address[0], str)


class _Options(NamedTuple):
    """What each connected socket is given."""

    send_buffer_bytes: int
    peer_ends: PeerEnds
    resets: PeerEnds | None
    """None: the loop does not need to be told."""
    vigil: Vigil


class SocketNetwork:
    """See `Network`. Made and used on the thread of a running loop."""

    def __init__(
        self,
        clock: Clock,
        *,
        backlog: int = DEFAULT_BACKLOG,
        send_buffer_bytes: int = DEFAULT_SEND_BUFFER_BYTES,
        stay_awake_us: int = 0,
    ) -> None:
        """`send_buffer_bytes` is Kafka's `socket.send.buffer.bytes`, -1 leaves it to the kernel;
        `backlog` is `socket.listen.backlog.size`. `stay_awake_us` is for a process that has little
        to do besides: see `Vigil`."""
        self._clock = clock
        self._backlog = backlog
        loop = asyncio.get_running_loop()
        # Not one of asyncio's own: uvloop's. See `SocketLink`.
        resets = None if isinstance(loop, asyncio.BaseEventLoop) else PeerEnds(resets_alone=True)
        vigil = Vigil(loop.call_soon, stay_awake_us)
        self._options = _Options(send_buffer_bytes, PeerEnds(), resets, vigil)

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        """See `Network`."""
        sockets = _bind(host, port)
        try:
            for sock in sockets:
                sock.listen(self._backlog)
        except OSError:
            for sock in sockets:
                sock.close()
            raise
        return _SocketListener(self._clock, self._options, sockets, new_connection)

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        """See `Network`."""
        return _SocketDialing(self._options, host, port, connection)


def _bind(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host, all on one port."""
    for tries_left in reversed(range(_PORT_TRIES if not port else 1)):
        sockets: list[socket.socket] = []
        errors: list[OSError] = []
        for family, address in _listen_addresses(host, port):
            chosen = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(_bind_one(family, (address[0], chosen)))
            except OSError as error:
                errors.append(error)
        absent = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
        if sockets and all(error.errno in absent for error in errors):
            return sockets
        for sock in sockets:
            sock.close()
        if not tries_left:
            raise errors[0]
    raise AssertionError("unreachable")


def _listen_addresses(host: str, port: int) -> Iterator[_Info]:
    for name in _HOSTS.get(host, (host,)):
        yield from _resolve(name, port, socket.AI_PASSIVE)


def _bind_one(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if os.name == "posix":
            # On Windows this would let another process take the port over.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise OSError(
            error.errno, f"cannot listen on {Address(*address)}: {error.strerror}"
        ) from error
    return sock


class _SocketListener:
    def __init__(
        self,
        clock: Clock,
        options: _Options,
        sockets: list[socket.socket],
        new_connection: NewConnection,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._options = options
        self._sockets = sockets
        self._new_connection = new_connection
        self._addresses = tuple(Address(*sock.getsockname()[:2]) for sock in sockets)
        self._retry: Timer | None = None
        self._told = False
        self._too_high = descriptor_limit() - KEPT_DESCRIPTORS
        self._accept_on()

    @property
    def address(self) -> Address:
        return self._addresses[0]

    @property
    def addresses(self) -> tuple[Address, ...]:
        return self._addresses

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
            with suppress(OSError):  # Not every system takes it of a listening socket.
                # A process forked from this one may hold it too: nobody shall connect to that.
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._sockets = []

    def _accept_on(self) -> None:
        self._retry = None
        for sock in self._sockets:
            self._loop.add_reader(sock.fileno(), self._acceptable, sock)

    def _acceptable(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS_A_TURN):
            try:
                sock, peer = listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self._pause(error)
                    return
                # The peer has gone between its connect and our accept: nobody is left to tell.
                continue
            if sock.fileno() >= self._too_high:
                sock.close()
                self._pause(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
                return
            self._told = False
            self._accepted(sock, Address(*peer[:2]))
            if not self._sockets:
                return

    def _accepted(self, sock: socket.socket, peer: Address) -> None:
        connection = self._new_connection(peer)
        if connection is None:
            sock.close()
            return
        _open(self._loop, self._options, sock, connection)

    def _pause(self, error: OSError) -> None:
        """A listening socket stays readable while nothing can be accepted: look away for a
        while."""
        if not self._told:
            self._told = True
            logger.error("cannot accept connections on %s: %s", self.address, error.strerror)
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
        self._retry = self._clock.call_at(
            self._clock.now_ms() + OUT_OF_DESCRIPTORS_PAUSE_MS, self._accept_on
        )


class _SocketDialing:
    """Tries the host's addresses one after the other."""

    def __init__(self, options: _Options, host: str, port: int, connection: Connection) -> None:
        self._loop = asyncio.get_running_loop()
        self._options = options
        self._connection = connection
        self._addresses: list[_Info] = []
        self._socket: socket.socket | None = None
        self._error = OSError(f"{Address(host, port)} has no address")
        self._undo: Callable[[], object] | None = None
        try:
            self._addresses = _resolve(host, port, socket.AI_NUMERICHOST)
        except socket.gaierror:
            lookup = self._loop.run_in_executor(None, _resolve, host, port)
            lookup.add_done_callback(self._resolved)
            self._undo = lookup.cancel
        except ValueError:  # No name of a host: the codec `idna` refuses it.
            self._undo = self._loop.call_soon(self._try_next).cancel
        else:
            self._undo = self._loop.call_soon(self._try_next).cancel

    def cancel(self) -> None:
        if self._undo is not None:
            self._undo()
            self._undo = None
            self._loop.call_soon(self._connection.closed, None)

    def _resolved(self, lookup: asyncio.Future[list[_Info]]) -> None:
        if lookup.cancelled():
            return
        error = lookup.exception()
        if isinstance(error, OSError):
            self._error = error
        else:
            self._addresses = lookup.result()
        self._try_next()

    def _try_next(self) -> None:
        while self._addresses:
            family, address = self._addresses.pop(0)
            try:
                sock = socket.socket(family, socket.SOCK_STREAM)
            except OSError as error:
                self._error = error
                continue
            sock.setblocking(False)
            failed = sock.connect_ex(address)
            if failed in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
                self._socket = sock
                self._loop.add_writer(sock.fileno(), self._connected, sock, address)
                self._undo = self._drop_socket
                return
            sock.close()
            self._error = _connect_error(failed, address)
        self._undo = None
        self._connection.closed(self._error)

    def _drop_socket(self) -> None:
        if self._socket is not None:
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _connected(self, sock: socket.socket, address: _SocketAddress) -> None:
        failed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed:
            self._drop_socket()
            self._error = _connect_error(failed, address)
            self._try_next()
            return
        self._loop.remove_writer(sock.fileno())
        self._undo = self._socket = None
        _open(self._loop, self._options, sock, self._connection)


def _connect_error(number: int, address: _SocketAddress) -> OSError:
    return OSError(number, f"cannot connect to {Address(*address[:2])}: {os.strerror(number)}")


def _open(
    loop: asyncio.AbstractEventLoop,
    options: _Options,
    sock: socket.socket,
    connection: Connection,
) -> None:
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if options.send_buffer_bytes >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        link = SocketLink(loop, sock, connection, options.peer_ends, options.vigil, options.resets)
    except OSError as error:
        # The peer is gone already.
        sock.close()
        loop.call_soon(connection.closed, error)
        return
    link.start()
