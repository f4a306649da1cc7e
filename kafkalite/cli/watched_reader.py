"""Whether a reading still has a broker: kafka-python waits for a lost one for ever, and says
nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kafkalite.cli.record_reader import Record, RecordReader

if TYPE_CHECKING:
    from kafka import KafkaConsumer, TopicPartition

_LOST_AFTER_POLLS = 6
"""In a row without a connection. That is about 3 s: a broker that is started again within that time
is not worth a line."""


class WatchedReader:
    """A reader that tells, once for each time, when its broker is lost."""

    def __init__(self, reader: RecordReader, consumer: KafkaConsumer, bootstrap: str) -> None:
        """`consumer` is what the reader reads from; `bootstrap` names the broker to people."""
        self._reader = reader
        self._consumer = consumer
        self._bootstrap = bootstrap
        self._polls = 0

    def batches(self) -> Iterator[list[Record]]:
        """See `RecordReader`."""
        for batch in self._reader.batches():
            if not batch:
                self._look()
            yield batch

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See `RecordReader`."""
        self._reader.commit(offsets)

    def _look(self) -> None:
        if self._has_connection():
            self._polls = 0
            return
        self._polls += 1
        if self._polls == _LOST_AFTER_POLLS:
            print(
                f"kafkalite: lost the broker at {self._bootstrap}; waiting for it",
                file=sys.stderr,
                flush=True,
            )

    def _has_connection(self) -> bool:
        """To any broker of the cluster."""
        return bool(self._consumer.metrics()["consumer-metrics"]["connection-count"])
