"""OffsetForLeaderEpoch: where the log of an epoch ends, for clients whose leader has changed
(KIP-320, KIP-101).

Versions: 2 to 4.
- 2 fences by leader epoch. 3 replica id. 4 flexible.

A topic that stands twice in a request is answered once for each time it stands there. The answer
names the greatest epoch that is not above the one asked, and where the next one begins; of an epoch
newer than all that are known here, -1 and -1.
"""

from __future__ import annotations

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, code_for
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext
from kafkalite.types import NO_LEADER_EPOCH, LeaderEpoch

API = Api(
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    min_version=2,
    max_version=4,
)


def handle(
    ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Answer each partition on its own."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_one(ctx, topic.topic, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: OffsetForLeaderEpochRequest, code: ErrorCode, message: str
) -> OffsetForLeaderEpochResponse:
    """The same code for every partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=asked.partition, error_code=code)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _one(ctx: RequestContext, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    index = asked.partition
    try:
        partition = ctx.services.replicas.find(topic, index)
        partition.check_epoch(LeaderEpoch(asked.current_leader_epoch))
        log = partition.log
        end = log.epochs.end_of(LeaderEpoch(asked.leader_epoch), log.end_offset)
    except (KafkaError, CorruptRecordError, OSError) as error:
        return EpochEndOffset(partition=index, error_code=code_for(error))
    if asked.leader_epoch < NO_LEADER_EPOCH and log.epochs.starts:
        first = log.epochs.starts[0].start_offset
        return EpochEndOffset(partition=index, leader_epoch=asked.leader_epoch, end_offset=first)
    if end is None:
        return EpochEndOffset(partition=index)
    return EpochEndOffset(partition=index, leader_epoch=end.epoch, end_offset=end.end_offset)
