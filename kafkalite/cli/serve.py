"""`kafkalite serve`: one broker, until Ctrl-C or SIGTERM.

Kafka differs: it listens on all addresses of the machine unless told otherwise. Here it is the
machine's own two, 127.0.0.1 and ::1, as long as nobody can be asked who they are.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.process import age_ms, raise_descriptor_limit

if TYPE_CHECKING:
    from kafkalite.config.views import BrokerConfig
    from kafkalite.log.files import Files
    from kafkalite.server.broker import Broker

_DEFAULT_PORT = 9092
_DEFAULT_DATA = "kafkalite-data"
_FAILED = 1
_WRONG_USE = 2
_PLACES = {"log.dir": "--data", "log.dirs": "--data"}
"""Settings that an option makes."""
_MAX_PORT = 65535
_STOP_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if os.name == "posix" else [])]


class CannotStartError(Exception):
    """One line for a person: what is wrong, and what to do."""


class FailedError(Exception):
    """One line for a person: the broker stopped by itself."""


class WrongUseError(Exception):
    """One line for a person: which setting is wrong, and what is allowed."""


def add_parser(commands: Any) -> None:  # `Any`: argparse keeps the class of sub-parsers private.
    """The options of `serve`."""
    parser = commands.add_parser("serve", help="run one broker")
    parser.add_argument("--port", type=_port, help=f"0: a free one (default: {_DEFAULT_PORT})")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        dest="settings",
        action="append",
        default=[],
        help="a broker setting by Kafka's name, such as num.partitions=3; may be repeated",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--data",
        metavar="DIR",
        type=_folder,
        default=_DEFAULT_DATA,
        help="log folder (default: ./%(default)s)",
    )
    where.add_argument("--ephemeral", action="store_true", help="keep all data in memory")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve; the exit code."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    raise_descriptor_limit()
    try:
        config = _config(options)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(options, config))
    except WrongUseError as problem:
        print(f"kafkalite: {problem}", file=sys.stderr)
        return _WRONG_USE
    except (CannotStartError, FailedError) as problem:
        print(f"kafkalite: {problem}", file=sys.stderr)
        return _FAILED
    except OSError as problem:  # Of the stop: those of the start are explained.
        print(f"kafkalite: no clean stop: {problem}", file=sys.stderr)
        return _FAILED
    return 0


async def _serve(options: argparse.Namespace, config: BrokerConfig) -> None:
    stopped = _on_stop_signals()
    async with AsyncExitStack() as stack:
        with _explained(options, config):
            broker = _broker(options, config, on_failure=stopped.set)
            fail_on_broken_invariants(broker)
            await stack.enter_async_context(broker)
        where = "memory" if options.ephemeral else options.data
        print(
            f"kafkalite ready on {_where_to_dial(broker)}, data in {where}, "
            f"started in {age_ms()} ms",
            flush=True,
        )
        await stopped.wait()
    if broker.failure is not None:
        raise FailedError(f"stopped, for its data contradicts itself: {broker.failure}")


def fail_on_broken_invariants(broker: Broker) -> None:
    """Whatever the loop runs: timers and connections too."""
    from kafkalite.errors import InvariantError

    # `Any`: what asyncio gives to such a handler.
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, InvariantError):
            broker.fail(error)
        else:
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)


def _where_to_dial(broker: Broker) -> str:
    """From this machine: the first address, which may be all of them."""
    from kafkalite.config.listeners import WILDCARDS

    address = broker.addresses[0]
    return f"127.0.0.1:{address.port}" if address.host in WILDCARDS else str(address)


def _config(options: argparse.Namespace) -> BrokerConfig:
    """What the options set. `WrongUseError` for what no broker can have."""
    from kafkalite.config.listeners import parse_ip_limits, parse_listeners
    from kafkalite.config.views import BrokerConfig
    from kafkalite.errors import KafkaError

    settings = _parse_settings(options.settings)
    if "listeners" not in settings:
        port = _DEFAULT_PORT if options.port is None else options.port
        settings["listeners"] = f"PLAINTEXT://localhost:{port}"
    elif options.port is not None:
        raise WrongUseError("--port and --set listeners=... say the same thing; use one of them")
    settings["log.dirs"] = "in memory" if options.ephemeral else options.data
    try:
        config = BrokerConfig.of(settings)
        parse_listeners(config)
        parse_ip_limits(config)
    except KafkaError as error:
        raise WrongUseError(error.message) from error
    return config


def _parse_settings(texts: Sequence[str]) -> dict[str, str]:
    """By key; of a key that is set twice, the last value."""
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise WrongUseError(f"--set {text}: expected KEY=VALUE, such as num.partitions=3")
        if key in _PLACES:
            raise WrongUseError(f"--set {key}: use {_PLACES[key]}")
        _check_known(key)
        settings[key] = value
    return settings


def _check_known(key: str) -> None:
    from kafkalite.config.definitions import BROKER_KEYS

    if key in BROKER_KEYS:
        return
    from difflib import get_close_matches

    from kafkalite.config.described_keys import broker_keys

    known = broker_keys()
    if key not in known:
        nearest = get_close_matches(key, known, n=1, cutoff=0)
        raise WrongUseError(f"--set {key}: no such broker setting; the nearest is {nearest[0]}")


def _broker(
    options: argparse.Namespace, config: BrokerConfig, *, on_failure: Callable[[], None]
) -> Broker:
    """A broker on this machine's clock, sockets and disk."""
    from kafkalite.ports.clock import RealClock
    from kafkalite.ports.entropy import RealEntropy
    from kafkalite.ports.network_sockets import SocketNetwork
    from kafkalite.ports.vigil import STAY_AWAKE_US
    from kafkalite.ports.workers import ThreadWorkers
    from kafkalite.server.broker import Broker, Ports

    files: Files
    if options.ephemeral:
        from kafkalite.log.files_memory import MemoryFiles

        files, location = MemoryFiles(), "in memory"
    else:
        from kafkalite.log.files_os import OsFiles

        files, location = OsFiles(options.data), options.data
    clock = RealClock()
    network = SocketNetwork(
        clock,
        backlog=config.socket_listen_backlog_size,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        stay_awake_us=STAY_AWAKE_US,
    )
    ports = Ports(clock, RealEntropy(), network, files, ThreadWorkers())
    return Broker(config, ports, location=location, on_failure=on_failure)


