"""LeaderAndIsr: the controller tells a broker who leads the partitions that it keeps.

Versions: 7, the one of Kafka 3.9. Between brokers: clients are not told of it.

A replica whose log folder has failed gets KAFKA_STORAGE_ERROR.

It is answered when this broker has read the same in ZooKeeper, and acts by it; while ZooKeeper
cannot be read it acts by the request. Kafka differs: there the request itself is what a broker
acts by always.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.inter_broker_waits import all_folded, check_controller, park_until
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.stores.told_states import ToldState
from kafkalite.stores.znodes import StateNode
from kafkalite.types import BrokerId, ControllerEpoch, LeaderEpoch, Uuid

API = Api(
    ApiKey.LEADER_AND_ISR,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    min_version=7,
    max_version=7,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: LeaderAndIsrRequest) -> Parked:
    """Wait for all of it."""
    check_controller(ctx, request.controller_epoch, request.broker_epoch)
    told = [
        ToldState(
            Uuid(bytes(topic.topic_id)),
            each.partition_index,
            StateNode(
                BrokerId(each.leader),
                LeaderEpoch(each.leader_epoch),
                tuple(map(BrokerId, each.isr)),
                ControllerEpoch(each.controller_epoch),
                each.leader_recovery_state,
            ),
            each.partition_epoch,
        )
        for topic in request.topic_states
        for each in topic.partition_states
    ]

    def answer() -> LeaderAndIsrResponse:
        topics: dict[Uuid, LeaderAndIsrTopicError] = {}
        for each in told:
            id = each.topic_id
            topic = topics.setdefault(id, LeaderAndIsrTopicError(topic_id=id))
            is_lost = ctx.services.replicas.is_lost(id, each.partition)
            code = ErrorCode.KAFKA_STORAGE_ERROR if is_lost else ErrorCode.NONE
            error = LeaderAndIsrPartitionError(partition_index=each.partition, error_code=code)
            topic.partition_errors.append(error)
        return LeaderAndIsrResponse(topics=list(topics.values()))

    return park_until(ctx, all_folded(told), answer, told)


def refuse(request: LeaderAndIsrRequest, code: ErrorCode, message: str) -> LeaderAndIsrResponse:
    """The code for the whole request."""
    return LeaderAndIsrResponse(error_code=code)
