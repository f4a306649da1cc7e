"""AlterReplicaLogDirs: replicas that are to move to other log folders of this broker (KIP-113).

Versions: 1 to 2.
- 2 flexible.

It is answered when the move has begun: how far it is, DescribeLogDirs tells. LOG_DIR_NOT_FOUND for
a folder that is not one of the broker's, as it is spelled in `log.dirs`; KAFKA_STORAGE_ERROR for
one that has failed, or a replica in such a one; INVALID_REPLICA_ASSIGNMENT for one that takes no
new partitions (`cordoned.log.dirs`); REPLICA_NOT_AVAILABLE for a replica of other brokers;
INVALID_TOPIC_EXCEPTION for a name that leaves no room for the copy's. Of a partition that is named
twice the last folder counts.

Kafka differs: a folder chosen for a replica that is still to come to this broker is remembered
there. Here it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet
from kafkalite.log.folder_names import is_cut
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.turns import answer_in_turns
from kafkalite.types import TopicPartition

API = Api(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    min_version=1,
    max_version=2,
)

_COST = 500
"""Of a partition, as `Turns` counts."""


def handle(
    ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse | Parked:
    """Begin to move each, in several turns of the loop where they are many."""
    codes: dict[TopicPartition, ErrorCode] = {}
    return answer_in_turns(
        ctx.services.clock,
        _begin_each(ctx, _wanted(request), codes),
        lambda: _response(codes),
        within_ms=ctx.services.config.request_timeout_ms,
        too_late=partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
    )


def refuse(
    request: AlterReplicaLogDirsRequest, code: ErrorCode, message: str
) -> AlterReplicaLogDirsResponse:
    """The code for every partition."""
    return _response(dict.fromkeys(_wanted(request), code))


def _wanted(request: AlterReplicaLogDirsRequest) -> dict[TopicPartition, str]:
    return {
        TopicPartition(topic.name, index): folder.path
        for folder in request.dirs
        for topic in folder.topics
        for index in topic.partitions
    }


def _begin_each(
    ctx: RequestContext, wanted: dict[TopicPartition, str], codes: dict[TopicPartition, ErrorCode]
) -> Iterator[int]:
    services = ctx.services
    for key, path in wanted.items():
        try:
            if is_cut(key):
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            target = _target(services.replicas.homes.directories, path)
            partition = services.replicas.find(key.topic, key.partition)
            services.moves.begin(partition, target)
            codes[key] = ErrorCode.NONE
        except KafkaError as error:
            codes[key] = error.code
            if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                codes[key] = ErrorCode.REPLICA_NOT_AVAILABLE
        yield _COST


def _target(directories: DirectorySet, path: str) -> LogDirectory:
    if any(failed.location == path for failed in directories.failed):
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    target = next((each for each in directories.live if each.location == path), None)
    if target is None:
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND)
    if directories.is_cordoned(path):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    return target


def _response(codes: dict[TopicPartition, ErrorCode]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for key, code in codes.items():
        topic = topics.setdefault(
            key.topic, AlterReplicaLogDirTopicResult(topic_name=key.topic, partitions=[])
        )
        topic.partitions.append(
            AlterReplicaLogDirPartitionResult(partition_index=key.partition, error_code=code)
        )
    return AlterReplicaLogDirsResponse(results=list(topics.values()))
