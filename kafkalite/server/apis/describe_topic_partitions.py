"""DescribeTopicPartitions: topics in the order of their names, a page at a time (KIP-966).

Versions: 0.

Pages are of at most `response_partition_limit` partitions, of `max.request.partition.size.limit`,
and of one at least; where more are left, the answer has a cursor for the next request. No topics
named: all there are.

A cursor must name one of the topics asked for, and a partition that is not negative, else every
topic gets INVALID_REQUEST; asked for a topic without a name, every topic gets UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.availability import Availability, availability
from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.metadata.topic_lookup import TopicKey, absent
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.operations import TOPIC_OPERATIONS
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID

API = Api(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    min_version=0,
    max_version=0,
)


def handle(
    ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """One page, from the image."""
    services = ctx.services
    topics = services.image.topics
    names = sorted({topic.name for topic in request.topics} or topics)
    _check(request, names)
    start = request.cursor or Cursor(topic_name="", partition_index=0)
    limit = services.config.max_request_partition_size_limit
    left = max(1, min(request.response_partition_limit, limit))
    response = DescribeTopicPartitionsResponse(topics=[], next_cursor=None)
    seen = availability(services.image, ctx.connection.session.listener)
    for name in names:
        if name < start.topic_name:
            continue
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        found = topics.get(name)
        if found is None:
            response.topics.append(_unknown(name))
            continue
        first = start.partition_index if name == start.topic_name else 0
        end = min(first + left, len(found.partitions))
        response.topics.append(_topic(seen, found, first, end))
        left -= max(0, end - first)
        if end < len(found.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
    return response


def refuse(
    request: DescribeTopicPartitionsRequest, code: ErrorCode, message: str
) -> DescribeTopicPartitionsResponse:
    """The same code for every topic."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name)
            for topic in request.topics
        ]
    )


def _check(request: DescribeTopicPartitionsRequest, names: list[str]) -> None:
    cursor = request.cursor
    if cursor is not None and (
        cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names)
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if any(not topic.name for topic in request.topics):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=absent(TopicKey(name)),
        name=name,
        topic_id=ZERO_UUID,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _topic(
    seen: Availability, topic: TopicImage, first: int, end: int
) -> DescribeTopicPartitionsResponseTopic:
    """With the partitions from `first` to `end` (exclusive)."""
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[
            _partition(seen, index, topic.partitions[index]) for index in range(first, end)
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(
    seen: Availability, index: int, image: PartitionImage
) -> DescribeTopicPartitionsResponsePartition:
    """Without a code, whoever leads: so it is on Kafka."""
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=seen.leader(image).id,
        leader_epoch=image.leader_epoch,
        replica_nodes=list(image.replicas),
        isr_nodes=list(image.isr),
        eligible_leader_replicas=list(image.eligible_leader_replicas),
        last_known_elr=list(image.last_known_elr),
        offline_replicas=seen.offline(image),
    )
