"""`kafkalite serve` as a process, the way a person starts it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafkalite.ports.clock import RealClock
from kafkalite.ports.network import Address
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.testing.client import Client

COMMAND = (sys.executable, "-m", "kafkalite")
READY = re.compile(
    r"kafkalite ready on 127\.0\.0\.1:(?P<port>\d+), "
    r"(data in (?P<where>.+)|a controller alone that serves no clients), started in \d+ ms"
    r"(; also on (?P<others>.+))?\n"
)
_END_WITHIN_S = 60


class Served:
    """A broker that is ready. `end` stops it, and gives its exit code and what it logged."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        self.ready_line = process.stdout.readline()
        ready = READY.fullmatch(self.ready_line)
        assert ready is not None, self.ready_line + process.communicate(timeout=_END_WITHIN_S)[1]
        self.port = int(ready["port"])
        self.where = ready["where"]
        self.others = ready["others"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL; `ended` waits for it."""
        self._process.kill()

    def end(self, signal_number: int) -> tuple[int, str]:
        self._process.send_signal(signal_number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """As `end`, of a broker that stops by itself."""
        more, log = self._process.communicate(timeout=_END_WITHIN_S)
        assert more == "", "nothing but the ready line goes to standard output"
        return self._process.returncode, log


def environment() -> dict[str, str]:
    """Deprecations are errors, as in the tests themselves."""
    return {**os.environ, "PYTHONWARNINGS": "error"}


@contextmanager
def serving(
    *options: str, folder: Path, port: str | None = "0", command: Sequence[str] = COMMAND
) -> Iterator[Served]:
    """With these options, started in that folder; killed at the end if it still runs. Without a
    `port` the options say where to listen."""
    ports = () if port is None else ("--port", port)
    process = subprocess.Popen(
        [*command, "serve", *ports, *options],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        process.communicate()


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=_END_WITHIN_S,
    )


async def connect(port: int, host: str = "127.0.0.1") -> Client:
    return await Client.connect(SocketNetwork(RealClock()), Address(host, port))


def talk(port: int, talk_to: Callable[[Client], Awaitable[None]], host: str = "127.0.0.1") -> None:
    """Have `talk_to` a client of that broker."""

    async def main() -> None:
        client = await connect(port, host)
        try:
            await talk_to(client)
        finally:
            client.close()
            await client.wait_closed()

    asyncio.run(main())


def loopback_addresses() -> list[str]:
    """Those that this machine has."""
    found = []
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family) as sock:
                sock.bind((host, 0))
        except OSError:
            continue
        found.append(host)
    return found
