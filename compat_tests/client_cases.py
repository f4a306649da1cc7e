"""What every client must be able to do, written once; each client's folder adapts its library to
`Client`.

No case here uses a group (those are in `group_cases.py`): consumers are assigned their partition,
and all topics have one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Literal, Protocol

import pytest

from compat_tests.sample import BASE_TIMESTAMP, Received, Sample, in_order, samples
from compat_tests.stored import stored_codecs
from kafkalite.protocol.records.compression import Compression

Acks = Literal[0, 1, "all"]
Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
MANY = 10_000
LONG_POLL_MS = 20_000
"""How long a consumer's fetch may wait at the broker: longer than `test_a_waiting_consumer...` has
patience."""


class Client(Protocol):
    """One library, with a fresh connection for each call."""

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Returns when the broker answered; raises on any error."""
        ...

    def delete_topic(self, topic: str) -> None:
        """Returns when the broker answered; raises on any error."""
        ...

    def topics(self) -> set[str]:
        """Names of the topics that the broker has."""
        ...

    def groups(self) -> set[str]:
        """Ids of the groups that there are."""
        ...

    def members_of(self, group: str) -> int:
        """How many members the group has."""
        ...

    def delete_group(self, group: str) -> None:
        """Returns when the broker answered; raises on any error."""
        ...

    def produce(
        self,
        topic: str,
        sent: Sequence[Sample],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
        partition: int = 0,
    ) -> list[int]:
        """Sends all, to one partition; the offsets as acknowledged, in order of `sent` (acks=0:
        anything)."""
        ...

    def read(
        self, topic: str, count: int, *, at_end: Callable[[], None] | None = None
    ) -> list[Received]:
        """`count` records from the beginning; with `at_end` from the end, calling it once the
        position there is known."""
        ...

    def offsets(self, topic: str) -> tuple[int, int]:
        """Earliest and latest offset (ListOffsets -2 and -1)."""
        ...

    def offset_for_time(self, topic: str, timestamp_ms: int) -> int | None:
        """Offset of the first record at or after that time; None when there is none."""
        ...


def await_topic(topics: Callable[[], set[str]], topic: str) -> None:
    """The real Kafka's broker learns of a new topic a moment after its controller has answered;
    kafkalite answers only when the topic is there."""
    if "BOOTSTRAP" not in os.environ:
        assert topic in topics(), f"{topic} was created and is not there"
    while topic not in topics():
        pass


class ClientCases:
    """A client's test class inherits these, and has a fixture `client`."""

    @pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
    def test_every_field_of_10000_records_comes_back(
        self, client: Client, topic: str, codec: Codec, bootstrap: str
    ) -> None:
        client.create_topic(topic)
        sent = samples(MANY)
        assert client.produce(topic, sent, codec=codec) == list(range(MANY))
        # A batch that would not become smaller by it, librdkafka does not compress.
        stored = stored_codecs(bootstrap, topic) - {Compression.NONE}
        assert stored == {Compression[codec.upper()]} - {Compression.NONE}
        in_order(client.read(topic, MANY), sent)

    @pytest.mark.parametrize("acks", [0, 1, "all"])
    def test_acks(self, client: Client, topic: str, acks: Acks) -> None:
        client.create_topic(topic)
        sent = samples(500)
        offsets = client.produce(topic, sent, acks=acks)
        if acks != 0:
            assert offsets == list(range(500))
        in_order(client.read(topic, 500), sent)

    def test_idempotent_producers_share_a_partition(self, client: Client, topic: str) -> None:
        client.create_topic(topic)
        sent = samples(2_000)
        assert client.produce(topic, sent[:1_000], idempotent=True) == list(range(1_000))
        assert client.produce(topic, sent[1_000:], idempotent=True) == list(range(1_000, 2_000))
        in_order(client.read(topic, 2_000), sent)

    def test_producing_creates_the_topic(self, client: Client, topic: str) -> None:
        sent = samples(10)
        assert client.produce(topic, sent) == list(range(10))
        assert topic in client.topics()
        in_order(client.read(topic, 10), sent)

    def test_a_topic_deleted_and_created_again_is_empty(self, client: Client, topic: str) -> None:
        client.create_topic(topic)
        client.produce(topic, samples(20))
        client.delete_topic(topic)
        while topic in client.topics():  # the real Kafka answers a little before brokers know.
            pass
        client.create_topic(topic)
        assert client.offsets(topic) == (0, 0)
        sent = samples(25)[20:]
        assert client.produce(topic, sent) == list(range(5))
        in_order(client.read(topic, 5), sent)

    def test_offsets_by_position_and_by_time(self, client: Client, topic: str) -> None:
        client.create_topic(topic)
        assert client.offsets(topic) == (0, 0)
        times = [BASE_TIMESTAMP + 1_000 * i for i in range(100)]
        client.produce(topic, [Sample(b"k", b"v", (), time) for time in times])
        assert client.offsets(topic) == (0, 100)
        assert client.offset_for_time(topic, BASE_TIMESTAMP - 1) == 0
        assert client.offset_for_time(topic, times[40]) == 40
        assert client.offset_for_time(topic, times[40] + 1) == 41
        assert client.offset_for_time(topic, times[99]) == 99
        assert client.offset_for_time(topic, times[99] + 1) is None

    def test_a_waiting_consumer_gets_the_next_record(self, client: Client, topic: str) -> None:
        client.create_topic(topic)
        client.produce(topic, samples(3))
        waiting = Event()
        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(client.read, topic, 1, at_end=waiting.set)
            assert waiting.wait(30)
            next_one = Sample(b"next", b"one")
            client.produce(topic, [next_one])
            assert reader.result(10) == [Received(3, next_one)]
