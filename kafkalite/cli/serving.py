"""Runs one broker until it is told to stop, and tells when it is ready."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.cli.errors import CommandError
from kafkalite.cli.readiness import Ready, ReadyFile
from kafkalite.cli.start_failures import explained
from kafkalite.log.directory_set import LogFolderFailedError, Place
from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.vigil import STAY_AWAKE_US
from kafkalite.server.broker import Broker
from kafkalite.server.this_machine import (
    fail_on_broken_invariants,
    ports_of_this_machine,
    where_to_dial,
)

if TYPE_CHECKING:
    from kafkalite.config.views import BrokerConfig
    from kafkalite.errors import InvariantError
    from kafkalite.ports.network import Address, Network

_STOP_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if os.name == "posix" else [])]


class Plan(NamedTuple):
    """What to serve, and how to tell of it."""

    config: BrokerConfig
    folders: tuple[str, ...]
    """The log folders; none: memory."""
    topics: dict[str, int]
    """Partitions by name, -1 for as many as the settings say."""
    as_json: bool
    ready_file: str | None


def serve_until_stopped(plan: Plan) -> None:
    """`CommandError` when it cannot start, stopped by itself, or could not stop cleanly."""
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(plan))
    except OSError as problem:  # Of the stop: those of the start are explained.
        raise CommandError(f"no clean stop: {problem}") from problem


async def _serve(plan: Plan) -> None:
    stopped = _on_stop_signals()
    file = None if plan.ready_file is None else ReadyFile(plan.ready_file)
    async with AsyncExitStack() as stack:
        data = ",".join(plan.folders) or None
        with explained(data, plan.config):
            first, *others = _places(plan.folders)
            ports = ports_of_this_machine(plan.config, first.files, stay_awake_us=STAY_AWAKE_US)
            broker = Broker(
                plan.config,
                ports,
                location=first.location,
                more_places=others,
                on_failure=stopped.set,
            )
            fail_on_broken_invariants(broker)
            await stack.enter_async_context(broker)
        address = where_to_dial(broker.addresses[0])
        if plan.topics:
            await _create_topics(ports.network, address, plan.topics)
        ready = Ready(str(address), data)
        if file is not None:
            stack.callback(file.remove)
            file.write(ready)
        print(ready.json() if plan.as_json else ready.line(), flush=True)
        await stopped.wait()
    if broker.failure is not None:
        raise CommandError(_why_it_stopped(broker.failure))


def _why_it_stopped(failure: InvariantError) -> str:
    if isinstance(failure, LogFolderFailedError):
        return f"stopped: {failure}; mend the disk, or choose another folder with --data"
    return f"stopped, for its data contradicts itself: {failure}"


def _places(folders: Sequence[str]) -> list[Place]:
    if not folders:
        from kafkalite.log.files_memory import MemoryFiles

        return [Place("in memory", MemoryFiles())]
    from kafkalite.log.files_os import OsFiles
    from kafkalite.log.open_files import OpenFiles, descriptor_limit

    open_files = OpenFiles(descriptor_limit())
    return [Place(folder, OsFiles(folder, open_files=open_files)) for folder in folders]


async def _create_topics(network: Network, address: Address, topics: dict[str, int]) -> None:
    """Those that an earlier run left are there already."""
    from kafkalite.errors import ErrorCode
    from kafkalite.testing.first_topics import create_topics

    there = (ErrorCode.TOPIC_ALREADY_EXISTS,)
    refusals = await create_topics(network, address, topics, {}, allowed=there)
    if refusals:
        raise CommandError(*refusals)


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
