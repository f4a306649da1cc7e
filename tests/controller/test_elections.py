from __future__ import annotations

from typing import Any

import pytest

from kafkalite.controller.elections import (
    after_loss,
    after_return,
    broker_lost,
    broker_returned,
    elect,
)
from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import NO_LEADER, BrokerId, LeaderEpoch
from tests.controller.sample_cluster import uuid


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def topic(replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, **elr: Any) -> TopicImage:
    # Any: fields of the partition.
    partition = PartitionImage(
        ids(*replicas), ids(*isr), BrokerId(leader), LeaderEpoch(0), 0, **elr
    )
    return TopicImage("t", uuid(1), (partition,))


def change(**fields: Any) -> PartitionChangeRecord:
    # Any: fields of the record.
    return PartitionChangeRecord(partition_id=0, topic_id=uuid(1), **fields)


def test_the_first_of_the_assignment_is_preferred() -> None:
    partition = topic((3, 1, 2), (1, 2, 3), 1).partitions[0]
    assert elect(partition, ids(1, 2)) == 1
    assert elect(partition, ids(2, 3)) == 3
    assert elect(partition, ids(4)) == NO_LEADER


@pytest.mark.parametrize(
    ("before", "active", "expected"),
    [
        (topic((1, 2, 3), (1, 2, 3), 1), (2, 3), change(isr=[2, 3], leader=2)),
        (topic((1, 2, 3), (1, 2, 3), 1), (3,), change(isr=[2, 3], leader=3)),
        (topic((1, 2, 3), (1, 2, 3), 1), (), change(isr=[2, 3], leader=-1)),
        (topic((1, 2, 3), (1, 2), 2), (2, 3), change(isr=[2])),
        (topic((1, 2, 3), (2, 3), 2), (2, 3), None),
        (topic((1, 2), (1,), 1), (2,), change(leader=-1)),
        (topic((1, 2), (1,), -1), (2,), None),
        (topic((2, 3), (2, 3), 2), (2, 3), None),
    ],
)
def test_broker_1_is_lost(
    before: TopicImage, active: tuple[int, ...], expected: PartitionChangeRecord | None
) -> None:
    assert broker_lost(before, 0, BrokerId(1), ids(*active)) == expected


@pytest.mark.parametrize(
    ("before", "active", "expected"),
    [
        (topic((1,), (1,), 1), (1,), change(leader=1)),
        (topic((1, 2), (1, 2), 1), (1,), change(leader=1)),
        (topic((1, 2), (1, 2), 1), (1, 2), change(leader=2, isr=[2])),
        (topic((1, 2), (1, 2), 2), (1, 2), None),
        (topic((1, 2), (1,), -1), (1, 2), change(leader=1)),
        (topic((1, 2), (2,), -1), (1,), None),
        (topic((2, 3), (2,), -1), (1,), None),
        (topic((2, 1), (1, 2), -1), (1, 2), change(leader=2)),
        (
            topic((1, 2), (), -1, eligible_leader_replicas=ids(1, 2), last_known_elr=ids(2)),
            (1,),
            change(leader=1, isr=[1], eligible_leader_replicas=[2], last_known_elr=[]),
        ),
        (
            topic((1, 2), (), -1, last_known_elr=ids(1)),
            (1,),
            change(leader=1, isr=[1], leader_recovery_state=1, last_known_elr=[]),
        ),
        (topic((1, 2), (), -1, last_known_elr=ids(2)), (1,), None),
        (
            topic((1, 2), (), -1, eligible_leader_replicas=ids(2), last_known_elr=ids(1)),
            (1,),
            None,
        ),
    ],
)
def test_broker_1_returns(
    before: TopicImage, active: tuple[int, ...], expected: PartitionChangeRecord | None
) -> None:
    assert broker_returned(before, 0, BrokerId(1), ids(*active)) == expected


def test_all_partitions_in_order() -> None:
    one = topic((1,), (1,), 1).partitions[0]
    other = topic((2,), (2,), 2).partitions[0]
    topics = {
        "a": TopicImage("a", uuid(1), (one, other, one)),
        "b": TopicImage("b", uuid(2), (other, one)),
    }
    image = MetadataImage(topics=topics)
    where = [(uuid(1), 0), (uuid(1), 2), (uuid(2), 1)]
    lost = after_loss(image, BrokerId(1), ids(2))
    assert [(c.topic_id, c.partition_id) for c in lost] == where
    back = after_return(image, BrokerId(1), ids(1, 2), log_dirs=(), loses_nothing=False)
    assert [(c.topic_id, c.partition_id) for c in back] == where
    same = after_return(image, BrokerId(1), ids(1, 2), log_dirs=(), loses_nothing=True)
    assert not list(same), "it leads them still"
