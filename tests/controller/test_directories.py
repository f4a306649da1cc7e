"""Folders of replicas: what Kafka 4.4.0 writes of them, but for the in-sync replicas of what has no
leader (see `elections.py`)."""

from __future__ import annotations

import pytest

from kafkalite.controller.events import (
    AssignDirectories,
    DirectoriesKnown,
    FailDirectories,
    FailReplicas,
    NewTopic,
    ReplicaDirectory,
)
from kafkalite.controller.partition_change import RECOVERING
from kafkalite.controller.term_events import RegisterBroker
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, PartitionImage
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
)
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId, Uuid
from tests.controller.sample_cluster import Cluster, broker_registration, uuid

A, B, C = uuid(0xA), uuid(0xB), uuid(0xC)
ONE = BrokerId(1)
EPOCH = BrokerEpoch(7)
KNOWN = DirectoriesKnown(0)


def cluster_with(*log_dirs: Uuid, partitions: int = 2) -> Cluster:
    cluster = Cluster()
    register(cluster, *log_dirs)
    cluster.create(NewTopic("t", partitions))
    return cluster


def register(
    cluster: Cluster, *log_dirs: Uuid, epoch: int = EPOCH, before: int | None = None
) -> None:
    """`before`: the epoch of a clean stop."""
    registration = broker_registration(1, incarnation=epoch, log_dirs=log_dirs)
    if before is not None:
        registration = registration._replace(previous_broker_epoch=BrokerEpoch(before))
    cluster.feed(RegisterBroker(None, registration, BrokerEpoch(epoch)))


def partition(cluster: Cluster, index: int) -> PartitionImage:
    return cluster.controller.image.topics["t"].partitions[index]


def topic_id(cluster: Cluster) -> Uuid:
    return cluster.controller.image.topics["t"].id


def assign(cluster: Cluster, *directories: Uuid, epoch: int = EPOCH) -> object:
    replicas = tuple(
        ReplicaDirectory(topic_id(cluster), index, directory)
        for index, directory in enumerate(directories)
    )
    return cluster.feed(AssignDirectories("token", ONE, BrokerEpoch(epoch), replicas))


def test_a_broker_with_several_folders_chooses_afterwards() -> None:
    cluster = cluster_with(A, B)
    assert partition(cluster, 0).directories == (UNASSIGNED_DIRECTORY,)
    assert assign(cluster, A, B) == DirectoriesKnown(2)
    assert cluster.records == tuple(
        PartitionChangeRecord(
            partition_id=index, topic_id=topic_id(cluster), directories=[directory]
        )
        for index, directory in enumerate((A, B))
    )
    assert [partition(cluster, index).directory_of(ONE) for index in (0, 1)] == [A, B]
    assert [partition(cluster, index).leader_epoch for index in (0, 1)] == [0, 0]
    assert (assign(cluster, A, B), cluster.records) == (KNOWN, ())


def test_what_is_deleted_or_elsewhere_is_passed_over() -> None:
    cluster = cluster_with(A, B)
    event = AssignDirectories(
        "token",
        ONE,
        EPOCH,
        (
            ReplicaDirectory(uuid(99), 0, A),
            ReplicaDirectory(topic_id(cluster), 2, A),
        ),
    )
    assert (cluster.feed(event), cluster.records) == (KNOWN, ())
    cluster.feed(RegisterBroker(None, broker_registration(2), BrokerEpoch(8)))
    event = AssignDirectories(
        "token", BrokerId(2), BrokerEpoch(8), (ReplicaDirectory(topic_id(cluster), 0, A),)
    )
    assert (cluster.feed(event), cluster.records) == (KNOWN, ())


