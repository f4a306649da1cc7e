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

from typing import NamedTuple

from kafkalite.coordinator.groups.classic.events import (
    FetchedOffset,
    FetchOffsets,
    OffsetsFetched,
    TopicPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
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
from kafkalite.types import ZERO_UUID, Uuid

API = Api(
    ApiKey.OFFSET_FETCH, OffsetFetchRequest, OffsetFetchResponse, min_version=1, max_version=10
)

_FIRST_VERSION_WITH_GROUP_ERROR = 2
_FIRST_VERSION_WITH_MANY = 8
_FIRST_VERSION_WITH_TOPIC_ID = 10
_NO_OFFSET = -1


def handle(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse | Parked:
    """Ask the coordinator of each group. Versions before 8 are answered as one group of later ones,
    written down their way."""
    if ctx.version >= _FIRST_VERSION_WITH_MANY:
        asked = [_Asked.of(ctx, group) for group in request.groups]
    else:
        asked = [_Asked.of(ctx, _as_group(request))]
    questions = [
        Question(
            each.group_id,
            FetchOffsets(None, each.group_id, each.topics, require_stable=request.require_stable),
            OffsetsFetched,
        )
        for each in asked
    ]

    def answer(replies: list[OffsetsFetched | KafkaError]) -> OffsetFetchResponse:
        groups = [_group(ctx, each, reply) for each, reply in zip(asked, replies, strict=True)]
        if ctx.version >= _FIRST_VERSION_WITH_MANY:
            return OffsetFetchResponse(groups=groups)
        return _as_single(groups[0], request, ctx.version)

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


class _Asked(NamedTuple):
    """What is asked of one group."""

    group_id: str
    topics: tuple[TopicPartitions, ...] | None
    unknown: tuple[OffsetFetchRequestTopics, ...]
    """By an id that no topic has."""

    @classmethod
    def of(cls, ctx: RequestContext, group: OffsetFetchRequestGroup) -> _Asked:
        if group.topics is None:
            return cls(group.group_id, None, ())
        if ctx.version < _FIRST_VERSION_WITH_TOPIC_ID:
            topics = tuple(
                TopicPartitions(topic.name, tuple(topic.partition_indexes))
                for topic in group.topics
            )
            return cls(group.group_id, topics, ())
        known, unknown = [], []
        for topic in group.topics:
            found = ctx.services.image.topics_by_id.get(topic.topic_id)
            if found is None:
                unknown.append(topic)
            else:
                known.append(TopicPartitions(found.name, tuple(topic.partition_indexes)))
        return cls(group.group_id, tuple(known), tuple(unknown))


def _as_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = request.topics
    return OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=(
            None
            if topics is None
            else [
                OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
                for topic in topics
            ]
        ),
    )


def _group(
    ctx: RequestContext, asked: _Asked, reply: OffsetsFetched | KafkaError
) -> OffsetFetchResponseGroup:
    if isinstance(reply, KafkaError):
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=reply.code)
    has_ids = ctx.version >= _FIRST_VERSION_WITH_TOPIC_ID
    topics: dict[str, OffsetFetchResponseTopics] = {}
    for fetched in reply.offsets:
        topic = topics.get(fetched.topic)
        if topic is None:
            topic = topics[fetched.topic] = OffsetFetchResponseTopics(
                name="" if has_ids else fetched.topic,
                topic_id=_id_of(ctx.services.image, fetched.topic) if has_ids else ZERO_UUID,
            )
        topic.partitions.append(_partition(fetched))
    listed = [topic for topic in topics.values() if not has_ids or topic.topic_id != ZERO_UUID]
    listed += [_unknown(topic) for topic in asked.unknown]
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=listed)


def _id_of(image: MetadataImage, name: str) -> Uuid:
    """Zero for a topic that is gone."""
    found = image.topics.get(name)
    return ZERO_UUID if found is None else found.id


def _partition(fetched: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=fetched.partition,
        committed_offset=fetched.offset,
        committed_leader_epoch=fetched.leader_epoch,
        metadata=fetched.metadata,
        error_code=fetched.code,
    )


def _unknown(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=_NO_OFFSET,
                metadata="",
                error_code=ErrorCode.UNKNOWN_TOPIC_ID,
            )
            for index in topic.partition_indexes
        ],
    )


def _as_single(
    group: OffsetFetchResponseGroup, request: OffsetFetchRequest, version: int
) -> OffsetFetchResponse:
    code = ErrorCode(group.error_code)
    if code is not ErrorCode.NONE and version < _FIRST_VERSION_WITH_GROUP_ERROR:
        # There the code has no place but at each partition.
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetFetchResponsePartition(
                            partition_index=index,
                            committed_offset=_NO_OFFSET,
                            metadata="",
                            error_code=code,
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics or ()
            ]
        )
    return OffsetFetchResponse(
        error_code=code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )
