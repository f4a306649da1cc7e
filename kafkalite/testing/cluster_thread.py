"""One life of a `testing.Cluster`: all its brokers on an event loop and a thread of its own.

What any thread asks is carried out on the loop, and waited for there by `run`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, InvariantError, KafkaError
from kafkalite.log.files import Files
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.loop import new_event_loop
from kafkalite.ports.process import open_standard_descriptors
from kafkalite.server.broker import Ports
from kafkalite.server.this_machine import ports_of_this_machine, where_to_dial
from kafkalite.testing.broker_thread import BrokerError, in_one_line
from kafkalite.testing.cluster_members import ClusterMembers, ClusterPlan
from kafkalite.testing.first_topics import create_topics

T = TypeVar("T")
_FREE_PORTS = "ports= left out takes free ones"


def ports_here(config: BrokerConfig, files: Files) -> Ports:
    """The real world, for one broker of several in a process."""
    return ports_of_this_machine(config, files)


class ClusterLife:
    """A cluster that is starting, runs or has ended; it is born by `start`."""

    def __init__(self, plan: ClusterPlan, topics: Mapping[str, int]) -> None:
        """`topics` (name to partitions) are made before `started` tells, those that are there
        already excepted."""
        self._topics = topics
        self.members = ClusterMembers(plan, self._failed)
        self.changed = threading.Condition()
        """Notified after each change of the metadata and of who runs."""
        self.started: Future[None] = Future()
        """Done when clients can connect; `BrokerError` when it cannot start."""
        self.ended: Future[None] = Future()
        """Done when all is closed; `BrokerError` when a broker stopped by itself."""
        for future in (self.started, self.ended):
            future.set_running_or_notify_cancel()  # Whoever waits cannot cancel it for the others.
        self._failures: list[str] = []
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="kafkalite-cluster", daemon=True)

    def start(self) -> None:
        """Let the thread run. Returns at once. `BrokerError` when there is none to be had."""
        open_standard_descriptors()
        self._loop = new_event_loop()
        try:
            self._thread.start()
        except RuntimeError as error:
            self._loop.close()
            raise BrokerError(f"the cluster cannot start: {error}") from error

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
    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have it done on the loop. `BrokerError` when the cluster has stopped; errors of a start
        in words for a person."""
        doing = self._in_words(work)
        try:
            return asyncio.run_coroutine_threadsafe(doing, self._loop)
        except RuntimeError as error:  # The loop is closed already.
            doing.close()
            raise BrokerError("the cluster has stopped") from error

    async def create_topics(self, topics: Mapping[str, int], configs: Mapping[str, str]) -> None:
        """By name and partitions, as a client would."""
        await self._create_topics(topics, configs, is_start=False)

    async def _in_words(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return await work()
        except (LogDirectoryError, CorruptRecordError, InvariantError, KafkaError) as error:
            raise BrokerError(str(error)) from error
        except OSError as error:
            raise BrokerError(in_one_line(error, _FREE_PORTS)) from error
        finally:
            self._notify()

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._in_words(self._serve))
        except BaseException as error:  # noqa: BLE001  # Handed to the one who waits.
            failure = error
        if not self.started.done():
            self.started.set_exception(failure or BrokerError("the cluster ended before it began"))
            failure = None
        if failure is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(failure)

    async def _serve(self) -> None:
        members = self.members
        self._fail_on_broken_invariants()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(members.close)
            members.open(self._image_changed)
            for id in members.ids:
                await members.start(id)
            await self._create_topics(self._topics, {}, is_start=True)
            self.started.set_result(None)
            await self._stopping.wait()
        if self._failures:
            raise BrokerError("; ".join(self._failures))

    async def _create_topics(
        self, topics: Mapping[str, int], configs: Mapping[str, str], *, is_start: bool
    ) -> None:
        if not topics:
            return
        id = next(iter(self.members.running), None)
        if id is None:
            raise BrokerError("topics cannot be created: no broker runs")
        allowed = (ErrorCode.TOPIC_ALREADY_EXISTS,) if is_start else ()
        refusals = await create_topics(
            self.members.network(id),
            where_to_dial(self.members.addresses[id]),
            topics,
            configs,
            allowed=allowed,
        )
        if refusals:
            raise BrokerError(refusals[0])

    def _fail_on_broken_invariants(self) -> None:
        # `Any`: what asyncio gives to such a handler.
        def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            if isinstance(error, InvariantError):
                self.members.fail(error)
            else:
                loop.default_exception_handler(context)

        asyncio.get_running_loop().set_exception_handler(handle)

    def _failed(self, id: int) -> None:
        broker = self.members.running.get(id)
        why = "" if broker is None else f": {broker.failure}"
        self._failures.append(f"broker {id} stopped by itself{why}")
        self._notify()

    def _image_changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self._notify()

    def _notify(self) -> None:
        with self.changed:
            self.changed.notify_all()
