"""Requests that stay when their handler has returned, and the buffer that they came in is used
again."""

from __future__ import annotations

from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)


def with_own_records(request: ProduceRequest) -> ProduceRequest:
    """A copy, the bytes of its records too."""
    return ProduceRequest(
        transactional_id=request.transactional_id,
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=[
            TopicProduceData(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_data=[_kept(data) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ],
    )


def _kept(data: PartitionProduceData) -> PartitionProduceData:
    records = data.records
    if isinstance(records, memoryview):
        records = memoryview(bytearray(records))
    return PartitionProduceData(index=data.index, records=records)
