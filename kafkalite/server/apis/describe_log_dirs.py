"""DescribeLogDirs: what each replica takes of the disk, and what the disk has left (KIP-113).

Versions: 1 to 5.
- 2 flexible. 3 an error for the whole answer. 4 the size of the disk (KIP-827). 5 whether the
  folder is cordoned: takes no new partitions (KIP-1066).

Sizes are those of the `.log` files. A replica lags behind when its high watermark is above its end,
which is never so for what a broker leads; a copy that is being moved to a folder (`is_future_key`)
by what it lacks. Replicas that are not here are passed over. A folder that has failed is answered
with KAFKA_STORAGE_ERROR.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.errors import ErrorCode, code_for
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import Parked
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.replica_moves import ReplicaMove, ReplicaMoves
from kafkalite.server.request import RequestContext
from kafkalite.server.turns import answer_in_turns
from kafkalite.types import TopicPartition

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
    """All folders that this broker has. Many partitions are looked at in several turns of the
    loop."""
    results: list[DescribeLogDirsResult] = []
    return answer_in_turns(
        ctx.services.clock,
        _describe_each(ctx.services.replicas, ctx.services.moves, request, results),
        lambda: DescribeLogDirsResponse(results=results),
        within_ms=ctx.services.config.request_timeout_ms,
        too_late=partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
    )


def refuse(
    request: DescribeLogDirsRequest, code: ErrorCode, message: str
) -> DescribeLogDirsResponse:
    """The code, and no folders."""
    return DescribeLogDirsResponse(error_code=code)


def _describe_each(
    replicas: ReplicaManager,
    moves: ReplicaMoves,
    request: DescribeLogDirsRequest,
    results: list[DescribeLogDirsResult],
) -> Iterator[int]:
    """One partition after the other: what it cost, for `Turns`."""
    for _ in replicas.catch_up_each():  # First: that may find out that a folder has failed.
        yield _COST_TO_OPEN
    asked = None
    if request.topics is not None:
        asked = {
            TopicPartition(topic.topic, index)
            for topic in request.topics
            for index in topic.partitions
        }
    found: list[Partition | ReplicaMove] = [*replicas.partitions(), *moves.under_way]
    if asked is not None:
        found = [each for each in found if each.key in asked]
    directories = replicas.homes.directories
    by_location = {
        directory.location: _result(directories, directory) for directory in directories.live
    }
    for each in sorted(found, key=lambda each: (each.key.topic, each.key.partition)):
        result = by_location.get(each.directory.location)
        if result is None or result.error_code:
            continue
        topics = result.topics
        if not topics or topics[-1].name != each.key.topic:
            topics.append(DescribeLogDirsTopic(name=each.key.topic, partitions=[]))
        topics[-1].partitions.append(_described(each))
        yield _COST
    results += by_location.values()
    results += [
        DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=failed.location)
        for failed in directories.failed
    ]


def _described(replica: Partition | ReplicaMove) -> DescribeLogDirsPartition:
    described = DescribeLogDirsPartition(
        partition_index=replica.key.partition, partition_size=replica.log.size_bytes
    )
    if isinstance(replica, ReplicaMove):
        described.is_future_key = True
        described.offset_lag = replica.future.offset_lag
    return described


def _result(directories: DirectorySet, directory: LogDirectory) -> DescribeLogDirsResult:
    """Of a folder that lives, with no topics yet."""
    location = directory.location
    try:
        space = directory.space()
    except OSError as error:
        return DescribeLogDirsResult(error_code=code_for(error), log_dir=location)
    return DescribeLogDirsResult(
        log_dir=location,
        topics=[],
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
        is_cordoned=directories.is_cordoned(location),
    )
