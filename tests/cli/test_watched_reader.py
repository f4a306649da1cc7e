"""What a reading says of a broker that is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping

import pytest
from kafka import TopicPartition

from kafkalite.cli.record_reader import Record
from kafkalite.cli.watched_reader import WatchedReader
from kafkalite.testing import Broker
from tests.cli.serving import COMMAND
from tests.testing.confluent_calls import send

PARTITION = TopicPartition("t", 0)


class Consumer:
    """It has a number of connections at each poll that brings nothing."""

    def __init__(self, connections: list[int]) -> None:
        self._connections = iter(connections)

    def metrics(self) -> dict[str, dict[str, float]]:
        return {"consumer-metrics": {"connection-count": float(next(self._connections))}}


class Reader:
    """It reads these batches, and notes commits."""

    def __init__(self, batches: list[list[Record]]) -> None:
        self._batches = batches
        self.committed: list[Mapping[TopicPartition, int]] = []

    def batches(self) -> Iterator[list[Record]]:
        yield from self._batches

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.committed.append(offsets)


def test_a_loss_is_told_and_the_reading_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    reader = WatchedReader(Reader([[]] * 20), Consumer([0] * 20), "kafka:9092")
    assert list(reader.batches()) == [[]] * 20
    told = "kafkalite: lost the broker at kafka:9092; waiting for it\n"
    assert capsys.readouterr() == ("", told)


def test_records_and_commits_pass_through() -> None:
    inner = Reader([["a", "b"], ["c"]])
    reader = WatchedReader(inner, Consumer([]), "kafka:9092")
    assert list(reader.batches()) == [["a", "b"], ["c"]]
    reader.commit({PARTITION: 3})
    assert inner.committed == [{PARTITION: 3}]


def test_whoever_follows_is_told_that_the_broker_is_lost() -> None:
    with Broker(topics={"t": 1}) as broker:
        send(broker.bootstrap, "t", b"tea")
        command = (*COMMAND, "consume", "t", "--follow", "--raw", "--bootstrap", broker.bootstrap)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as consumer:
            assert consumer.stdout is not None
            assert consumer.stderr is not None
            try:
                assert consumer.stdout.readline() == "tea\n"
                broker.stop()
                assert consumer.stderr.readline() == (
                    f"kafkalite: lost the broker at {broker.bootstrap}; waiting for it\n"
                )
            finally:
                consumer.kill()
