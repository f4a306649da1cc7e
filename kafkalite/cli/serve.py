"""`kafkalite serve`: one broker, until Ctrl-C or SIGTERM.

Kafka differs: it listens on all addresses of the machine unless told otherwise. Here it is the
machine's own two, 127.0.0.1 and ::1, as long as nobody can be asked who they are.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.process import age_ms

if TYPE_CHECKING:
    from kafkalite.log.files import Files
    from kafkalite.server.broker import Broker

_DEFAULT_PORT = 9092
_DEFAULT_DATA = "kafkalite-data"
_FAILED = 1
_MAX_PORT = 65535


class CannotStartError(Exception):
    """One line for a person: what is wrong, and what to do."""


def add_parser(commands: Any) -> None:  # `Any`: argparse keeps the class of sub-parsers private.
    """The options of `serve`."""
    parser = commands.add_parser("serve", help="run one broker")
    parser.add_argument(
        "--port", type=_port, default=_DEFAULT_PORT, help="0: a free one (default: %(default)s)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--data", metavar="DIR", default=_DEFAULT_DATA, help="log folder (default: ./%(default)s)"
    )
    where.add_argument("--ephemeral", action="store_true", help="keep all data in memory")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve; the exit code."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(options))
    except CannotStartError as problem:
        print(f"kafkalite: {problem}", file=sys.stderr)
        return _FAILED
    return 0


async def _serve(options: argparse.Namespace) -> None:
    stopped = _on_stop_signals()
    async with AsyncExitStack() as stack:
        with _explained(options):
            broker = await stack.enter_async_context(_broker(options))
        where = "memory" if options.ephemeral else options.data
        print(
            f"kafkalite ready on 127.0.0.1:{broker.addresses[0].port}, data in {where}, "
            f"started in {age_ms()} ms",
            flush=True,
        )
        await stopped.wait()


def _broker(options: argparse.Namespace) -> Broker:
    """A broker on this machine's clock, sockets and disk."""
    from kafkalite.config.views import BrokerConfig
    from kafkalite.ports.clock import RealClock
    from kafkalite.ports.entropy import RealEntropy
    from kafkalite.ports.network_sockets import SocketNetwork
    from kafkalite.ports.workers import ThreadWorkers
    from kafkalite.server.broker import Broker, Ports

    files: Files
    if options.ephemeral:
        from kafkalite.log.files_memory import MemoryFiles

        files, location = MemoryFiles(), "in memory"
    else:
        from kafkalite.log.files_os import OsFiles

        files, location = OsFiles(options.data), options.data
    config = BrokerConfig.of(
        {"listeners": f"PLAINTEXT://localhost:{options.port}", "log.dirs": location}
    )
    clock = RealClock()
    network = SocketNetwork(
        clock,
        backlog=config.socket_listen_backlog_size,
        send_buffer_bytes=config.socket_send_buffer_bytes,
    )
    ports = Ports(clock, RealEntropy(), network, files, ThreadWorkers())
    return Broker(config, ports, location=location)


def _on_stop_signals() -> asyncio.Event:
    """Set by Ctrl-C and SIGTERM."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stopped.set)
        except NotImplementedError:  # Windows has no such loop.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopped.set))
    return stopped


@contextmanager
def _explained(options: argparse.Namespace) -> Iterator[None]:
    """Turn what a person can mend into one line."""
    from kafkalite.errors import CorruptRecordError
    from kafkalite.log.meta_properties import LogDirectoryError

    try:
        yield
    except LogDirectoryError as error:
        raise CannotStartError(f"{error}; choose another folder with --data") from error
    except CorruptRecordError as error:
        raise CannotStartError(
            f"the metadata log in {options.data} is damaged ({error}); move the folder away, or "
            "choose another with --data"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotStartError(
                f"port {options.port} is in use; stop what listens there, or choose another with "
                "--port (0 takes a free one)"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise CannotStartError(
                f"cannot use {options.data} ({error.strerror}); choose another folder with --data"
            ) from error
        raise CannotStartError(str(error)) from error


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {_MAX_PORT}")
    return int(text)
