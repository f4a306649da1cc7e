"""AssignReplicasToDirs: a broker tells the controller which log folders its replicas are in
(KIP-858).

Versions: 0. Between brokers: clients are not told of it.

Only the controller answers; another broker says NOT_CONTROLLER.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import AssignDirectories, DirectoriesKnown, ReplicaDirectory
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer, refuse_elsewhere
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerEpoch, BrokerId

API = Api(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    min_version=0,
    max_version=0,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: AssignReplicasToDirsRequest) -> Parked:
    """Ask the controller, and wait for the commit."""
    refuse_elsewhere(ctx)
    parked, on_reply = parked_answer(
        ctx.services, answer=partial(_answer, request), refuse=partial(refuse, request)
    )
    replicas = tuple(
        ReplicaDirectory(topic.topic_id, each.partition_index, directory.id)
        for directory in request.directories
        for topic in directory.topics
        for each in topic.partitions
    )
    event = AssignDirectories(
        None, BrokerId(request.broker_id), BrokerEpoch(request.broker_epoch), replicas
    )
    ctx.services.controller.submit(event, on_reply)
    return parked


def refuse(
    request: AssignReplicasToDirsRequest, code: ErrorCode, message: str
) -> AssignReplicasToDirsResponse:
    """The code for the whole request."""
    return AssignReplicasToDirsResponse(error_code=code)


def _answer(
    request: AssignReplicasToDirsRequest, known: DirectoriesKnown
) -> AssignReplicasToDirsResponse:
    """Each replica without an error: the broker tells it once, and what is gone by now is told by
    nobody."""
    return AssignReplicasToDirsResponse(
        directories=[
            AssignReplicasToDirsResponseDirectoryData(
                id=directory.id,
                topics=[
                    AssignReplicasToDirsResponseTopicData(
                        topic_id=topic.topic_id,
                        partitions=[
                            AssignReplicasToDirsResponsePartitionData(
                                partition_index=each.partition_index
                            )
                            for each in topic.partitions
                        ],
                    )
                    for topic in directory.topics
                ],
            )
            for directory in request.directories
        ]
    )
