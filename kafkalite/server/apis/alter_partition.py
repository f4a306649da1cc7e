"""AlterPartition: a leader proposes who is in sync (KIP-497).

Versions: 2 to 3. Between brokers: clients are not told of it.
- 3 the members with their broker epochs (KIP-903): an incarnation that is gone is refused.

Only the controller answers; another broker says NOT_CONTROLLER.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.replica_events import AlterPartitions, PartitionsAltered, ProposedIsr
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer, refuse_elsewhere
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, LeaderEpoch, Uuid

API = Api(
    ApiKey.ALTER_PARTITION,
    AlterPartitionRequest,
    AlterPartitionResponse,
    min_version=2,
    max_version=3,
    between_brokers=True,
)

_FIRST_VERSION_WITH_EPOCHS = 3


def handle(ctx: RequestContext, request: AlterPartitionRequest) -> Parked:
    """Ask the controller, and wait for the commit."""
    refuse_elsewhere(ctx)
    parked, on_reply = parked_answer(ctx.services, answer=_answer, refuse=partial(refuse, request))
    ctx.services.controller.submit(
        AlterPartitions(
            None,
            BrokerId(request.broker_id),
            BrokerEpoch(request.broker_epoch),
            tuple(
                _proposed(ctx.version, topic.topic_id, each)
                for topic in request.topics
                for each in topic.partitions
            ),
        ),
        on_reply,
    )
    return parked


def refuse(request: AlterPartitionRequest, code: ErrorCode, message: str) -> AlterPartitionResponse:
    """The code for the whole request."""
    return AlterPartitionResponse(error_code=code)


def _proposed(
    version: int, topic_id: Uuid, asked: AlterPartitionRequestPartitionData
) -> ProposedIsr:
    if version < _FIRST_VERSION_WITH_EPOCHS:
        members = tuple(IsrMember(BrokerId(id)) for id in asked.new_isr)
    else:
        members = tuple(
            IsrMember(BrokerId(each.broker_id), BrokerEpoch(each.broker_epoch))
            for each in asked.new_isr_with_epochs
        )
    return ProposedIsr(
        topic_id,
        asked.partition_index,
        LeaderEpoch(asked.leader_epoch),
        asked.partition_epoch,
        members,
        asked.leader_recovery_state,
    )


def _answer(altered: PartitionsAltered) -> AlterPartitionResponse:
    by_topic: dict[Uuid, list[AlterPartitionResponsePartitionData]] = {}
    for each in altered.partitions:
        by_topic.setdefault(each.topic_id, []).append(
            AlterPartitionResponsePartitionData(
                partition_index=each.partition,
                error_code=each.code,
                leader_id=each.leader,
                leader_epoch=each.leader_epoch,
                isr=list(each.isr),
                leader_recovery_state=each.leader_recovery_state,
                partition_epoch=each.partition_epoch,
            )
        )
    return AlterPartitionResponse(
        topics=[
            AlterPartitionResponseTopicData(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in by_topic.items()
        ]
    )
