"""ListPartitionReassignments: partitions whose replicas are moving (KIP-455).

Versions: 0.

There are none: AlterPartitionReassignments is not served yet. A topic or partition that does not
exist is passed over, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import TopicImage
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    min_version=0,
    max_version=0,
)


def handle(
    ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Look them up in the metadata: a folder that a Kafka left may have some."""
    topics = ctx.services.image.topics
    if request.topics is None:
        moving = [_moving(topic, range(len(topic.partitions))) for topic in topics.values()]
    else:
        moving = [
            _moving(topics[asked.name], asked.partition_indexes)
            for asked in request.topics
            if asked.name in topics
        ]
    return ListPartitionReassignmentsResponse(
        error_message=None, topics=[topic for topic in moving if topic.partitions]
    )


def refuse(
    request: ListPartitionReassignmentsRequest, code: ErrorCode, message: str
) -> ListPartitionReassignmentsResponse:
    """The code, and no topics."""
    return ListPartitionReassignmentsResponse(error_code=code, error_message=message or None)


def _moving(topic: TopicImage, indexes: Iterable[int]) -> OngoingTopicReassignment:
    partitions = topic.partitions
    found = [
        (index, partitions[index])
        for index in indexes
        if 0 <= index < len(partitions)
        and (partitions[index].adding_replicas or partitions[index].removing_replicas)
    ]
    return OngoingTopicReassignment(
        name=topic.name,
        partitions=[
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding_replicas),
                removing_replicas=list(partition.removing_replicas),
            )
            for index, partition in found
        ],
    )
