"""One life of a `testing.Cluster`: all its brokers on an event loop and a thread of its own.

What any thread asks is carried out on the loop, and waited for there by `run`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from kafkalite.errors import CorruptRecordError, ErrorCode, InvariantError, KafkaError
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.server.this_machine import fail_on_broken_invariants, where_to_dial
from kafkalite.testing.cluster_members import ClusterMembers, ClusterPlan
from kafkalite.testing.first_topics import create_topics
from kafkalite.testing.lives import BrokerError, ThreadLife, in_one_line

T = TypeVar("T")
_FREE_PORTS = "ports= left out takes free ones"


class ClusterLife(ThreadLife[None]):
    """A cluster that is starting, runs or has ended; it is born by `start`."""

    name = "the cluster"

    def __init__(self, plan: ClusterPlan, topics: Mapping[str, int]) -> None:
        """`topics` (name to partitions) are made before `started` tells, those that are there
        already excepted."""
        super().__init__("kafkalite-cluster")
        self._topics = topics
        self.members = ClusterMembers(plan, self._failed)
        self.changed = threading.Condition()
        """Notified after each change of the metadata and of who runs."""
        self._failures: list[str] = []

    # Any: what a coroutine is sent, which is nothing.
    def do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have it done on the loop. `BrokerError` when the cluster has stopped; errors of a start
        in words for a person."""
        return self.run(self._in_words(work), too_late="the cluster has stopped")

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

    async def _serve(self) -> None:
        await self._in_words(self._live)

    async def _live(self) -> None:
        members = self.members
        fail_on_broken_invariants(members)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(members.close)
            await members.open(self._image_changed)
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
