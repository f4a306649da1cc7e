"""Records that are numbers, sent all the while by idempotent producers with acks=all, and the
proof that each partition holds 0, 1, 2... and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

MOST_ON_THE_WAY = 1_000
"""Records of one partition that are not acknowledged yet."""
PAUSE_S = 0.002
PATIENCE_S = 60.0
_NO_OFFSET = -1001
"""librdkafka's answer where a leader has had the record already, and no longer knows where."""


class CountingProducer:
    """One partition's, in a thread of its own. `finish` it."""

    def __init__(self, bootstrap: str, topic: str, partition: int) -> None:
        self.acknowledged = 0
        """Numbers below it are."""
        self.sent = 0
        self._topic = topic
        self._partition = partition
        self._wrong: list[str] = []
        self._last_s = now_s()
        self._longest_s = 0.0
        self._client = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "message.timeout.ms": 0,  # None: it sends until it is acknowledged.
                "reconnect.backoff.max.ms": 500,
                "error_cb": self._on_error,
                "log_level": 0,  # Brokers die here all the time.
            }
        )
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def longest_silence_s(self) -> float:
        """Between two acknowledgements, since it was asked last."""
        longest = max(self._longest_s, now_s() - self._last_s)
        self._longest_s = 0.0
        return longest

    def wait_acknowledged(self, number: int) -> None:
        """Until this one is, and all before it."""
        until = now_s() + PATIENCE_S
        while self.acknowledged <= number:
            self.check()
            told = f"partition {self._partition}: {number} is not acknowledged"
            assert now_s() < until, f"{told}, {self.acknowledged} are, {self.sent} are sent"
            time.sleep(PAUSE_S)  # noqa: TID251  # A real cluster has the real time.

    def check(self) -> None:
        """`AssertionError` when something was refused, or stands where it should not."""
        assert not self._wrong, self._wrong[:3]

    def finish(self) -> None:
        """It sends no more, and all that it sent is acknowledged."""
        self._ends.set()
        self._thread.join(PATIENCE_S)
        left = self._client.flush(PATIENCE_S)
        self.check()
        assert (left, self.acknowledged) == (0, self.sent)

    def abandon(self) -> None:
        """It sends no more, whatever becomes of it."""
        self._ends.set()
        self._thread.join(PATIENCE_S)
        self._client.purge()
        self._client.flush(1)

    def _run(self) -> None:
        while not self._ends.is_set():
            if self.sent - self.acknowledged < MOST_ON_THE_WAY:
                value = b"%d" % self.sent
                self._client.produce(
                    self._topic, value, partition=self._partition, on_delivery=self._told
                )
                self.sent += 1
            self._client.poll(PAUSE_S)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        number = int(message.value() or b"-1")
        if error is not None:
            self._wrong.append(f"{number} was refused: {error}")
        elif message.offset() not in (number, _NO_OFFSET, None) or number != self.acknowledged:
            after = self.acknowledged
            self._wrong.append(f"{number} is at offset {message.offset()}, told after {after}")
        self.acknowledged += 1
        time_s = now_s()
        self._longest_s = max(self._longest_s, time_s - self._last_s)
        self._last_s = time_s

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._wrong.append(f"fatal: {error}")


class CountingReader:
    """Reads on where it stopped. `close` it."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.found = [0] * partitions
        """By partition: numbers below it are there, each once and at its place."""
        self._client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 500,
                "fetch.wait.max.ms": 50,
                "log_level": 0,
            }
        )
        self._client.assign([TopicPartition(topic, each, 0) for each in range(partitions)])

    def read_to(self, ends: Sequence[int]) -> None:
        """All below them. `AssertionError` for what is lost, there twice, or out of order."""
        until = now_s() + PATIENCE_S
        while any(found < end for found, end in zip(self.found, ends, strict=True)):
            assert now_s() < until, f"found {self.found}, acknowledged {ends}"
            try:
                messages = self._client.consume(1_000, timeout=0.2)
            except KafkaException as problem:
                raise AssertionError(f"the reader failed: {problem}") from problem
            for message in messages:
                self._take(message)

    def close(self) -> None:
        self._client.close()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            assert error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN, error
            return
        partition, number = message.partition(), int(message.value() or b"-1")
        assert partition is not None
        expected = self.found[partition]
        assert (message.offset(), number) == (expected, expected), (
            f"partition {partition}: {number} at offset {message.offset()}, not {expected}"
        )
        self.found[partition] += 1


def now_s() -> float:
    """Of a clock that only rises."""
    return time.monotonic()  # noqa: TID251  # A real cluster has the real time.
