"""Whether a reading still has a broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kafkalite.cli.lost_broker import LostBroker
from kafkalite.cli.record_reader import Record, RecordReader

if TYPE_CHECKING:
    from kafka import KafkaConsumer, TopicPartition


class WatchedReader:
    """A reader that tells, once for each time, when its broker is lost."""

    def __init__(self, reader: RecordReader, consumer: KafkaConsumer, bootstrap: str) -> None:
        """`consumer` is what the reader reads from; `bootstrap` names the broker to people."""
        self._reader = reader
        self._consumer = consumer
        self._broker = LostBroker(bootstrap, self._has_connection)

    def batches(self) -> Iterator[list[Record]]:
        """See `RecordReader`."""
        for batch in self._reader.batches():
            if not batch:
                self._broker.look()
            yield batch

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See `RecordReader`."""
        self._reader.commit(offsets)

    def _has_connection(self) -> bool:
        return bool(self._consumer.metrics()["consumer-metrics"]["connection-count"])
