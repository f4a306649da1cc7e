"""OffsetDelete: a group forgets how far it has come in some partitions (KIP-496).

Version: 0.

Refused as a whole for a group that does not exist (GROUP_ID_NOT_FOUND) or is in use by something
else than consumers (NON_EMPTY_GROUP). A topic that a member is subscribed to is refused at its
place, and so is what does not exist; that stands first in the answer.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.offset_events import (
    DeleteOffsets,
    OffsetsDeleted,
    TopicPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_group
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.OFFSET_DELETE, OffsetDeleteRequest, OffsetDeleteResponse, min_version=0, max_version=0
)


def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse | Parked:
    """Ask the group's coordinator to forget what there is to be forgotten."""
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    image = ctx.services.image
    codes: dict[str, dict[int, ErrorCode]] = {}
    known: list[TopicPartitions] = []
    for topic in request.topics:
        exist = []
        for asked in topic.partitions:
            index = asked.partition_index
            if image.partition(topic.name, index) is None:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                codes.setdefault(topic.name, {})[index] = code
            else:
                exist.append(index)
        if exist:
            known.append(TopicPartitions(topic.name, tuple(exist)))
    event = DeleteOffsets(None, request.group_id, tuple(known))

    def answer(deleted: OffsetsDeleted) -> OffsetDeleteResponse:
        for each in deleted.offsets:
            codes.setdefault(each.topic, {})[each.partition] = each.code
        return OffsetDeleteResponse(
            topics=[
                OffsetDeleteResponseTopic(
                    name=name,
                    partitions=[
                        OffsetDeleteResponsePartition(partition_index=index, error_code=code)
                        for index, code in partitions.items()
                    ],
                )
                for name, partitions in codes.items()
            ]
        )

    return ask_group(ctx, Question(request.group_id, event, OffsetsDeleted), answer)


def refuse(request: OffsetDeleteRequest, code: ErrorCode, message: str) -> OffsetDeleteResponse:
    """The whole request."""
    return OffsetDeleteResponse(error_code=code)
