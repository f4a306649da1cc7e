"""One life of a `testing.Broker`, from start to stop: the server's broker on an event loop and a
thread of its own.

`Life` knows nothing of waiting: it tells through two futures, which any thread and any kind of loop
can wait for.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, InvariantError
from kafkalite.log.files import Files
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.network import Address
from kafkalite.ports.process import open_standard_descriptors
from kafkalite.server.broker import Broker
from kafkalite.server.this_machine import (
    fail_on_broken_invariants,
    ports_of_this_machine,
    where_to_dial,
)
from kafkalite.testing.first_topics import create_topics

_FREE_PORT = "port=0 takes a free one"


class BrokerError(Exception):
    """One line for a person: why a broker cannot start, go on or do what it was asked."""


class Life:
    """A broker that is starting, runs or has ended; it is born by `start`."""

    def __init__(
        self, config: BrokerConfig, files: Files, *, location: str, topics: Mapping[str, int]
    ) -> None:
        """`location` names the log folder to people; `topics` (name to partitions) are made before
        `started` tells, those that are there already excepted."""
        self._config = config
        self._files = files
        self._location = location
        self._topics = topics
        self.started: Future[Address] = Future()
        """Where to dial, once the broker serves and its topics are there; `BrokerError` when it
        cannot start."""
        self.ended: Future[None] = Future()
        """Done when all is closed and the thread is about to end; `BrokerError` when the broker
        stopped by itself, for an invariant did not hold, or could not write when it stopped."""
        for future in (self.started, self.ended):
            future.set_running_or_notify_cancel()  # Whoever waits cannot cancel it for the others.
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="kafkalite-broker", daemon=True)

    def start(self) -> None:
        """Let the thread run. Returns at once. `BrokerError` when there is none to be had."""
        open_standard_descriptors()
        self._loop = new_event_loop()
        try:
            self._thread.start()
        except RuntimeError as error:
            self._loop.close()
            raise BrokerError(f"kafkalite cannot start: {error}") from error

    def stop_soon(self) -> None:
        """Ask it to end, which `ended` tells. Nothing happens when it has ended."""
        try:
            self._loop.call_soon_threadsafe(self._stopping.set)
        except RuntimeError:  # The loop is closed already.
            return

    def join(self, timeout_s: float) -> None:
        """Wait for the thread itself to go, which it does when `ended` is done."""
        self._thread.join(timeout_s)

    def create_topics(self, topics: Mapping[str, int], configs: Mapping[str, str]) -> Future[None]:
        """By name and partitions. Ask the broker, once it has started, as a client would.
        `BrokerError` when it refuses; cancelled, or a `ConnectionError`, when it ends first."""
        creation = self._create_topics(topics, configs, allowed=())
        try:
            return asyncio.run_coroutine_threadsafe(creation, self._loop)
        except RuntimeError as error:  # The loop is closed already.
            creation.close()
            raise BrokerError(
                f"{_named(topics)} cannot be created: kafkalite has stopped"
            ) from error

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # Handed to the one who waits.
            failure = error
        if isinstance(failure, OSError) and self.started.done():
            told = BrokerError(f"kafkalite did not stop cleanly: {failure}")
            told.__cause__ = failure
            failure = told
        if not self.started.done():
            self.started.set_exception(failure or BrokerError("kafkalite ended before it started"))
            failure = None
        if failure is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(failure)

    async def _serve(self) -> None:
        stopping = self._stopping
        async with AsyncExitStack() as stack:
            try:
                ports = ports_of_this_machine(self._config, self._files)
                broker = Broker(
                    self._config, ports, location=self._location, on_failure=stopping.set
                )
                fail_on_broken_invariants(broker)
                await stack.enter_async_context(broker)
            except (LogDirectoryError, CorruptRecordError, InvariantError, OSError) as error:
                raise BrokerError(
                    f"kafkalite cannot start: {in_one_line(error, _FREE_PORT)}"
                ) from error
            self._network = ports.network
            self._address = where_to_dial(broker.addresses[0])
            if self._topics:
                await self._create_topics(
                    self._topics, {}, allowed=(ErrorCode.TOPIC_ALREADY_EXISTS,)
                )
            self.started.set_result(self._address)
            await stopping.wait()
        if broker.failure is not None:
            raise BrokerError(
                f"kafkalite stopped by itself, for its data contradicts itself: {broker.failure}"
            )

    async def _create_topics(
        self, topics: Mapping[str, int], configs: Mapping[str, str], *, allowed: Sequence[ErrorCode]
    ) -> None:
        """Topics of these settings, by name and partitions; `allowed` refusals are none."""
        try:
            refusals = await create_topics(
                self._network, self._address, topics, configs, allowed=allowed
            )
        except ConnectionError as error:
            if self._stopping.is_set():
                raise
            raise BrokerError(
                f"{_named(topics)} cannot be created: kafkalite hangs up; do its settings let a "
                "client in (max.connections, max.connections.per.ip, socket.request.max.bytes)?"
            ) from error
        if refusals:
            raise BrokerError(refusals[0])


def _named(topics: Mapping[str, int]) -> str:
    names = ", ".join(map(repr, topics))
    return f"topic {names}" if len(topics) == 1 else f"topics {names}"


def in_one_line(error: Exception, free_port: str) -> str:
    """For a person. Those of files name them; those of sockets, and our own, say all in their text.
    `free_port` says what to do where a port is taken."""
    if not isinstance(error, OSError):
        return str(error)
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    remedy = f"; {free_port}" if error.errno == errno.EADDRINUSE else ""
    return f"{error.strerror}{remedy}"
