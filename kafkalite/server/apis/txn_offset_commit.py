"""TxnOffsetCommit: offsets of a group that count once the transaction commits.

Versions: 0 to 6.
- 2 leader epochs. 3 flexible; the member that has consumed (KIP-447). 4 knows
  TRANSACTION_ABORTABLE. 5 adds the group to the transaction itself (KIP-890). 6 topic ids.

A partition that does not exist is refused at its place, and stands first in the answer.

Until the transaction ends they are seen by nobody, and who asks for stable offsets is told
UNSTABLE_OFFSET_COMMIT.
"""

from __future__ import annotations

from functools import partial

from kafkalite.coordinator.groups.offset_events import OffsetsCommitted, OffsetToCommit
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_lookup import TopicKey, find_topic
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for
from kafkalite.server.transactional_offsets import commit_in_transaction
from kafkalite.types import ZERO_UUID, LeaderEpoch, Offset, Uuid

API = Api(
    ApiKey.TXN_OFFSET_COMMIT,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    min_version=0,
    max_version=6,
)


def handle(
    ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Parked:
    """Ask the transaction's coordinator whether the group belongs to it, and then the group's."""
    codes: dict[tuple[int, int], ErrorCode] = {}
    offsets: dict[tuple[int, int], OffsetToCommit] = {}
    for at, topic in enumerate(request.topics):
        _sort_out(ctx, topic, at, codes, offsets)

    def answer(reply: OffsetsCommitted | KafkaError) -> TxnOffsetCommitResponse:
        for at, key in enumerate(offsets):
            codes[key] = reply.code if isinstance(reply, KafkaError) else reply.offsets[at].code
        return _response(request, codes)

    if not offsets:
        return answer(OffsetsCommitted(()))
    if not request.group_id:
        return answer(KafkaError(ErrorCode.INVALID_GROUP_ID))
    submit = partial(commit_in_transaction, ctx, request, tuple(offsets.values()))
    return ask_for(ctx, submit, OffsetsCommitted, answer)


def _response(
    request: TxnOffsetCommitRequest, codes: dict[tuple[int, int], ErrorCode]
) -> TxnOffsetCommitResponse:
    """In the order of the codes: what was refused before the group was asked stands first."""
    topics: dict[tuple[str, Uuid], TxnOffsetCommitResponseTopic] = {}
    for (at, place), code in codes.items():
        asked = request.topics[at]
        topic = topics.setdefault(
            (asked.name, asked.topic_id),
            TxnOffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id),
        )
        topic.partitions.append(
            TxnOffsetCommitResponsePartition(
                partition_index=asked.partitions[place].partition_index, error_code=code
            )
        )
    return TxnOffsetCommitResponse(topics=list(topics.values()))


def refuse(
    request: TxnOffsetCommitRequest, code: ErrorCode, message: str
) -> TxnOffsetCommitResponse:
    """The same code for every partition."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _sort_out(
    ctx: RequestContext,
    topic: TxnOffsetCommitRequestTopic,
    at: int,
    codes: dict[tuple[int, int], ErrorCode],
    offsets: dict[tuple[int, int], OffsetToCommit],
) -> None:
    """Codes of partitions that do not exist, and offsets of those that do."""
    found = find_topic(ctx.services.image, TopicKey(topic.name, topic.topic_id))
    for place, asked in enumerate(topic.partitions):
        index = asked.partition_index
        if found is None:
            codes[at, place] = (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if topic.topic_id == ZERO_UUID
                else ErrorCode.UNKNOWN_TOPIC_ID
            )
        elif not 0 <= index < len(found.partitions):
            codes[at, place] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            offsets[at, place] = OffsetToCommit(
                found.name,
                index,
                Offset(asked.committed_offset),
                LeaderEpoch(asked.committed_leader_epoch),
                asked.committed_metadata,
                found.id,
            )
