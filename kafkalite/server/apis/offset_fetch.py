"""OffsetFetch: how far groups have come.

Versions: 1 to 10.
- 2 null topics: all that the group has committed; an error for the whole answer.
- 5 leader epochs (KIP-320). 6 flexible. 7 `require_stable`: what an open transaction may replace is
  refused with UNSTABLE_OFFSET_COMMIT (KIP-447). 8 several groups. 9 a member's id and epoch, for
  groups of the new protocol (KIP-848). 10 topic ids.

A partition for which nothing is committed has offset -1 and no error, even if it does not exist;
with topic ids an unknown id is an error, and deleted topics are left out of "all".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kafkalite.coordinator.groups.offset_events import FetchedOffset, OffsetsFetched
from kafkalite.coordinator.groups.offset_questions import AskedTopic, OffsetQuestion
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_groups
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID

API = Api(
    ApiKey.OFFSET_FETCH, OffsetFetchRequest, OffsetFetchResponse, min_version=1, max_version=10
)

_FIRST_VERSION_WITH_GROUP_ERROR = 2
_FIRST_VERSION_WITH_MANY = 8
_FIRST_VERSION_WITH_TOPIC_ID = 10

P = TypeVar("P", OffsetFetchResponsePartition, OffsetFetchResponsePartitions)


def handle(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse | Parked:
    """Ask the coordinator of each group. Versions before 8 ask one group, in their own way."""
    has_many = ctx.version >= _FIRST_VERSION_WITH_MANY
    if has_many:
        asked = [
            _question(ctx, each.group_id, each.topics).as_member(each.member_id, each.member_epoch)
            for each in request.groups
        ]
    else:
        asked = [_question(ctx, request.group_id, request.topics)]
    stable = request.require_stable
    questions = [
        Question(each.group_id, each.event(require_stable=stable), OffsetsFetched) for each in asked
    ]

    def answer(replies: list[OffsetsFetched | KafkaError]) -> OffsetFetchResponse:
        if not has_many:
            return _single(ctx, asked[0], replies[0])
        answers = zip(asked, replies, strict=True)
        return OffsetFetchResponse(groups=[_group(ctx, each, reply) for each, reply in answers])

    return ask_groups(ctx, questions, answer)


def refuse(request: OffsetFetchRequest, code: ErrorCode, message: str) -> OffsetFetchResponse:
    """The same code for every group."""
    if request.groups:
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
                for group in request.groups
            ]
        )
    return OffsetFetchResponse(error_code=code)


def _question(
    ctx: RequestContext,
    group_id: str,
    topics: Sequence[OffsetFetchRequestTopic | OffsetFetchRequestTopics] | None,
) -> OffsetQuestion:
    by_id = ctx.version >= _FIRST_VERSION_WITH_TOPIC_ID
    asked: list[AskedTopic] | None = None
    if topics is not None:
        keys = [TopicKey(topic.name, getattr(topic, "topic_id", ZERO_UUID)) for topic in topics]
        indexes = [tuple(topic.partition_indexes) for topic in topics]
        asked = list(map(AskedTopic, keys, indexes))
    return OffsetQuestion.of(ctx.services.image, group_id, asked, by_id=by_id)


def _group(
    ctx: RequestContext, asked: OffsetQuestion, reply: OffsetsFetched | KafkaError
) -> OffsetFetchResponseGroup:
    if isinstance(reply, KafkaError):
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=reply.code)
    return OffsetFetchResponseGroup(
        group_id=asked.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=_partitions(OffsetFetchResponsePartitions, topic.offsets),
            )
            for topic in asked.told(ctx.services.image, reply.offsets)
        ],
    )


def _single(
    ctx: RequestContext, asked: OffsetQuestion, reply: OffsetsFetched | KafkaError
) -> OffsetFetchResponse:
    if not isinstance(reply, KafkaError):
        told = asked.told(ctx.services.image, reply.offsets)
    elif ctx.version >= _FIRST_VERSION_WITH_GROUP_ERROR:
        return OffsetFetchResponse(error_code=reply.code)
    else:
        told = asked.refused(reply.code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=_partitions(OffsetFetchResponsePartition, topic.offsets),
            )
            for topic in told
        ],
    )


def _partitions(kind: type[P], offsets: Iterable[FetchedOffset]) -> list[P]:
    return [
        kind(
            partition_index=each.partition,
            committed_offset=each.offset,
            committed_leader_epoch=each.leader_epoch,
            metadata=each.metadata,
            error_code=each.code,
        )
        for each in offsets
    ]
