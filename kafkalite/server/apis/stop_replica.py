"""StopReplica: the controller tells a broker of replicas that it does not keep any more.

Versions: 4, the one of Kafka 3.9. Between brokers: clients are not told of it.

Replicas of topics that are deleted go when ZooKeeper says so, which is after a controller of Kafka
had this answer: so it does not wait. Kafka differs: it deletes the replica before it answers.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.inter_broker_waits import check_controller
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.STOP_REPLICA,
    StopReplicaRequest,
    StopReplicaResponse,
    min_version=4,
    max_version=4,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: StopReplicaRequest) -> StopReplicaResponse:
    """Take note."""
    check_controller(ctx, request.controller_epoch, request.broker_epoch)
    return StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(
                topic_name=topic.topic_name, partition_index=each.partition_index
            )
            for topic in request.topic_states
            for each in topic.partition_states
        ]
    )


def refuse(request: StopReplicaRequest, code: ErrorCode, message: str) -> StopReplicaResponse:
    """The code for the whole request."""
    return StopReplicaResponse(error_code=code)
