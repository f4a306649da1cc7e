"""`kafkalite cluster --processes`: one process for each broker, over a ZooKeeper, so that all cores
work. Each is a `kafkalite serve`, started and ended by its process id from here."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafkalite.cli.errors import CommandError
from kafkalite.cli.logs import LogFormat, log_note
from kafkalite.cli.stop_signals import event_of_stop_signals

_TOPICS_WITHIN_MS = 10_000
"""So long the controller may take to hear of all brokers."""
_LOOK_EVERY_MS = 50


class ProcessesPlan(NamedTuple):
    """What to start."""

    ports: Mapping[int, int]
    """Where each broker listens, by id; 0: a free port."""
    folder: str | None
    """Of the cluster, in which each broker has its own; None: memory."""
    zookeeper: str
    """Hosts and chroot."""
    settings: Mapping[str, str]
    topics: Mapping[str, int]
    log_format: LogFormat

    def command(self, id: int) -> list[str]:
        """The words that start a broker."""
        words = [sys.executable, "-m", "kafkalite", *self._words(id, str(self.ports[id]))]
        words += ["--json", "--log-format", self.log_format]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value}"]
        return words

    def hint(self, id: int, port: str) -> str:
        """How a person starts it again, at that port; settings may be secrets."""
        told = shlex.join(["kafkalite", *self._words(id, port)])
        return f"{told}, and the same --set" if self.settings else told

    def _words(self, id: int, port: str) -> list[str]:
        words = ["serve", "--node-id", str(id), "--port", port, "--zookeeper", self.zookeeper]
        if self.folder is None:
            return [*words, "--ephemeral"]
        return [*words, "--data", os.path.join(self.folder, f"broker-{id}")]


class Member:
    """A broker's process."""

    def __init__(self, id: int, process: Process) -> None:
        self.id = id
        self.process = process
        self.address = ""
        """`HOST:PORT`, once it is ready."""

    async def wait_ready(self) -> None:
        """`CommandError` when it ends before; why, it has said itself."""
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            await self.process.wait()
            raise CommandError(f"broker {self.id} did not start; it says above why")
        self.address = json.loads(line)["bootstrap"]

    def end(self) -> None:
        """In good order. Nothing happens when it has ended."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.terminate()


def serve_as_processes(
    plan: ProcessesPlan, on_ready: Callable[[dict[int, str], dict[int, int]], None]
) -> None:
    """Until Ctrl-C or SIGTERM; all processes have ended then. `on_ready` is told addresses and
    process ids, by broker, when all serve. `CommandError` when one does not start, when none is
    left, and when one did not stop cleanly."""
    asyncio.run(_serve(plan, on_ready))


async def _serve(
    plan: ProcessesPlan, on_ready: Callable[[dict[int, str], dict[int, int]], None]
) -> None:
    stopped = event_of_stop_signals()
    members: list[Member] = []
    try:
        for id in plan.ports:
            member = await _start(plan, id)
            members.append(member)
        if await _is_first(asyncio.gather(*(each.wait_ready() for each in members)), stopped):
            await _create_topics(plan, members[0].address)
            on_ready(
                {each.id: each.address for each in members},
                {each.id: each.process.pid for each in members},
            )
            watches = asyncio.gather(*(_watch(plan, each, stopped) for each in members))
            if await _is_first(watches, stopped):
                raise CommandError("no broker is left; what they say above tells why")
    finally:
        running = [each for each in members if each.process.returncode is None]
        for member in running:
            member.end()
        for member in running:
            await member.process.wait()
    unclean = [str(each.id) for each in running if each.process.returncode]
    if unclean:
        raise CommandError(f"no clean stop of broker {', '.join(unclean)}; see above")


async def _start(plan: ProcessesPlan, id: int) -> Member:
    """In a process group of its own: a Ctrl-C at a terminal is for this process, which then ends
    the others."""
    process = await asyncio.create_subprocess_exec(
        *plan.command(id),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        start_new_session=os.name == "posix",
    )
    return Member(id, process)


async def _is_first(work: asyncio.Future[list[None]], stopped: asyncio.Event) -> bool:
    """Whether the work is done before a signal comes; else it is given up. Its errors come
    through."""
    waiting = asyncio.ensure_future(stopped.wait())
    await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if work.done():
        work.result()
        return not stopped.is_set()
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    return False


async def _watch(plan: ProcessesPlan, member: Member, stopped: asyncio.Event) -> None:
    """Tells when it dies by itself. It stays so: what a cluster does then is what one looks at."""
    code = await member.process.wait()
    if not stopped.is_set():
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        log_note(
            f"warning: broker {member.id} (process {member.process.pid}) ended {how}; the others "
            f"go on; again: {plan.hint(member.id, member.address.rpartition(':')[2])}"
        )


async def _create_topics(plan: ProcessesPlan, at: str) -> None:
    """Those of an earlier run are there already."""
    if not plan.topics:
        return
    from kafkalite.errors import ErrorCode
    from kafkalite.ports.clock import RealClock
    from kafkalite.ports.network import Address
    from kafkalite.ports.network_sockets import SocketNetwork
    from kafkalite.testing.first_topics import create_topics

    clock = RealClock()
    network = SocketNetwork(clock)
    host, _, port = at.rpartition(":")
    address = Address(host, int(port))
    there = (ErrorCode.TOPIC_ALREADY_EXISTS,)
    until_ms = clock.now_ms() + _TOPICS_WITHIN_MS
    while refusals := await create_topics(network, address, plan.topics, {}, allowed=there):
        if clock.now_ms() > until_ms:
            raise CommandError(*refusals)
        with suppress(TimeoutError):
            await clock.wait(asyncio.Event().wait(), clock.now_ms() + _LOOK_EVERY_MS)
