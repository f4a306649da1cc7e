"""Answers to the controller's LeaderAndIsr, UpdateMetadata and StopReplica: they wait until this
broker has folded what it was told of, since it reads that in ZooKeeper by itself."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.schema import Response
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import Uuid


def park_until(
    ctx: RequestContext,
    is_there: Callable[[MetadataImage], bool],
    answer: Callable[[], Response],
) -> Parked:
    """See `AwaitedImages.park`; for APIs that only a broker of a cluster has."""
    awaited = ctx.services.awaited
    assert awaited is not None, "a broker of a cluster"
    return awaited.park(ctx.services.clock, ctx.services.image, is_there, answer)


def check_controller(ctx: RequestContext, controller_epoch: int, broker_epoch: int) -> None:
    """`KafkaError`: STALE_CONTROLLER_EPOCH from one that was deposed, STALE_BROKER_EPOCH when it
    means an earlier life of this broker."""
    image = ctx.services.image
    if controller_epoch < image.epoch:
        raise KafkaError(
            ErrorCode.STALE_CONTROLLER_EPOCH, f"the controller's epoch is {image.epoch}"
        )
    me = image.brokers.get(ctx.services.broker_id)
    if me is not None and 0 <= broker_epoch < me.epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"this broker's epoch is {me.epoch}")


def has_partition(
    image: MetadataImage, topic_id: Uuid, index: int, leader_epoch: int, partition_epoch: int
) -> bool:
    """Whether the image has that state of a partition, or a later one."""
    topic = image.topics_by_id.get(topic_id)
    if topic is None or index >= len(topic.partitions):
        return False
    partition = topic.partitions[index]
    return partition.leader_epoch >= leader_epoch and partition.partition_epoch >= partition_epoch
