"""UpdateMetadata: the controller tells every broker of all partitions and of who is alive.

Versions: 8, the one of Kafka 3.9. Between brokers: clients are not told of it.

It is answered when this broker has read the same in ZooKeeper, or cannot read there. Kafka differs:
there the request itself is what a broker answers clients by.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.inter_broker_requests import DURING_DELETE
from kafkalite.server.inter_broker_waits import all_folded, check_controller, park_until
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.stores.told_states import ToldState
from kafkalite.stores.znodes import StateNode
from kafkalite.types import BrokerId, ControllerEpoch, LeaderEpoch, Uuid

API = Api(
    ApiKey.UPDATE_METADATA,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    min_version=8,
    max_version=8,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: UpdateMetadataRequest) -> Parked:
    """Wait for all of it; not for brokers, who come and go."""
    check_controller(ctx, request.controller_epoch, request.broker_epoch)
    kept, gone = [], []
    for topic in request.topic_states:
        id = Uuid(bytes(topic.topic_id))
        for each in topic.partition_states:
            if each.leader == DURING_DELETE:
                gone.append(id)
            else:
                state = StateNode(
                    BrokerId(each.leader),
                    LeaderEpoch(each.leader_epoch),
                    tuple(map(BrokerId, each.isr)),
                    ControllerEpoch(each.controller_epoch),
                )
                kept.append(ToldState(id, each.partition_index, state, each.zk_version))
    is_kept = all_folded(kept)

    def is_there(image: MetadataImage) -> bool:
        return is_kept(image) and not any(id in image.topics_by_id for id in gone)

    return park_until(ctx, is_there, UpdateMetadataResponse, kept)


def refuse(request: UpdateMetadataRequest, code: ErrorCode, message: str) -> UpdateMetadataResponse:
    """The code for the whole request."""
    return UpdateMetadataResponse(error_code=code)
