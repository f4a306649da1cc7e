"""aiokafka as a `Member` of the shared group cases: a consumer on an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from threading import Thread
from typing import Any, Self, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition

from compat_tests.group_cases import METADATA_MS, SESSION_MS, Got, Place

T = TypeVar("T")

WAIT_S = 60


class AiokafkaMember:
    """See `Member`."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        session_ms: int,
        instance: str | None,
    ) -> None:
        self._is_open = True
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._consumer = self._run(self._start(bootstrap, group, topics, session_ms, instance))

    @classmethod
    def join(
        cls,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        session_ms: int = SESSION_MS,
        instance: str | None = None,
    ) -> Self:
        return cls(bootstrap, group, topics, session_ms, instance)

    def poll(self) -> list[Got]:
        batches = self._run(self._consumer.getmany(timeout_ms=100))
        return [
            Got(Place(each.topic, each.partition), each.offset, each.value)
            for records in batches.values()
            for each in records
        ]

    def assignment(self) -> set[Place]:
        return {Place(each.topic, each.partition) for each in self._consumer.assignment()}

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = {TopicPartition(*place): offset for place, offset in offsets.items()}
        self._run(self._consumer.commit(wanted))

    def seek(self, place: Place, offset: int) -> None:
        self._run(self._seek(place, offset))

    def offset_for_time(self, place: Place, timestamp_ms: int) -> int:
        partition = TopicPartition(*place)
        found = self._run(self._consumer.offsets_for_times({partition: timestamp_ms}))
        return int(found[partition].offset)

    def leave(self) -> None:
        if self._is_open:
            self._is_open = False
            self._run(self._consumer.stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(WAIT_S)
            self._loop.close()

    async def _start(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        session_ms: int,
        instance: str | None,
    ) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            group_instance_id=instance,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=500,
            metadata_max_age_ms=METADATA_MS,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        if topics[0].startswith("^"):
            consumer.subscribe(pattern=topics[0])
        else:
            consumer.subscribe(list(topics))
        await consumer.start()
        return consumer

    async def _seek(self, place: Place, offset: int) -> None:
        self._consumer.seek(TopicPartition(*place), offset)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:  # Any: of no interest here.
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT_S)
