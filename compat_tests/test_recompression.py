"""Topics that recompress: what stands in the log of a batch in each codec, with the producer's
times and with the broker's, as the real Kafka 4.4.0 has it."""

from __future__ import annotations

import asyncio
import time

import pytest

from kafkalite.ports.clock import RealClock
from kafkalite.ports.network import Address
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.protocol.records.batch import (
    BatchHeader,
    crc_is_valid,
    iter_headers,
    read_header,
    write_header,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Header, Record, build_batch, read_records
from kafkalite.testing.client import Client
from kafkalite.types import Offset, TimestampMs

NAMES = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
"""Values of `compression.type`, and their numbers in a batch."""
LARGE = 100_000
"""Bytes of a batch that is no small matter to recompress."""
NOT_YET = (3, 6)
"""What the real broker answers until it has heard of a new topic."""
OK, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD = 0, 10, 32, 87


class Topic:
    """A new topic of one partition, and a connection to its leader."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    @classmethod
    async def create(cls, bootstrap: str, name: str, **configs: str) -> Topic:
        host, _, port = bootstrap.rpartition(":")
        client = await Client.connect(SocketNetwork(RealClock()), Address(host, int(port)))
        topic = CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        answer = await client.ask(request, 6, CreateTopicsResponse)
        assert answer.topics[0].error_code == OK, answer
        return cls(client, name)

    async def produce(self, batch: bytearray) -> PartitionProduceResponse:
        """Asked again until the broker knows the topic."""
        while True:
            data = PartitionProduceData(index=0, records=memoryview(bytes(batch)))
            request = ProduceRequest(
                acks=1,
                timeout_ms=10_000,
                topic_data=[TopicProduceData(name=self.name, partition_data=[data])],
            )
            answer = await self.client.ask(request, 9, ProduceResponse)
            found = answer.responses[0].partition_responses[0]
            if found.error_code not in NOT_YET:
                return found

    async def stored(self, offset: int) -> tuple[BatchHeader, list[Record]]:
        """The batch that begins there."""
        partition = FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 22)
        request = FetchRequest(
            max_wait_ms=500,
            max_bytes=1 << 22,
            session_epoch=-1,
            topics=[FetchTopic(topic=self.name, partitions=[partition])],
        )
        answer = await self.client.ask(request, 11, FetchResponse)
        records = answer.responses[0].partitions[0].records
        assert isinstance(records, bytes | memoryview)
        for position, header in iter_headers(records):
            if header.base_offset == offset:
                assert crc_is_valid(records, position, header)
                return header, list(read_records(records, position, header))
        raise AssertionError(f"no batch begins at {offset}")


def batch_of(codec: Compression, now: int, value: bytes = b"value" * 20) -> bytearray:
    return build_batch(
        [
            Record(b"key", value, (Header("h", b"x"),), TimestampMs(now + later))
            for later in (0, 5, -3)
        ],
        compression=codec,
    )


def large_value() -> bytes:
    return b"".join(b"%x," % (number**3) for number in range(LARGE // 12))


@pytest.mark.parametrize("time_of", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize("wanted", NAMES)
def test_each_codec_becomes_the_topics(
    bootstrap: str, topic: str, wanted: str, time_of: str
) -> None:
    async def run() -> None:
        made = await Topic.create(
            bootstrap, topic, compression_type=wanted, message_timestamp_type=time_of
        )
        now = time.time_ns() // 1_000_000
        for codec in Compression:
            for value in (b"value" * 20, large_value()):
                told = await made.produce(batch_of(codec, now, value))
                assert told.error_code == OK
                header, records = await made.stored(told.base_offset)
                is_appends = time_of == "LogAppendTime"
                assert header.attributes == NAMES[wanted] | (8 if is_appends else 0)
                assert header.base_timestamp == now
                latest = told.log_append_time_ms if is_appends else now + 5
                assert header.max_timestamp == latest
                times = [latest] * 3 if is_appends else [now, now + 5, now - 3]
                assert [record.timestamp for record in records] == times
                first = told.base_offset
                assert [record.offset for record in records] == [first, first + 1, first + 2]
                assert {(r.key, bytes(r.value or b""), r.headers) for r in records} == {
                    (b"key", value, (Header("h", b"x"),))
                }
        made.client.close()

    asyncio.run(run())


def test_a_new_batch_is_put_in_order(bootstrap: str, topic: str) -> None:
    """Offsets follow on each other, the latest time is right, attributes are what is known."""

    async def run() -> None:
        made = await Topic.create(bootstrap, topic, compression_type="gzip")
        now = TimestampMs(time.time_ns() // 1_000_000)
        record = Record(b"k", b"v", (), now)
        data = build_batch([record, record._replace(offset=Offset(2))])
        header = read_header(data)._replace(
            last_offset_delta=1, attributes=0x100, max_timestamp=TimestampMs(now - 9)
        )
        write_header(data, header)
        told = await made.produce(data)
        assert told.error_code == OK
        stored, records = await made.stored(0)
        assert (stored.attributes, stored.max_timestamp, stored.last_offset_delta) == (1, now, 1)
        assert [each.offset for each in records] == [0, 1]
        made.client.close()

    asyncio.run(run())


def test_what_is_refused(bootstrap: str, topic: str) -> None:
    async def run() -> None:
        made = await Topic.create(
            bootstrap, topic, compression_type="gzip", max_message_bytes="300"
        )
        now = time.time_ns() // 1_000_000
        assert (await made.produce(batch_of(Compression.NONE, now))).error_code == (
            MESSAGE_TOO_LARGE
        )
        assert (await made.produce(batch_of(Compression.LZ4, now))).error_code == OK
        late = build_batch(
            [Record(b"k", b"v", (), TimestampMs(now + 100_000_000))], compression=Compression.LZ4
        )
        refused = await made.produce(late)
        assert refused.error_code == INVALID_TIMESTAMP
        assert [each.batch_index for each in refused.record_errors] == [0]
        broken = batch_of(Compression.NONE, now, b"v")
        broken[61] = 0x7F
        write_header(broken, read_header(broken))
        assert (await made.produce(broken)).error_code == INVALID_RECORD
        made.client.close()

    asyncio.run(run())


def test_what_grows_too_large_is_refused(bootstrap: str, topic: str) -> None:
    async def run() -> None:
        made = await Topic.create(
            bootstrap, topic, compression_type="uncompressed", max_message_bytes="300"
        )
        data = batch_of(Compression.GZIP, time.time_ns() // 1_000_000)
        assert len(data) < 300
        assert (await made.produce(data)).error_code == MESSAGE_TOO_LARGE
        made.client.close()

    asyncio.run(run())
