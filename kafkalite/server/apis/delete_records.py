"""DeleteRecords: forget the records of a partition below an offset (KIP-107).

Versions: 0 to 2.
- 2 flexible.

-1 stands for the high watermark. What is deleted cannot be fetched when the answer is there; its
segments go at the next check of retention. The start is written to the log start checkpoint every
`log.flush.start.offset.checkpoint.interval.ms` and at a clean stop: after a crash, records of a
segment that is still there may be back, as in Kafka.

The answer waits, at most `timeout_ms`, until all replicas of brokers that run have deleted as much.

A partition that a request names twice is answered once, for the offset named last.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, code_for
from kafkalite.log.log_cuts import delete_records
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import CommitWait, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import Offset, TimestampMs

API = Api(
    ApiKey.DELETE_RECORDS,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    min_version=0,
    max_version=2,
)

_NO_OFFSET = Offset(-1)


class _Waiting(NamedTuple):
    """Some replicas still have what was deleted."""

    partition: Partition
    end_offset: Offset
    result: DeleteRecordsPartitionResult


def handle(ctx: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse | Parked:
    """Each partition on its own."""
    waiting: list[_Waiting] = []
    response = _response(
        {
            name: {
                index: _delete(ctx, name, index, offset, waiting) for index, offset in asked.items()
            }
            for name, asked in _asked(request).items()
        }
    )
    return _parked(ctx, request, response, waiting) if waiting else response


def refuse(request: DeleteRecordsRequest, code: ErrorCode, message: str) -> DeleteRecordsResponse:
    """The same code for every partition."""
    return _response(
        {
            name: {index: _refused(index, code) for index in asked}
            for name, asked in _asked(request).items()
        }
    )


def _asked(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """Offsets by topic and partition; topics without partitions are left out, as by Kafka."""
    asked: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            asked.setdefault(topic.name, {})[partition.partition_index] = partition.offset
    return asked


def _parked(
    ctx: RequestContext,
    request: DeleteRecordsRequest,
    response: DeleteRecordsResponse,
    waiting: list[_Waiting],
) -> Parked:
    def answer() -> DeleteRecordsResponse:
        for partition, end, result in waiting:
            if partition.leader is None:
                result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                result.low_watermark = _NO_OFFSET
            elif partition.low_watermark < end:
                result.error_code = ErrorCode.REQUEST_TIMED_OUT
            else:
                result.low_watermark = partition.low_watermark
        return response

    clock = ctx.services.clock
    return CommitWait(
        clock,
        TimestampMs(clock.now_ms() + max(request.timeout_ms, 0)),
        ends=[(partition.followers, end) for partition, end, _ in waiting],
        answer=answer,
    ).parked


def _delete(
    ctx: RequestContext, topic: str, index: int, offset: int, waiting: list[_Waiting]
) -> DeleteRecordsPartitionResult:
    try:
        partition = ctx.services.replicas.find(topic, index)
        if topic in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        end = partition.leading.deletion_end(offset, partition.config.cleanup_policy)
        delete_records(partition.log, end)
        partition.log_start_moved()
    except (KafkaError, CorruptRecordError, OSError) as error:
        return _refused(index, code_for(error))
    result = DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=partition.low_watermark
    )
    if result.low_watermark < end:
        waiting.append(_Waiting(partition, end, result))
    return result


def _refused(index: int, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=_NO_OFFSET, error_code=code
    )


def _response(
    topics: dict[str, dict[int, DeleteRecordsPartitionResult]],
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name=name, partitions=list(partitions.values()))
            for name, partitions in topics.items()
        ]
    )
