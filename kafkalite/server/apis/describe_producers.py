"""DescribeProducers: what partitions remember of producers, and which transactions are open there.

Versions: 0 (KIP-664). With DescribeTransactions it shows transactions that hang: open in a
partition, and not known to their coordinator.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_names import validate_topic_name
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_PRODUCERS,
    DescribeProducersRequest,
    DescribeProducersResponse,
    min_version=0,
    max_version=0,
)

_NOT_OPEN = -1
_NOT_HOSTED = "This server does not host this topic-partition."


def handle(ctx: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """Each partition on its own; only its leader tells."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_one(ctx, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: DescribeProducersRequest, code: ErrorCode, message: str
) -> DescribeProducersResponse:
    """The same code for every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _one(ctx: RequestContext, topic: str, index: int) -> PartitionResponse:
    try:
        validate_topic_name(topic)
        if topic not in ctx.services.image.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NOT_HOSTED)
        partition = ctx.services.replicas.find(topic, index)
        partition.leading  # noqa: B018  # Refuses where another broker leads.
    except KafkaError as error:
        return PartitionResponse(
            partition_index=index,
            error_code=error.code,
            error_message=error.message or None,
        )
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=state.producer_id,
                producer_epoch=state.epoch,
                last_sequence=state.last_sequence,
                last_timestamp=state.last_timestamp,
                coordinator_epoch=state.coordinator_epoch,
                current_txn_start_offset=(
                    _NOT_OPEN
                    if state.transaction_first_offset is None
                    else state.transaction_first_offset
                ),
            )
            for state in partition.log.producers.active()
        ],
    )