def _ports(config: BrokerConfig) -> str:
    """What one of cannot be had, as the start of a sentence."""
    from kafkalite.config.listeners import parse_listeners

    ports = [str(listener.bound.port) for listener in parse_listeners(config)]
    return f"port {ports[0]} is" if len(ports) == 1 else f"one of the ports {', '.join(ports)} is"


def _on_stop_signals() -> asyncio.Event:
    """Set by Ctrl-C, by SIGTERM, and when the terminal closes."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in _STOP_SIGNALS:
        try:
            loop.add_signal_handler(number, stopped.set)
        except NotImplementedError:  # Windows has no such loop.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopped.set))
    return stopped


@contextmanager
def _explained(options: argparse.Namespace, config: BrokerConfig) -> Iterator[None]:
    """Turn what a person can mend into one line."""
    from kafkalite.errors import CorruptRecordError, InvariantError
    from kafkalite.log.meta_properties import LogDirectoryError
    from kafkalite.stores.losses import LostTopicsError

    try:
        yield
    except LogDirectoryError as error:
        raise CannotStartError(f"{error}; choose another folder with --data") from error
    except LostTopicsError as error:
        raise CannotStartError(
            f"the metadata log in {options.data} has lost the topics of {error.names}; put its "
            "files back, or move those folders away to start without them, or choose another "
            "folder with --data"
        ) from error
    except (CorruptRecordError, InvariantError) as error:
        raise CannotStartError(
            f"the metadata log in {options.data} is damaged ({error}); move the folder away, or "
            "choose another with --data"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotStartError(
                f"{_ports(config)} in use; stop what listens there, or choose another with "
                "--port (0 takes a free one)"
            ) from error
        if error.filename is None:  # Of a socket; those of files name them.
            raise CannotStartError(
                f"{error.strerror or error}; choose another address with --port or "
                "--set listeners=..."
            ) from error
        raise CannotStartError(
            f"cannot use {options.data} ({error.strerror}); choose another folder with --data"
        ) from error


def _folder(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the empty name is no folder")
    return os.path.expanduser(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {_MAX_PORT}")
    return int(text)
