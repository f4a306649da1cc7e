"""StopReplica: the controller tells a broker of replicas that it does not keep any more.

Versions: 4, the one of Kafka 3.9. Between brokers: clients are not told of it.

What goes, goes when ZooKeeper says so. Of a topic that is deleted it says that before any
controller asks, and the answer waits for it: then nothing is left here.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.inter_broker_requests import DURING_DELETE
from kafkalite.server.inter_broker_waits import check_controller, park_until
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.STOP_REPLICA,
    StopReplicaRequest,
    StopReplicaResponse,
    min_version=4,
    max_version=4,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: StopReplicaRequest) -> Parked:
    """Wait until topics that are deleted are gone; of other replicas take note."""
    check_controller(ctx, request.controller_epoch, request.broker_epoch)
    gone = [
        topic.topic_name
        for topic in request.topic_states
        if any(each.leader_epoch == DURING_DELETE for each in topic.partition_states)
    ]
    answer = StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(
                topic_name=topic.topic_name, partition_index=each.partition_index
            )
            for topic in request.topic_states
            for each in topic.partition_states
        ]
    )

    def is_there(image: MetadataImage) -> bool:
        return not any(name in image.topics for name in gone)

    return park_until(ctx, is_there, lambda: answer)


def refuse(request: StopReplicaRequest, code: ErrorCode, message: str) -> StopReplicaResponse:
    """The code for the whole request."""
    return StopReplicaResponse(error_code=code)
