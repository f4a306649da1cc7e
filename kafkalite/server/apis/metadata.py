"""Metadata: brokers, topics, partitions and their leaders.

Versions: 0 to 13.
- 0 an empty list means all topics; from 1 on null does, and an empty list means none.
- 4 lets the client refuse auto-creation. 8 authorized operations (the cluster's until 10).
- 9 flexible. 10 topic ids in the answer; 12 asks by id. 13 an error for the whole answer.

Brokers are told at the address that the client itself reached us on, see `server/addresses.py`.

An internal topic that a client asks for is created with its own settings, like one that a
coordinator needs.

Kafka differs: it creates all its internal topics so. Here only `__consumer_offsets`; the others
come with what keeps its state in them.

Kafka differs: it answers UNKNOWN_TOPIC_OR_PARTITION to the request that creates a topic, and the
client asks again after its back-off. Here the answer waits until the topic is there, which saves
that back-off."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.metadata.topic_names import INTERNAL_TOPICS, validate_topic_name
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalite.server.addresses import nodes
from kafkalite.server.apis.api import Api
from kafkalite.server.internal_topics import is_made_here
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.topic_creation import auto_create
from kafkalite.types import NO_LEADER, ZERO_UUID, TimestampMs

API = Api(ApiKey.METADATA, MetadataRequest, MetadataResponse, min_version=0, max_version=13)

TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
"""Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs (Kafka's bit
field)."""
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
"""Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite."""
NOT_ASKED = -(1 << 31)
_CREATION_TIMEOUT_MS = 30_000
"""Kafka's default `request.timeout.ms`: the longest that a Metadata answer waits for its topics."""
_FIRST_VERSION_WITH_NULL = 1


def handle(ctx: RequestContext, request: MetadataRequest) -> MetadataResponse | Parked:
    """Answer from the image; topics that are missing and may be created are created first."""
    if request.topics is None or (not request.topics and ctx.version < _FIRST_VERSION_WITH_NULL):
        return _response(ctx, request, None)
    # What is asked for twice is answered once, as by the real one.
    wanted = list({(topic.name, topic.topic_id): topic for topic in request.topics}.values())
    missing = _to_create(ctx, request, wanted)
    if not missing:
        return _response(ctx, request, wanted)
    return _create_first(ctx, missing, lambda: _response(ctx, request, wanted))


def refuse(request: MetadataRequest, code: ErrorCode, message: str) -> MetadataResponse:
    """No brokers; the code stands at the top (version 13) and on each topic."""
    return MetadataResponse(
        error_code=code,
        topics=[
            MetadataResponseTopic(error_code=code, name=topic.name, topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
    )


def _to_create(
    ctx: RequestContext, request: MetadataRequest, wanted: list[MetadataRequestTopic]
) -> list[str]:
    services = ctx.services
    if not (request.allow_auto_topic_creation and services.config.auto_create_topics_enable):
        return []
    known = services.image.topics
    return [
        topic.name
        for topic in wanted
        if topic.name is not None
        and topic.topic_id == ZERO_UUID
        and topic.name not in known
        and (topic.name not in INTERNAL_TOPICS or is_made_here(topic.name))
        and _is_legal(topic.name)
    ]


def _create_first(
    ctx: RequestContext, names: list[str], answer: Callable[[], MetadataResponse]
) -> Parked:
    clock = ctx.services.clock
    parked = Parked(clock, TimestampMs(clock.now_ms() + _CREATION_TIMEOUT_MS), answer)
    auto_create(ctx.services, names, lambda _: parked.complete(answer))
    return parked


def _response(
    ctx: RequestContext, request: MetadataRequest, wanted: list[MetadataRequestTopic] | None
) -> MetadataResponse:
    services = ctx.services
    image = services.image
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
    if wanted is None:
        topics = [_topic(topic, operations) for topic in image.topics.values()]
    else:
        topics = [_wanted(ctx, topic, operations) for topic in wanted]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in nodes(ctx)
        ],
        cluster_id=services.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _wanted(
    ctx: RequestContext, wanted: MetadataRequestTopic, operations: int
) -> MetadataResponseTopic:
    image = ctx.services.image
    if wanted.topic_id != ZERO_UUID:
        found = image.topics_by_id.get(wanted.topic_id)
        if found is not None:
            return _topic(found, operations)
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID,
            name=None,
            topic_id=wanted.topic_id,
            topic_authorized_operations=NOT_ASKED,
        )
    name = wanted.name or ""
    found = image.topics.get(name)
    if found is not None:
        return _topic(found, operations)
    return MetadataResponseTopic(
        error_code=(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if _is_legal(name)
            else ErrorCode.INVALID_TOPIC_EXCEPTION
        ),
        name=name,
        topic_authorized_operations=operations,
    )


def _is_legal(name: str) -> bool:
    try:
        validate_topic_name(name)
    except KafkaError:
        return False
    return True


def _topic(topic: TopicImage, operations: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(index, image) for index, image in enumerate(topic.partitions)],
        topic_authorized_operations=operations,
    )


def _partition(index: int, image: PartitionImage) -> MetadataResponsePartition:
    leaderless = image.leader == NO_LEADER
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if leaderless else ErrorCode.NONE,
        partition_index=index,
        leader_id=image.leader,
        leader_epoch=image.leader_epoch,
        replica_nodes=list(image.replicas),
        isr_nodes=list(image.isr),
        offline_replicas=[],
    )
