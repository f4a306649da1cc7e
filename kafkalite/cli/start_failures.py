"""Why a broker does not start, as one line that says what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kafkalite.cli.errors import CommandError

if TYPE_CHECKING:
    from kafkalite.config.views import BrokerConfig
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""A write that fails does not name its file."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FEWEST = 96
"""What a broker itself takes, what it leaves to files (`KEPT_DESCRIPTORS`), and some clients."""
_OF_THE_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)


def check_descriptors() -> None:
    """`CommandError` where this process cannot have enough to serve anybody. An event loop that has
    too few fails without naming a cause."""
    try:
        with ExitStack() as taken:
            for _ in range(_FEWEST):
                taken.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        raise _too_little(error) from error


def _too_little(error: OSError) -> CommandError:
    return CommandError(
        f"{error.strerror}: give this process more (`ulimit -a` tells what it may have)"
    )


@contextmanager
def explained(data: str | None, config: BrokerConfig) -> Iterator[None]:
    """Around a start: turns what a person can mend into `CommandError`. `data` is the folder."""
    from kafkalite.errors import CorruptRecordError, InvariantError, ProtocolError
    from kafkalite.log.meta_properties import LogDirectoryError
    from kafkalite.metadata.store import StoreNotReachedError
    from kafkalite.stores.losses import LostTopicsError

    try:
        yield
    except StoreNotReachedError as error:
        raise CommandError(str(error)) from error
    except LogDirectoryError as error:
        raise CommandError(f"{error}; choose another folder with --data") from error
    except LostTopicsError as error:
        raise CommandError(
            f"the metadata log in {data} has lost the topics of {error.names}; put its files back, "
            "or move those folders away to start without them, or choose another folder with --data"
        ) from error
    except (CorruptRecordError, InvariantError, ProtocolError) as error:
        raise CommandError(
            f"the metadata log in {data} is damaged ({error}); move the folder away, or "
            "choose another with --data"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(
                f"{_ports(config)} in use; stop what listens there, or choose another with "
                f"{_port_option(config)} (0 takes a free one)"
            ) from error
        if error.errno in _OF_THE_PROCESS:
            raise _too_little(error) from error
        if error.filename is not None or error.errno in _OF_DISKS:
            first = "make room there, or " if error.errno in _FULL else ""
            raise CommandError(
                f"cannot use {data} ({error.strerror}); {first}choose another folder with --data"
            ) from error
        raise CommandError(  # Of a socket.
            f"{error.strerror or error}; choose another address with --port or --set listeners=..."
        ) from error


def _port_option(config: BrokerConfig) -> str:
    """`--port` has a broker's listener."""
    from kafkalite.config.listeners import is_controller_alone

    return "--set listeners=..." if is_controller_alone(config.settings) else "--port"


def _ports(config: BrokerConfig) -> str:
    """What one of cannot be had, as the start of a sentence."""
    from kafkalite.config.listeners import parse_listeners

    ports = [str(listener.bound.port) for listener in parse_listeners(config)]
    return f"port {ports[0]} is" if len(ports) == 1 else f"one of the ports {', '.join(ports)} is"
