"""confluent-kafka as a `Member` of the shared group cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from compat_tests.group_cases import METADATA_MS, SESSION_MS, Got, Place

WAIT_S = 60.0


class ConfluentMember:
    """See `Member`."""

    def __init__(
        self, bootstrap: str, group: str, session_ms: int, instance: str | None = None
    ) -> None:
        self._is_open = True
        settings = self.settings(bootstrap, group, session_ms)
        if instance is not None:
            settings["group.instance.id"] = instance
        self._consumer = Consumer(settings)

    def settings(self, bootstrap: str, group: str, session_ms: int) -> dict[str, str | int | bool]:
        """librdkafka's."""
        return {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": 500,
            "topic.metadata.refresh.interval.ms": METADATA_MS,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 500,
        }

    @classmethod
    def join(
        cls,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        session_ms: int = SESSION_MS,
        instance: str | None = None,
    ) -> Self:
        member = cls(bootstrap, group, session_ms, instance)
        member._consumer.subscribe(list(topics))
        return member

    def poll(self) -> list[Got]:
        got = []
        for message in self._consumer.consume(1_000, 0.1):
            error = message.error()
            if error:
                if error.retriable() or error.code() == error._TRANSPORT:
                    continue
                raise KafkaException(error)
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            got.append(Got(Place(topic, partition), offset, message.value()))
        return got

    def assignment(self) -> set[Place]:
        return {Place(each.topic, each.partition) for each in self._consumer.assignment()}

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        self._consumer.commit(offsets=wanted, asynchronous=False)

    def seek(self, place: Place, offset: int) -> None:
        self._consumer.seek(TopicPartition(*place, offset))

    def offset_for_time(self, place: Place, timestamp_ms: int) -> int:
        wanted = [TopicPartition(*place, timestamp_ms)]
        offset: int = self._consumer.offsets_for_times(wanted, WAIT_S)[0].offset
        return offset

    def leave(self) -> None:
        if self._is_open:
            self._is_open = False
            self._consumer.close()


class ConfluentConsumerMember(ConfluentMember):
    """In a group of the new protocol (KIP-848): the broker says how long sessions are and how often
    heartbeats come, and finds out what patterns match."""

    def settings(self, bootstrap: str, group: str, session_ms: int) -> dict[str, str | int | bool]:
        given = super().settings(bootstrap, group, session_ms)
        of_the_broker = {"session.timeout.ms", "heartbeat.interval.ms"}
        kept = {name: value for name, value in given.items() if name not in of_the_broker}
        return kept | {"group.protocol": "consumer"}
