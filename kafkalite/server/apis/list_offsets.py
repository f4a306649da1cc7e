"""ListOffsets: the offset of a time, or of one of the special places of a partition.

Versions: 1 to 11.
- 2 isolation level. 4 fences by leader epoch. 5 knows OFFSET_NOT_AVAILABLE, which older ones are
  told as LEADER_NOT_AVAILABLE (KIP-207). 6 flexible. 7 the record of the greatest timestamp.
- 8 the first local offset, 9 the last tiered one, 11 the first pending upload (KIP-405,
  KIP-1005): nothing is tiered here, so the local log is all there is.
- 10 a timeout for remote reads, which are not made.

A special timestamp that the request's version does not know yet gets UNSUPPORTED_VERSION, as in
Kafka.

Followers are told where the log ends, consumers where the records do that they may see.

A topic that stands twice in a request is answered once; an isolation level that there is not gives
UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, code_for
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkalite.protocol.records.times import LookupBudget
from kafkalite.server.apis.api import Api
from kafkalite.server.offset_lookup import FIRST_VERSIONS, UpTo, cost_of, find_offset
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.turns import answer_in_turns
from kafkalite.types import ISOLATION_LEVELS, READ_COMMITTED, LeaderEpoch, Offset

API = Api(
    ApiKey.LIST_OFFSETS, ListOffsetsRequest, ListOffsetsResponse, min_version=1, max_version=11
)

_Answers = dict[str, dict[int, ListOffsetsPartitionResponse]]

_FIRST_VERSION_WITH_EPOCH = 4
_FIRST_VERSION_WITH_LAG = 5
"""It knows the error of a leader whose high watermark lags."""


def handle(ctx: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse | Parked:
    """Answer each partition on its own; one that is asked twice is refused, once."""
    if request.isolation_level not in ISOLATION_LEVELS:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    topics: _Answers = {}

    def response() -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(name=name, partitions=list(answers.values()))
                for name, answers in topics.items()
            ]
        )

    return answer_in_turns(
        ctx.services.clock,
        _answer_each(ctx, request, topics),
        response,
        within_ms=ctx.services.config.request_timeout_ms,
        too_late=partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
    )


def _answer_each(
    ctx: RequestContext, request: ListOffsetsRequest, topics: _Answers
) -> Iterator[int]:
    """Answer one partition after the other: what it cost, for `Turns`."""
    up_to = _up_to(request)
    for topic in request.topics:
        answers = topics.setdefault(topic.name, {})
        for asked in topic.partitions:
            index = asked.partition_index
            budget = LookupBudget()
            if index in answers:
                answers[index] = _nothing(index, ErrorCode.INVALID_REQUEST)
            else:
                answers[index] = _one(ctx, topic.name, asked, budget, up_to)
            yield cost_of(budget)


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


def _up_to(request: ListOffsetsRequest) -> UpTo:
    """How far this client sees: a follower has what no consumer may see yet."""
    if request.replica_id >= 0:
        return UpTo.LOG_END
    return UpTo.STABLE if request.isolation_level == READ_COMMITTED else UpTo.HIGH_WATERMARK


def _one(
    ctx: RequestContext,
    topic: str,
    asked: ListOffsetsPartition,
    budget: LookupBudget,
    up_to: UpTo,
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0 and ctx.version < FIRST_VERSIONS.get(asked.timestamp, 1 << 15):
        return _nothing(asked.partition_index, ErrorCode.UNSUPPORTED_VERSION)
    try:
        partition = ctx.services.replicas.find(topic, asked.partition_index)
        partition.check_epoch(LeaderEpoch(asked.current_leader_epoch))
        found = find_offset(partition, asked.timestamp, budget, up_to=up_to)
    except (KafkaError, CorruptRecordError, OSError) as error:
        code = code_for(error)
        if code is ErrorCode.OFFSET_NOT_AVAILABLE and ctx.version < _FIRST_VERSION_WITH_LAG:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        return _nothing(asked.partition_index, code)
    if found is None:
        return _nothing(asked.partition_index, ErrorCode.NONE)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if ctx.version >= _FIRST_VERSION_WITH_EPOCH else -1,
    )


def _nothing(index: int, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=index, error_code=code, timestamp=-1, offset=Offset(-1), leader_epoch=-1
    )
