"""kafka-python as a `Member` of the shared group cases: a consumer in a thread of its own.

A thread that polls several in turn would never get them together: a join that ends while its
consumer is not within `poll` is thrown away and begun again.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Self, TypeVar

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from compat_tests.group_cases import METADATA_MS, SESSION_MS, Got, Place

T = TypeVar("T")

POLL_MS = 500
WAIT_S = 60


class KafkaPythonMember:
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
        self._got: queue.SimpleQueue[list[Got]] = queue.SimpleQueue()
        self._wanted: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._consumer = KafkaConsumer(
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
            self._consumer.subscribe(pattern=topics[0])
        else:
            self._consumer.subscribe(topics=list(topics))
        self._thread = Thread(target=self._consume, daemon=True)
        self._thread.start()

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
        try:
            return self._got.get(timeout=0.1)
        except queue.Empty:
            return []

    def assignment(self) -> set[Place]:
        return {Place(each.topic, each.partition) for each in self._consumer.assignment()}

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = {
            TopicPartition(*place): OffsetAndMetadata(offset, "", -1)
            for place, offset in offsets.items()
        }
        self._call(lambda: self._consumer.commit(wanted))

    def seek(self, place: Place, offset: int) -> None:
        self._call(lambda: self._consumer.seek(TopicPartition(*place), offset))

    def offset_for_time(self, place: Place, timestamp_ms: int) -> int:
        partition = TopicPartition(*place)
        found = self._call(lambda: self._consumer.offsets_for_times({partition: timestamp_ms}))
        return int(found[partition].offset)

    def leave(self) -> None:
        if self._is_open:
            self._call(self._close)
            self._thread.join(WAIT_S)

    def _close(self) -> None:
        self._is_open = False
        transports = [
            connection.transport for connection in self._consumer._manager._conns.values()
        ]
        self._consumer.close(autocommit=False)
        # kafka-python 3.0.12 forgets the socket of a connection that has something to send just
        # then, such as its own refresh of metadata: KafkaTCPTransport.close leaves the rest to
        # the write, and the loop that would write has been stopped.
        for transport in transports:
            if transport is not None and transport._sock is not None:
                transport._sock.close()

    def _consume(self) -> None:
        while self._is_open:
            batches = self._consumer.poll(POLL_MS)
            for records in batches.values():
                self._got.put(
                    [
                        Got(Place(each.topic, each.partition), each.offset, each.value)
                        for each in records
                    ]
                )
            while not self._wanted.empty():
                self._wanted.get()()

    def _call(self, function: Callable[[], T]) -> T:
        """In the consumer's thread, between two polls."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except Exception as error:  # noqa: BLE001  # It is raised where it was asked for.
                future.set_exception(error)

        self._wanted.put(run)
        return future.result(WAIT_S)
