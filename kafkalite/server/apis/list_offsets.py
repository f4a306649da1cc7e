"""ListOffsets: the offset of a time, or of one of the special places of a partition.

Versions: 1 to 11.
- 2 isolation level. 4 fences by leader epoch. 6 flexible. 7 the record of the greatest timestamp.
- 8 the first local offset, 9 the last tiered one, 11 the first pending upload (KIP-405,
  KIP-1005): nothing is tiered here, so the local log is all there is.
- 10 a timeout for remote reads, which are not made.

A special timestamp that the request's version does not know yet gets UNSUPPORTED_VERSION, as in
Kafka.

A topic that stands twice in a request is answered once; an isolation level that there is not gives
UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, code_for
from kafkalite.log.segment import TimestampOffset
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.apis.api import Api
from kafkalite.server.partition import Partition
from kafkalite.server.request import RequestContext
from kafkalite.types import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs

API = Api(
    ApiKey.LIST_OFFSETS, ListOffsetsRequest, ListOffsetsResponse, min_version=1, max_version=11
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_FIRST_VERSION_WITH_EPOCH = 4
_FIRST_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


def handle(ctx: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Answer each partition on its own; one that is asked twice is refused, once."""
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    topics: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        answers = topics.setdefault(topic.name, {})
        for asked in topic.partitions:
            index = asked.partition_index
            if index in answers:
                answers[index] = _nothing(index, ErrorCode.INVALID_REQUEST)
            else:
                answers[index] = _one(ctx, topic.name, asked)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(answers.values()))
            for name, answers in topics.items()
        ]
    )


def refuse(request: ListOffsetsRequest, code: ErrorCode, message: str) -> ListOffsetsResponse:
    """The same code for every partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[_nothing(asked.partition_index, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _one(
    ctx: RequestContext, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0 and ctx.version < _FIRST_VERSION.get(asked.timestamp, 1 << 15):
        return _nothing(asked.partition_index, ErrorCode.UNSUPPORTED_VERSION)
    try:
        partition = ctx.services.replicas.find(topic, asked.partition_index)
        leader = partition.leading
        error = leader.check_epoch(LeaderEpoch(asked.current_leader_epoch))
        if error:
            raise KafkaError(error)
        found = _find(partition, leader, asked.timestamp)
    except (KafkaError, CorruptRecordError, OSError) as error:
        return _nothing(asked.partition_index, code_for(error))
    if found is None:
        return _nothing(asked.partition_index, ErrorCode.NONE)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if ctx.version >= _FIRST_VERSION_WITH_EPOCH else -1,
    )


def _find(partition: Partition, leader: PartitionLeader, timestamp: int) -> TimestampOffset | None:
    """None: no record is at or after that time below the high watermark."""
    log = partition.log
    if timestamp == LATEST:
        return TimestampOffset(NO_TIMESTAMP, leader.high_watermark, leader.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        return TimestampOffset(NO_TIMESTAMP, start, log.epochs.epoch_at(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None
    if timestamp == MAX_TIMESTAMP:
        found = log.offset_of_max_timestamp()
    else:
        found = log.offset_for_timestamp(TimestampMs(timestamp))
    if found is None or found.offset >= leader.high_watermark:
        return None
    return found


def _nothing(index: int, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=index, error_code=code, timestamp=-1, offset=Offset(-1), leader_epoch=-1
    )
