"""DescribeLogDirs: what each replica takes of the disk, and what the disk has left (KIP-113).

Versions: 1 to 5.
- 2 flexible. 3 an error for the whole answer. 4 the size of the disk (KIP-827). 5 whether the
  folder is cordoned, which none is here (KIP-1066).

Sizes are those of the `.log` files. A replica lags behind when its high watermark is above its end,
which is never so for what a broker leads. Replicas that are not here are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.errors import ErrorCode, code_for
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.request import RequestContext
from kafkalite.server.turns import answer_in_turns

API = Api(
    ApiKey.DESCRIBE_LOG_DIRS,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    min_version=1,
    max_version=5,
)


_COST_TO_OPEN, _COST = 500, 5
"""Of a partition, as `Turns` counts."""


def handle(
    ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse | Parked:
    """The one folder that this broker has. Many partitions are looked at in several turns of the
    loop."""
    directory = ctx.services.replicas.directory
    try:
        space = directory.space()
    except OSError as error:
        failed = DescribeLogDirsResult(error_code=code_for(error), log_dir=directory.location)
        return DescribeLogDirsResponse(results=[failed])
    result = DescribeLogDirsResult(
        log_dir=directory.location,
        topics=[],
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
    )
    return answer_in_turns(
        ctx.services.clock,
        _describe_each(ctx.services.replicas, request, result.topics),
        lambda: DescribeLogDirsResponse(results=[result]),
        within_ms=ctx.services.config.request_timeout_ms,
        too_late=partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
    )


def refuse(
    request: DescribeLogDirsRequest, code: ErrorCode, message: str
) -> DescribeLogDirsResponse:
    """The code, and no folders."""
    return DescribeLogDirsResponse(error_code=code)


def _describe_each(
    replicas: ReplicaManager, request: DescribeLogDirsRequest, topics: list[DescribeLogDirsTopic]
) -> Iterator[int]:
    """One partition after the other: what it cost, for `Turns`."""
    for _ in replicas.catch_up_each():
        yield _COST_TO_OPEN
    held = replicas.partitions()
    if request.topics is not None:
        asked = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
        held = (each for each in held if (each.topic, each.index) in asked)
    for each in sorted(held, key=lambda partition: (partition.topic, partition.index)):
        if not topics or topics[-1].name != each.topic:
            topics.append(DescribeLogDirsTopic(name=each.topic, partitions=[]))
        topics[-1].partitions.append(
            DescribeLogDirsPartition(
                partition_index=each.index, partition_size=each.log.size_bytes, offset_lag=0
            )
        )
        yield _COST
