"""DescribeLogDirs: what each replica takes of the disk, and what the disk has left (KIP-113).

Versions: 1 to 5.
- 2 flexible. 3 an error for the whole answer. 4 the size of the disk (KIP-827). 5 whether the
  folder is cordoned: takes no new partitions (KIP-1066).

Sizes are those of the `.log` files. A replica lags behind when its high watermark is above its end,
which is never so for what a broker leads. Replicas that are not here are passed over. A folder that
has failed is answered with KAFKA_STORAGE_ERROR.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.errors import ErrorCode, code_for
from kafkalite.log.directories import LogDirectory
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
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_LOG_DIRS,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    min_version=1,
    max_version=5,
)


def handle(ctx: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """All folders that this broker has."""
    replicas = ctx.services.replicas
    held = list(replicas.partitions())  # First: that may find out that a folder has failed.
    if request.topics is not None:
        asked = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
        held = [each for each in held if (each.topic, each.index) in asked]
    directories = replicas.homes.directories
    results = [
        _result(
            directory,
            [each for each in held if each.directory is directory],
            is_cordoned=directories.is_cordoned(directory.location),
        )
        for directory in directories.live
    ]
    results += [
        DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=failed.location)
        for failed in directories.failed
    ]
    return DescribeLogDirsResponse(results=results)


def _result(
    directory: LogDirectory, held: Iterable[Partition], *, is_cordoned: bool
) -> DescribeLogDirsResult:
    try:
        space = directory.space()
    except OSError as error:
        return DescribeLogDirsResult(error_code=code_for(error), log_dir=directory.location)
    return DescribeLogDirsResult(
        log_dir=directory.location,
        topics=_topics(held),
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
        is_cordoned=is_cordoned,
    )


def refuse(
    request: DescribeLogDirsRequest, code: ErrorCode, message: str
) -> DescribeLogDirsResponse:
    """The code, and no folders."""
    return DescribeLogDirsResponse(error_code=code)


def _topics(held: Iterable[Partition]) -> list[DescribeLogDirsTopic]:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for each in sorted(held, key=lambda partition: (partition.topic, partition.index)):
        topics.setdefault(each.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=each.index, partition_size=each.log.size_bytes, offset_lag=0
            )
        )
    return [
        DescribeLogDirsTopic(name=name, partitions=partitions)
        for name, partitions in topics.items()
    ]
