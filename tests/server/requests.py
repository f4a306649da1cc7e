"""Short ways to write the requests that tests send, and to read what came back."""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.testing.clock import START_MS
from kafkalite.types import (
    NO_PRODUCER_ID,
    ZERO_UUID,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    Uuid,
)

MIB = 1 << 20


def batch(
    *contents: bytes,
    timestamp: int = START_MS,
    producer_id: int = NO_PRODUCER_ID,
    sequence: int = -1,
    compression: Compression = Compression.NONE,
    is_transactional: bool = False,
    key: bytes | None = None,
) -> bytearray:
    """One batch of records with these values."""
    return build_batch(
        [
            Record(offset=Offset(n), timestamp=TimestampMs(timestamp + n), key=key, value=value)
            for n, value in enumerate(contents)
        ],
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(0 if producer_id >= 0 else -1),
        base_sequence=sequence,
        compression=compression,
        is_transactional=is_transactional,
    )


def name_and_id(topic: str | Uuid) -> tuple[str, Uuid]:
    """What stands in the two fields that name a topic."""
    return (topic, ZERO_UUID) if isinstance(topic, str) else ("", topic)


def produce(
    topic: str | Uuid,
    records: Mapping[int, bytes | bytearray | None],
    *,
    acks: int = -1,
    timeout_ms: int = 30_000,
) -> ProduceRequest:
    """`records` by partition."""
    name, topic_id = name_and_id(topic)
    data = [PartitionProduceData(index=index, records=each) for index, each in records.items()]
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=name, topic_id=topic_id, partition_data=data)],
    )


def produced(response: ProduceResponse) -> list[PartitionProduceResponse]:
    """The answers of all partitions."""
    return [answer for topic in response.responses for answer in topic.partition_responses]


def fetch(
    topic: str | Uuid,
    offsets: Mapping[int, int],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 50 * MIB,
    partition_max_bytes: int = MIB,
    leader_epoch: int = -1,
) -> FetchRequest:
    """From these offsets, by partition."""
    name, topic_id = name_and_id(topic)
    partitions = [
        FetchPartition(
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            current_leader_epoch=leader_epoch,
        )
        for index, offset in offsets.items()
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic=name, topic_id=topic_id, partitions=partitions)],
    )


def fetched(response: FetchResponse) -> list[PartitionData]:
    """The answers of all partitions."""
    return [data for topic in response.responses for data in topic.partitions]


def raw(data: PartitionData) -> bytes:
    """The record bytes of one partition."""
    assert isinstance(data.records, memoryview), data
    return bytes(data.records)


def values(data: PartitionData) -> list[bytes]:
    """Of all records in the answer of one partition that went well."""
    assert data.error_code == ErrorCode.NONE, data
    records = raw(data)
    return [
        bytes(record.value or b"")
        for position, header in iter_headers(records)
        for record in read_records(records, position, header)
    ]


def list_offsets(topic: str, *asked: tuple[int, int], leader_epoch: int = -1) -> ListOffsetsRequest:
    """`asked`: partition and timestamp."""
    partitions = [
        ListOffsetsPartition(
            partition_index=index, timestamp=timestamp, current_leader_epoch=leader_epoch
        )
        for index, timestamp in asked
    ]
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=partitions)]
    )
