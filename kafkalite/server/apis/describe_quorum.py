"""DescribeQuorum: who keeps the cluster's metadata, and how far they are.

Versions: 0 to 2.
- 1 when each was last heard of. 2 messages, directory ids, and where the voters are.

The metadata has one keeper: the controller is the only voter, and leads. Other brokers observe, and
are never behind, since a commit reaches every live broker before it is answered.

Kafka differs: its controllers have listeners of their own, and it tells where those are. Here the
controller is where its broker is.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import BrokerImage
from kafkalite.metadata.topic_names import CLUSTER_METADATA
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from kafkalite.server.addresses import nodes
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID

API = Api(
    ApiKey.DESCRIBE_QUORUM,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    min_version=0,
    max_version=2,
)

_FIRST_VERSION_WITH_DIRECTORIES = 2
"""And with where the voters are."""


def handle(ctx: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Answer from the image. Whoever asks for anything but that one partition is told of none."""
    asked = [
        (topic.topic_name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    if len(request.topics) != 1 or asked != [(CLUSTER_METADATA, 0)]:
        return DescribeQuorumResponse(
            error_message="", topics=[_unknown(topic) for topic in request.topics]
        )
    topic = DescribeQuorumResponseTopicData(
        topic_name=CLUSTER_METADATA, partitions=[_described(ctx)]
    )
    return DescribeQuorumResponse(
        error_message="",
        topics=[topic],
        nodes=_voters(ctx) if ctx.version >= _FIRST_VERSION_WITH_DIRECTORIES else [],
    )


def refuse(request: DescribeQuorumRequest, code: ErrorCode, message: str) -> DescribeQuorumResponse:
    """The code, and no topics."""
    return DescribeQuorumResponse(error_code=code, error_message=message)


def _unknown(topic: DescribeQuorumRequestTopicData) -> DescribeQuorumResponseTopicData:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponseTopicData(
        topic_name=topic.topic_name,
        partitions=[
            DescribeQuorumResponsePartitionData(
                partition_index=partition.partition_index,
                error_code=code,
                error_message="This server does not host this topic-partition.",
            )
            for partition in topic.partitions
        ],
    )


def _described(ctx: RequestContext) -> DescribeQuorumResponsePartitionData:
    image = ctx.services.image
    voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []
    for broker in image.active_brokers():
        role = voters if broker.id == image.controller_id else observers
        role.append(_state(ctx, broker))
    return DescribeQuorumResponsePartitionData(
        error_message="",
        leader_id=image.controller_id,
        leader_epoch=image.epoch,
        high_watermark=image.end_offset,
        current_voters=voters,
        observers=observers,
    )


def _voters(ctx: RequestContext) -> list[Node]:
    listener = ctx.connection.session.listener
    return [
        Node(
            node_id=node.broker_id,
            listeners=[Listener(name=listener, host=node.host, port=node.port)],
        )
        for node in nodes(ctx)
        if node.broker_id == ctx.services.image.controller_id
    ]


def _state(ctx: RequestContext, broker: BrokerImage) -> ReplicaState:
    now_ms = ctx.services.clock.now_ms()
    tells_directory = ctx.version >= _FIRST_VERSION_WITH_DIRECTORIES and broker.log_dirs
    return ReplicaState(
        replica_id=broker.id,
        replica_directory_id=broker.log_dirs[0] if tells_directory else ZERO_UUID,
        log_end_offset=ctx.services.image.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
