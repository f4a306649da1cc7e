"""Topics and their partitions as Metadata tells of them, in pieces for `Turns`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kafkalite.errors import ErrorCode
from kafkalite.metadata import topic_lookup
from kafkalite.metadata.availability import Availability, availability
from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from kafkalite.server.operations import NOT_ASKED
from kafkalite.server.request import RequestContext

_FIRST_VERSION_WITH_LISTENERS = 6
"""Whose clients know LISTENER_NOT_FOUND."""
_COST, _COST_OF_PARTITION = 6, 3
"""Of a topic and of each of its partitions, as `Turns` counts."""


def describe_each(
    ctx: RequestContext,
    wanted: Sequence[TopicKey] | None,
    operations: int,
    topics: list[MetadataResponseTopic],
) -> Iterator[int]:
    """Add to `topics` one after the other; what it cost, for `Turns`. All are of one image, the
    newest when the first piece is done. `wanted`: None for all there are."""
    image = ctx.services.image
    seen = availability(
        image,
        ctx.connection.session.listener,
        without_listener=ErrorCode.LISTENER_NOT_FOUND
        if ctx.version >= _FIRST_VERSION_WITH_LISTENERS
        else ErrorCode.LEADER_NOT_AVAILABLE,
    )
    describe = partial(_topic, seen, operations)
    if wanted is None:
        for topic in image.topics.values():
            topics.append(describe(topic))
            yield _COST + _COST_OF_PARTITION * len(topic.partitions)
        return
    for each in wanted:
        found = topic_lookup.find_topic(image, each)
        topics.append(_absent(each, operations) if found is None else describe(found))
        yield _COST + (0 if found is None else _COST_OF_PARTITION * len(found.partitions))


def _absent(wanted: TopicKey, operations: int) -> MetadataResponseTopic:
    """Whoever asked by id learns the id alone."""
    code, name = topic_lookup.absent(wanted), wanted.name or ""
    by_id = code is ErrorCode.UNKNOWN_TOPIC_ID
    return MetadataResponseTopic(
        error_code=code,
        name=None if by_id else name,
        topic_id=wanted.topic_id,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=NOT_ASKED if by_id else operations,
    )


def _topic(seen: Availability, operations: int, topic: TopicImage) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(seen, index, image) for index, image in enumerate(topic.partitions)],
        topic_authorized_operations=operations,
    )


def _partition(seen: Availability, index: int, image: PartitionImage) -> MetadataResponsePartition:
    leader = seen.leader(image)
    return MetadataResponsePartition(
        error_code=leader.code,
        partition_index=index,
        leader_id=leader.id,
        leader_epoch=image.leader_epoch,
        replica_nodes=list(image.replicas),
        isr_nodes=list(image.isr),
        offline_replicas=seen.offline(image),
    )
