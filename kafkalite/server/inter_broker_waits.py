"""Answers to the controller's LeaderAndIsr, UpdateMetadata and StopReplica: they wait until this
broker has folded what it was told of, since it reads that in ZooKeeper by itself, or, while it
cannot, acts by what it was told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.schema import Response
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.stores.told_states import ToldState
from kafkalite.types import NO_LEADER


def park_until(
    ctx: RequestContext,
    is_there: Callable[[MetadataImage], bool],
    answer: Callable[[], Response],
    told: Sequence[ToldState] = (),
) -> Parked:
    """See `AwaitedImages.park`; for APIs that only a broker of a cluster has. `told`: what the
    request tells of partitions."""
    awaited = ctx.services.awaited
    assert awaited is not None, "a broker of a cluster"
    awaited.on_told(told)
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


def all_folded(told: Iterable[ToldState]) -> Callable[[MetadataImage], bool]:
    """Whether an image has all of them, or later states. What has no leader need not be there at
    all: of a topic that is being deleted a Kafka tells a broker that comes back, and nobody has it
    in the image any more.

    Asked again and again of newer images, of each of which it looks only at what was not there:
    thousands may come one by one.
    """
    left = deque(told)

    def is_there(image: MetadataImage) -> bool:
        while left and _has(image, left[0]):
            left.popleft()
        return not left

    return is_there


def _has(image: MetadataImage, told: ToldState) -> bool:
    topic = image.topics_by_id.get(told.topic_id)
    if topic is None:
        return told.state.leader == NO_LEADER
    if told.partition >= len(topic.partitions):
        return False
    partition = topic.partitions[told.partition]
    return (
        partition.leader_epoch >= told.state.leader_epoch
        and partition.partition_epoch >= told.partition_epoch
    )
