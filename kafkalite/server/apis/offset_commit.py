"""OffsetCommit: a group keeps how far it has come.

Versions: 2 to 10.
- 2 to 4 a retention time of its own. 6 the leader epoch of what was read last (KIP-320).
- 7 static members (KIP-345). 8 flexible. 9 the new groups' errors (KIP-848). 10 topic ids.

A topic or partition that does not exist is refused at its place, whatever the group says of the
others; what is refused stands first in the answer.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    OffsetsCommitted,
    OffsetToCommit,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_lookup import TopicKey, find_topic
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_one
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID, LeaderEpoch, Offset, Uuid

API = Api(
    ApiKey.OFFSET_COMMIT, OffsetCommitRequest, OffsetCommitResponse, min_version=2, max_version=10
)

_FIRST_VERSION_OF_NEW_GROUPS = 9
_FIRST_VERSION_WITH_TOPIC_ID = 10


class _Answer:
    """The answer as it grows: topics in the order in which they first get a code."""

    def __init__(self, version: int) -> None:
        self.response = OffsetCommitResponse()
        self._has_ids = version >= _FIRST_VERSION_WITH_TOPIC_ID
        self._topics: dict[str | Uuid, OffsetCommitResponseTopic] = {}

    def add(self, name: str, topic_id: Uuid, partition: int, code: ErrorCode) -> None:
        key = topic_id if self._has_ids else name
        topic = self._topics.get(key)
        if topic is None:
            topic = OffsetCommitResponseTopic(name="" if self._has_ids else name)
            topic.topic_id = topic_id if self._has_ids else ZERO_UUID
            self._topics[key] = topic
            self.response.topics.append(topic)
        topic.partitions.append(
            OffsetCommitResponsePartition(partition_index=partition, error_code=code)
        )


def handle(ctx: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse | Parked:
    """Ask the group's coordinator to keep what there is to be kept."""
    growing = _Answer(ctx.version)
    offsets = [offset for topic in request.topics for offset in _known(ctx, topic, growing)]
    if not offsets and request.topics:
        return growing.response
    event = CommitOffsets(
        token=None,
        group_id=request.group_id,
        generation=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        offsets=tuple(offsets),
        retention_ms=request.retention_time_ms,
        knows_consumer_groups=ctx.version >= _FIRST_VERSION_OF_NEW_GROUPS,
    )
    question = Question(request.group_id, event, OffsetsCommitted)

    def answer(reply: OffsetsCommitted | KafkaError) -> OffsetCommitResponse:
        for at, offset in enumerate(offsets):
            code = reply.code if isinstance(reply, KafkaError) else reply.offsets[at].code
            growing.add(offset.topic, offset.topic_id, offset.partition, code)
        return growing.response

    return ask_one(ctx, question, answer)


def refuse(request: OffsetCommitRequest, code: ErrorCode, message: str) -> OffsetCommitResponse:
    """The same code for every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _known(
    ctx: RequestContext, topic: OffsetCommitRequestTopic, growing: _Answer
) -> list[OffsetToCommit]:
    """Those of partitions that exist; the others are refused in `growing`."""
    found = find_topic(ctx.services.image, TopicKey(topic.name, topic.topic_id))
    if found is None:
        code = (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if topic.topic_id == ZERO_UUID
            else ErrorCode.UNKNOWN_TOPIC_ID
        )
        for asked in topic.partitions:
            growing.add(topic.name, topic.topic_id, asked.partition_index, code)
        return []
    known = []
    for asked in topic.partitions:
        index = asked.partition_index
        if not 0 <= index < len(found.partitions):
            growing.add(found.name, found.id, index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            continue
        known.append(
            OffsetToCommit(
                found.name,
                index,
                Offset(asked.committed_offset),
                LeaderEpoch(asked.committed_leader_epoch),
                asked.committed_metadata,
                found.id,
            )
        )
    return known
