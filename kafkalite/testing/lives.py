"""What `testing.Broker` and `testing.Cluster` share: a life on an event loop and a thread of its
own, and `with`, `async with` around it.

`ThreadLife` knows nothing of waiting: it tells through two futures, which any thread and any kind
of loop can wait for.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.process import open_standard_descriptors
from kafkalite.testing.forks import rest_while_forking

S = TypeVar("S")
T = TypeVar("T")


class BrokerError(Exception):
    """One line for a person: why a broker cannot start, go on or do what it was asked."""


class ThreadLife(ABC, Generic[S]):
    """Of something that serves: it is starting, runs or has ended; it is born by `start`."""

    name = "kafkalite"
    """To people."""

    def __init__(self, thread: str) -> None:
        self.started: Future[S] = Future()
        """Done when clients can connect; `BrokerError` when it cannot start."""
        self.ended: Future[None] = Future()
        """Done when all is closed and the thread is about to end; `BrokerError` when it stopped by
        itself, for an invariant did not hold, or could not write when it stopped."""
        for future in (self.started, self.ended):
            future.set_running_or_notify_cancel()  # Whoever waits cannot cancel it for the others.
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)

    def start(self) -> None:
        """Let the thread run. Returns at once. `BrokerError` when there is none to be had."""
        open_standard_descriptors()
        self._loop = new_event_loop()
        try:
            self._thread.start()
        except RuntimeError as error:
            self._loop.close()
            raise BrokerError(f"{self.name} cannot start: {error}") from error
        rest_while_forking(self._loop, self.ended)

    def stop_soon(self) -> None:
        """Ask it to end, which `ended` tells. Nothing happens when it has ended."""
        try:
            self._loop.call_soon_threadsafe(self._stopping.set)
        except RuntimeError:  # The loop is closed already.
            return

    def join(self, timeout_s: float) -> None:
        """Wait for the thread itself to go, which it does when `ended` is done."""
        self._thread.join(timeout_s)

    # Any: what a coroutine is sent, which is nothing.
    def run(self, work: Coroutine[Any, Any, T], *, too_late: str) -> Future[T]:
        """Have it done on the loop. `BrokerError(too_late)` when that is closed already."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            work.close()
            raise BrokerError(too_late) from error

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # Handed to the one who waits.
            failure = error
        if isinstance(failure, OSError) and self.started.done():
            told = BrokerError(f"{self.name} did not stop cleanly: {failure}")
            told.__cause__ = failure
            failure = told
        if not self.started.done():
            early = BrokerError(f"{self.name} ended before it started")
            self.started.set_exception(failure or early)
            failure = None
        if failure is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(failure)

    @abstractmethod
    async def _serve(self) -> None:
        """Until `_stopping` is set; tell `started`."""


class StartsAndStops(ABC):
    """`with` and `async with`."""

    @abstractmethod
    def start(self) -> Self:
        """Blocks."""

    @abstractmethod
    def stop(self) -> None:
        """Blocks."""

    def __enter__(self) -> Self:
        """See `start`."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """See `stop`."""
        self.stop()

    async def __aenter__(self) -> Self:
        """See `start`. The running loop goes on meanwhile."""
        try:
            await _off_loop(self.start)
        except asyncio.CancelledError:
            self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """See `stop`. The running loop goes on meanwhile, so that its clients can take their
        answers."""
        await _off_loop(self.stop)


def wait_for(future: Future[T], within_s: float, what: str) -> T:
    """The result. `BrokerError` when it does not come in time."""
    try:
        return future.result(within_s)
    except TimeoutError as error:
        raise BrokerError(f"kafkalite did not {what} within {within_s:.0f} s") from error
    except (CancelledError, ConnectionError) as error:
        raise BrokerError(f"kafkalite did not {what}: it was stopped meanwhile") from error


def in_one_line(error: Exception, free_port: str) -> str:
    """For a person. Those of files name them; those of sockets, and our own, say all in their text.
    `free_port` says what to do where a port is taken."""
    if not isinstance(error, OSError):
        return str(error)
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    remedy = f"; {free_port}" if error.errno == errno.EADDRINUSE else ""
    return f"{error.strerror}{remedy}"


async def _off_loop(function: Callable[[], object]) -> None:
    """Run it on a thread of its own while the asyncio loop goes on. Under any other kind of loop
    run it here: that takes milliseconds."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        function()
        return
    done: Future[None] = Future()
    done.set_running_or_notify_cancel()  # A wait that is cancelled leaves it running.

    def run() -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001  # Handed to the one who waits.
            done.set_exception(error)
        else:
            done.set_result(None)

    thread = threading.Thread(target=run, name="kafkalite-start-or-stop")
    thread.start()
    try:
        await asyncio.wrap_future(done)
    finally:
        thread.join()
