"""ConsumerGroupHeartbeat: a member of a consumer group of the new protocol joins, stays, leaves
(KIP-848), and is told what it has to read; assignors look at no racks, as none of Kafka 4.4 does.

Versions: 0 to 1.
- 1 members draw their ids themselves (KIP-1082), and may subscribe by a regular expression.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatSeen
from kafkalite.coordinator.groups.consumer.state import JOINING_EPOCH
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_group, check_consumer_groups, client_host
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import format_uuid

API = Api(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    min_version=0,
    max_version=1,
)

_FIRST_VERSION_WITH_OWN_IDS = 1


def handle(
    ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Parked:
    """Ask the group's coordinator."""
    check_consumer_groups(ctx)
    topics, owned = request.subscribed_topic_names, request.topic_partitions
    event = ConsumerHeartbeat(
        token=None,
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=None if topics is None else tuple(topics),
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None
        if owned is None
        else {each.topic_id: frozenset(each.partitions) for each in owned},
        client_id=ctx.client_id or "",
        client_host=client_host(ctx),
        new_member_id="" if request.member_id else format_uuid(ctx.services.entropy.uuid()),
        must_bring_id=ctx.version >= _FIRST_VERSION_WITH_OWN_IDS,
    )
    groups = ctx.services.groups

    def answer(seen: ConsumerHeartbeatSeen) -> ConsumerGroupHeartbeatResponse:
        if seen.member_epoch < JOINING_EPOCH:
            groups.left(request.group_id, seen.member_id)
        else:
            groups.heard(ctx.connection, request.group_id, seen.member_id)
        return _response(seen)

    return ask_group(ctx, Question(request.group_id, event, ConsumerHeartbeatSeen), answer)


def refuse(
    request: ConsumerGroupHeartbeatRequest, code: ErrorCode, message: str
) -> ConsumerGroupHeartbeatResponse:
    """With the reason, where there is one to tell."""
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=message or None)


def _response(seen: ConsumerHeartbeatSeen) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if seen.assigned is not None:
        parts = [
            TopicPartitions(topic_id=topic, partitions=list(indexes))
            for topic, indexes in seen.assigned.items()
        ]
        assignment = Assignment(topic_partitions=parts)
    return ConsumerGroupHeartbeatResponse(
        member_id=seen.member_id,
        member_epoch=seen.member_epoch,
        heartbeat_interval_ms=seen.heartbeat_interval_ms,
        assignment=assignment,
    )
