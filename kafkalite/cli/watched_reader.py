"""Whether a reading still has a broker, and where it may be interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kafkalite.cli.interrupts import interrupts_held_back
from kafkalite.cli.lost_broker import LostBroker
from kafkalite.cli.record_reader import Record, RecordReader

if TYPE_CHECKING:
    from kafka import KafkaConsumer, TopicPartition


class WatchedReader:
    """A reader that tells, once for each time, when its broker is lost. It is interrupted between
    polls and commits only."""

    def __init__(self, reader: RecordReader, consumer: KafkaConsumer, bootstrap: str) -> None:
        """`consumer` is what the reader reads from; `bootstrap` names the broker to people."""
        self._reader = reader
        self._consumer = consumer
        self._broker = LostBroker(bootstrap, self._has_connection)

    def batches(self) -> Iterator[list[Record]]:
        """See `RecordReader`."""
        batches = self._reader.batches()
        while True:
            with interrupts_held_back():
                batch = next(batches, None)
            if batch is None:
                return
            if not batch:
                self._broker.look()
            yield batch

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See `RecordReader`."""
        with interrupts_held_back():
            self._reader.commit(offsets)

    def _has_connection(self) -> bool:
        return bool(self._consumer.metrics()["consumer-metrics"]["connection-count"])
