from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkalite.controller.assignments import added_partitions, manual_partitions, placed_partitions
from kafkalite.controller.term_events import LoseBroker, RegisterBroker
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from kafkalite.types import BrokerEpoch, BrokerId, Uuid
from tests.controller.sample_cluster import Cluster, assignment, broker_registration, uuid
from tests.controller.sample_partitions import ids


def test_as_assigned_in_any_order() -> None:
    image = Cluster(1, 2, 3).controller.image
    first, second = manual_partitions(image, [assignment(1, 3, 1), assignment(0, 2, 3)])
    assert (first.replicas, first.isr, first.leader) == ((2, 3), (2, 3), 2)
    assert (second.replicas, second.leader_epoch, second.partition_epoch) == ((3, 1), 0, 0)
    assert second.directories == (uuid(2003), uuid(2001))


def test_a_fenced_broker_gets_a_replica_but_is_not_in_sync() -> None:
    cluster = Cluster(1, 2)
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    image = cluster.controller.image
    (partition,) = manual_partitions(image, [assignment(0, 1, 2)])
    assert (partition.replicas, partition.isr, partition.leader) == ((1, 2), (2,), 2)
    (placed,) = placed_partitions(image, count=1, factor=2, seed=0)
    assert (sorted(placed.replicas), placed.isr, placed.leader) == ([1, 2], (2,), 2)


@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        ([(1, 1)], "partitions should be a consecutive 0-based integer sequence"),
        ([(0, 1), (2, 1)], "partitions should be a consecutive 0-based integer sequence"),
        ([(-1, 1)], "partitions should be a consecutive 0-based integer sequence"),
        ([(0, 1), (0, 1)], "Found multiple manual partition assignments for partition 0"),
        (
            [(0, 9)],
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            [(0, -1)],
            "The manual partition assignment includes broker -1, but no such broker is registered.",
        ),
        ([(0, 1, 1)], "The manual partition assignment includes the broker 1 more than once."),
        ([(0,)], "The manual partition assignment includes an empty replica list."),
        ([(0, 1), (1,)], "The manual partition assignment includes an empty replica list."),
        (
            [(0, 1), (1, 1, 2)],
            "The manual partition assignment includes a partition with 2 replica(s), but this is"
            " not consistent with previous partitions, which have 1 replica(s).",
        ),
        (
            [(0, 3)],
            "All brokers specified in the manual partition assignment for partition 0 are fenced or"
            " in controlled shutdown.",
        ),
    ],
)
def test_impossible_assignments(assignments: list[tuple[int, ...]], words: str) -> None:
    cluster = Cluster(1, 2, 3)
    cluster.feed(LoseBroker(BrokerId(3), BrokerEpoch(3)))
    with pytest.raises(KafkaError) as refused:
        manual_partitions(cluster.controller.image, [assignment(*a) for a in assignments])
    assert refused.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refused.value.message == words


@pytest.mark.parametrize(
    ("log_dirs", "directory"),
    [
        ([uuid(7)], uuid(7)),
        ([uuid(7), uuid(8)], UNASSIGNED_DIRECTORY),
        ([], MIGRATING_DIRECTORY),
    ],
)
def test_the_directory_is_the_brokers_only_one(log_dirs: Sequence[Uuid], directory: Uuid) -> None:
    cluster = Cluster()
    registration = broker_registration(1, log_dirs=log_dirs)
    cluster.feed(RegisterBroker(None, registration, BrokerEpoch(0)))
    (partition,) = placed_partitions(cluster.controller.image, count=1, factor=1, seed=0)
    assert partition.directories == (directory,)


def test_partitions_are_added_as_assigned() -> None:
    image = Cluster(1, 2, 3).controller.image
    added = added_partitions(image, [ids(3, 1), ids(1, 2)], first=4, factor=2)
    assert [(each.replicas, each.isr, each.leader) for each in added] == [
        ((3, 1), (3, 1), 3),
        ((1, 2), (1, 2), 1),
    ]
    with pytest.raises(KafkaError, match="a partition with 1 replica"):
        added_partitions(image, [ids(3)], first=4, factor=2)
