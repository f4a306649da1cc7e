"""DescribeQuorum: who keeps the metadata, and how far each has it (KIP-595, KIP-836).

Versions: 0 to 2.
- 1 tells when replicas fetched last. 2 their folders, and where voters listen.

The quorum is a single voter, the controller: the store agrees, not the brokers. A commit reaches
every broker that lives before it is answered, so all of them are as far as the controller.

Kafka differs: voters listen on a listener for controllers there; here it is the one that the client
came in by.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import CLUSTER_METADATA
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from kafkalite.server import addresses
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID, BrokerId, TimestampMs

API = Api(
    ApiKey.DESCRIBE_QUORUM,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    min_version=0,
    max_version=2,
)

_WITH_VOTERS = 2
"""The version that tells folders, and where voters listen."""


def handle(ctx: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Answer from the image. All is refused when anything but the one partition is asked for."""
    named = [(t.topic_name, [p.partition_index for p in t.partitions]) for t in request.topics]
    if named != [(CLUSTER_METADATA, [0])]:
        return _unknown(request)
    partition = _quorum(ctx.services.image, ctx.services.clock.now_ms())
    response = DescribeQuorumResponse(
        error_message="",
        topics=[
            DescribeQuorumResponseTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])
        ],
    )
    if ctx.version >= _WITH_VOTERS:
        response.nodes = [
            _voter(ctx, node)
            for node in addresses.nodes(ctx)
            if node.broker_id == partition.leader_id
        ]
    else:  # Older versions cannot carry folders, and may not leave them out silently.
        for replica in (*partition.current_voters, *partition.observers):
            replica.replica_directory_id = ZERO_UUID
    return response


def refuse(request: DescribeQuorumRequest, code: ErrorCode, message: str) -> DescribeQuorumResponse:
    """The code, and no topics."""
    return DescribeQuorumResponse(error_code=code, error_message=message or None)


def _voter(ctx: RequestContext, node: addresses.Node) -> Node:
    name = ctx.connection.session.listener
    return Node(
        node_id=node.broker_id, listeners=[Listener(name=name, host=node.host, port=node.port)]
    )


def _quorum(image: MetadataImage, now: TimestampMs) -> DescribeQuorumResponsePartitionData:
    controller = image.controller_id
    return DescribeQuorumResponsePartitionData(
        partition_index=0,
        error_message="",
        leader_id=controller,
        leader_epoch=image.epoch,
        high_watermark=image.end_offset,
        current_voters=[_replica(image, controller, now)],
        observers=[
            _replica(image, broker.id, now)
            for broker in image.active_brokers()
            if broker.id != controller
        ],
    )


def _replica(image: MetadataImage, id: BrokerId, now: TimestampMs) -> ReplicaState:
    broker = image.brokers.get(id)
    return ReplicaState(
        replica_id=id,
        replica_directory_id=broker.log_dirs[0] if broker and broker.log_dirs else ZERO_UUID,
        log_end_offset=image.end_offset,
        last_fetch_timestamp=now,
        last_caught_up_timestamp=now,
    )


def _unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        error_message="",
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    DescribeQuorumResponsePartitionData(
                        partition_index=partition.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message="This server does not host this topic-partition.",
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