def test_a_failed_folder_takes_its_leaders_along() -> None:
    cluster = cluster_with(A, B, C)
    assign(cluster, A, B)
    assert cluster.feed(FailDirectories("token", ONE, EPOCH, (B,))) == DirectoriesKnown(1)
    assert cluster.records == (
        PartitionChangeRecord(
            partition_id=1,
            topic_id=topic_id(cluster),
            leader=-1,
            isr=[],
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=EPOCH, log_dirs=[A, C]),
    )
    assert [partition(cluster, index).leader for index in (0, 1)] == [1, -1]
    assert cluster.controller.image.brokers[ONE].log_dirs == (A, C)
    assert cluster.feed(FailDirectories("token", ONE, EPOCH, (B,))) == KNOWN
    assert not cluster.records


def test_what_has_no_leader_already_stays_so() -> None:
    cluster = cluster_with(A, B, C)
    assign(cluster, B, B)
    cluster.feed(FailDirectories("token", ONE, EPOCH, (B,)))
    register(cluster, A, B, C, epoch=9)
    cluster.feed(FailDirectories("token", ONE, BrokerEpoch(9), (B,)))
    assert len(cluster.records) == 3
    register(cluster, A, C, epoch=11)
    assert [partition(cluster, index).leader for index in (0, 1)] == [-1, -1]
    assert [partition(cluster, index).eligible_leader_replicas for index in (0, 1)] == [(), ()]


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_folder_that_is_missing_after_a_start_is_one_that_failed(was_clean: bool) -> None:
    cluster = cluster_with(A, B)
    assign(cluster, A, B)
    register(cluster, A, epoch=9, before=EPOCH if was_clean else None)
    assert [partition(cluster, index).leader for index in (0, 1)] == [1, -1]
    register(cluster, A, B, epoch=11, before=9 if was_clean else None)
    assert [partition(cluster, index).leader for index in (0, 1)] == [1, 1]
    assert partition(cluster, 1).leader_epoch == 2
    assert partition(cluster, 1).leader_recovery_state == RECOVERING, "what was there is lost"


@pytest.mark.parametrize("event", [AssignDirectories, FailDirectories])
def test_another_incarnation_comes_too_late(
    event: type[AssignDirectories] | type[FailDirectories],
) -> None:
    cluster = cluster_with(A, B)
    with pytest.raises(KafkaError) as caught:
        cluster.feed(event("token", ONE, BrokerEpoch(6), ()))
    assert caught.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_directory_that_nobody_told_is_not_offline() -> None:
    cluster = cluster_with(A, B)
    first = partition(cluster, 0)
    assert first.directory_of(BrokerId(5)) == UNASSIGNED_DIRECTORY
    assert not first.is_offline(ONE, (A, B))
    assert not first._replace(directories=(MIGRATING_DIRECTORY,)).is_offline(ONE, (A,))
    assert not first._replace(directories=()).is_offline(ONE, (A,))
    assert not first._replace(directories=(C,)).is_offline(ONE, ())
    assert first._replace(directories=(C,)).is_offline(ONE, (A, B))


def test_others_lead_what_a_broker_has_said_to_be_on_no_disk() -> None:
    cluster = Cluster(1, 2)
    cluster.create(NewTopic("t", 2, 2))
    before = [partition(cluster, index) for index in (0, 1)]
    (led,) = [index for index in (0, 1) if before[index].leader == 1]
    epoch = BrokerEpoch(1)
    cluster.feed(FailReplicas(ONE, BrokerEpoch(9), ((topic_id(cluster), led),)))
    assert cluster.records == (), "another life of it"
    lost = ((topic_id(cluster), led), (topic_id(cluster), 7), (uuid(99), 0))
    assert cluster.feed(FailReplicas(ONE, epoch, lost)) is None
    assert [each.leader for each in (partition(cluster, 0), partition(cluster, 1))] == [2, 2]
    assert partition(cluster, led).isr == (2,)
    assert partition(cluster, 1 - led) == before[1 - led]
    cluster.feed(FailReplicas(ONE, epoch, lost))
    assert cluster.records == (), "it is known"
    cluster.feed(FailReplicas(BrokerId(2), BrokerEpoch(2), ((topic_id(cluster), led),)))
    alone = partition(cluster, led)
    assert (alone.leader, alone.isr, alone.eligible_leader_replicas) == (NO_LEADER, (), ())
    assert alone.last_known_elr == (2,)
