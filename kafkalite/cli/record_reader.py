"""Reads the records of a topic: up to where it ended when the reading began, or for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from kafkalite.cli.errors import CommandError
from kafkalite.cli.interrupts import interrupts_held_back

if TYPE_CHECKING:
    from kafka import KafkaConsumer, TopicPartition

Record = Any  # kafka-python's ConsumerRecord.

_POLL_MS = 200
"""No longer: Ctrl-C waits for it."""
_MOST_EMPTY_POLLS = 150
"""In a row, where records are known to be there: kafka-python waits for a lost broker for ever."""


class RecordReader(Protocol):
    """One way of reading."""

    def batches(self) -> Iterator[list[Record]]:
        """What comes together, which may be nothing."""
        ...

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The records below these are done with."""
        ...


class PartitionReader:
    """Reads given partitions, and leaves no trace."""

    def __init__(
        self,
        consumer: KafkaConsumer,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None,
    ) -> None:
        """Offsets by partition; `ends` are exclusive, and without them it never ends."""
        self._consumer = consumer
        self._ends = ends
        consumer.assign(list(starts))
        for partition, offset in starts.items():
            consumer.seek(partition, offset)

    def batches(self) -> Iterator[list[Record]]:
        """See `RecordReader`."""
        empty_polls = 0
        while not self._is_at_end():
            polled = self._consumer.poll(timeout_ms=_POLL_MS)
            empty_polls = 0 if polled else empty_polls + 1
            if self._ends is not None and empty_polls > _MOST_EMPTY_POLLS:
                raise CommandError(
                    f"nothing comes any more, for {_MOST_EMPTY_POLLS * _POLL_MS // 1000} s, and "
                    "there is more to read: has the broker stopped?"
                )
            yield [
                record
                for partition, records in polled.items()
                for record in records
                if self._ends is None or record.offset < self._ends[partition]
            ]

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See `RecordReader`."""

    def _is_at_end(self) -> bool:
        return self._ends is not None and _has_read(self._consumer, self._ends)


class GroupReader:
    """Reads as a member of a group, what the group has not read yet."""

    def __init__(self, consumer: KafkaConsumer, topic: str, *, follow: bool) -> None:
        """The consumer has its group. With `follow` it never ends."""
        from kafka import ConsumerRebalanceListener

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # It has no types.
            """Notes when the group has taken the member in, if without a partition."""

            has_joined = False

            def on_partitions_revoked(self, revoked: object) -> None:
                """Nothing has to be given back: each batch is committed at once."""

            def on_partitions_assigned(self, assigned: object) -> None:
                """Now, or again after others came or went."""
                self.has_joined = True

        self._consumer = consumer
        self._follow = follow
        self._listener = Listener()
        self._ends: dict[TopicPartition, int] = {}
        # kafka-python may join before it knows of the topic, and is then assigned none of it.
        with interrupts_held_back():
            consumer.partitions_for_topic(topic)
        consumer.subscribe([topic], listener=self._listener)

    def batches(self) -> Iterator[list[Record]]:
        """See `RecordReader`."""
        while self._follow or not self._is_at_end():
            polled = self._consumer.poll(timeout_ms=_POLL_MS)
            yield [record for records in polled.values() for record in records]

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """When the partitions have meanwhile gone to another member, that one reads on from the
        commit before."""
        from kafka.errors import CommitFailedError
        from kafka.structs import OffsetAndMetadata

        if offsets:
            with suppress(CommitFailedError):
                self._consumer.commit(
                    {each: OffsetAndMetadata(offset, "", -1) for each, offset in offsets.items()}
                )

    def _is_at_end(self) -> bool:
        if not self._listener.has_joined:
            return False
        assigned = self._consumer.assignment()
        new = [partition for partition in assigned if partition not in self._ends]
        if new:
            self._ends |= self._consumer.end_offsets(new)
        return _has_read(self._consumer, {each: self._ends[each] for each in assigned})


def _has_read(consumer: KafkaConsumer, ends: Mapping[TopicPartition, int]) -> bool:
    return all(consumer.position(partition) >= end for partition, end in ends.items())
