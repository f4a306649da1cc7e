"""ConsumerGroupDescribe: members and assignments of consumer groups of the new protocol (KIP-848).

Versions: 0 to 1.
- 1 the type of each member: all are of the new protocol here.

Groups are told by the partition that keeps them, as Kafka does; ids that are none come first.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.coordinator.groups.consumer.events import (
    ConsumerGroupsDescribed,
    DescribeConsumerGroups,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_groups, check_consumer_groups
from kafkalite.server.operations import GROUP_OPERATIONS, NOT_ASKED
from kafkalite.server.purgatory import Parked
from kafkalite.server.rebalance_reasons import LastRebalance, asks_for_reasons, tell_reason
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    min_version=0,
    max_version=1,
)

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


def handle(
    ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse | Parked:
    """Ask the coordinator of each group."""
    check_consumer_groups(ctx)
    wrong = [_refused("", ErrorCode.INVALID_GROUP_ID) for each in request.group_ids if not each]
    group_ids = sorted(filter(None, request.group_ids), key=ctx.services.groups.partition_of)
    asks_why = asks_for_reasons(request)
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED
    questions = [
        Question(group_id, DescribeConsumerGroups(None, (group_id,)), ConsumerGroupsDescribed)
        for group_id in group_ids
    ]

    def answer(
        replies: list[ConsumerGroupsDescribed | KafkaError],
    ) -> ConsumerGroupDescribeResponse:
        groups = [
            _refused(group_id, reply.code)
            if isinstance(reply, KafkaError)
            else _described(reply.groups[0], operations, asks_why=asks_why)
            for group_id, reply in zip(group_ids, replies, strict=True)
        ]
        return ConsumerGroupDescribeResponse(groups=wrong + groups)

    return ask_groups(ctx, questions, answer)


def refuse(
    request: ConsumerGroupDescribeRequest, code: ErrorCode, message: str
) -> ConsumerGroupDescribeResponse:
    """The same code for every group."""
    return ConsumerGroupDescribeResponse(groups=[_refused(id, code) for id in request.group_ids])


def _refused(group_id: str, code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(error_code=code, group_id=group_id)


def _described(group: DescribedConsumerGroup, operations: int, *, asks_why: bool) -> DescribedGroup:
    told = _without_reason(group, operations)
    if asks_why and group.last_rebalance:
        tell_reason(told, LastRebalance(group.last_rebalance, group.last_rebalance_ms))
    return told


def _without_reason(group: DescribedConsumerGroup, operations: int) -> DescribedGroup:
    return DescribedGroup(
        error_code=group.code,
        error_message=group.message,
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor,
        members=[_member(member) for member in group.members],
        authorized_operations=operations if group.code is ErrorCode.NONE else NOT_ASKED,
    )


def _member(member: DescribedConsumer) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(member.target),
        member_type=_CLASSIC_MEMBER if member.is_classic else _CONSUMER_MEMBER,
    )


def _assignment(parts: Iterable[DescribedPartitions]) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(
                topic_id=part.topic_id, topic_name=part.topic, partitions=list(part.partitions)
            )
            for part in parts
        ]
    )
