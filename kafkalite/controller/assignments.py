"""New partitions of a topic: by the client's assignment, or placed.

Source: Kafka's `ReplicationControlManager.createTopic`, `createPartitions` and
`validateManualPartitionAssignment`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NoReturn

from kafkalite.controller.brokers import active_ids
from kafkalite.controller.events import PartitionAssignment
from kafkalite.controller.placement import place_replicas
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    MetadataImage,
    PartitionImage,
)
from kafkalite.types import BrokerId, LeaderEpoch, Uuid


def placed_partitions(
    image: MetadataImage, *, count: int, factor: int, seed: int
) -> list[PartitionImage]:
    """Partitions wherever placement puts them. `KafkaError(INVALID_REPLICATION_FACTOR)` when it
    cannot."""
    active = active_ids(image)
    placed = place_replicas(image.brokers.values(), partitions=count, factor=factor, seed=seed)
    # Partitions of the same replicas are the same, and few in kind: one image does for all of them.
    kinds = {
        replicas: _new_partition(image, replicas, active) for replicas in dict.fromkeys(placed)
    }
    return [kinds[replicas] for replicas in placed]


def manual_partitions(
    image: MetadataImage, assignments: Sequence[PartitionAssignment]
) -> list[PartitionImage]:
    """Partitions as assigned. `KafkaError(INVALID_REPLICA_ASSIGNMENT)` for an assignment that
    cannot be."""
    active = active_ids(image)
    partitions: dict[int, PartitionImage] = {}
    factor: int | None = None
    for assignment in assignments:
        index = assignment.partition
        if index in partitions:
            _refuse(f"Found multiple manual partition assignments for partition {index}")
        partitions[index] = _manual_partition(image, index, assignment.replicas, factor, active)
        factor = len(assignment.replicas)
    if any(index not in partitions for index in range(len(partitions))):
        _refuse("partitions should be a consecutive 0-based integer sequence")
    return [partitions[index] for index in range(len(partitions))]


def added_partitions(
    image: MetadataImage,
    assignments: Sequence[tuple[BrokerId, ...]],
    *,
    first: int,
    factor: int,
) -> list[PartitionImage]:
    """Partitions from index `first` on, as assigned, each with `factor` replicas.
    `KafkaError(INVALID_REPLICA_ASSIGNMENT)` for an assignment that cannot be."""
    active = active_ids(image)
    return [
        _manual_partition(image, index, replicas, factor, active)
        for index, replicas in enumerate(assignments, first)
    ]


def _manual_partition(
    image: MetadataImage,
    index: int,
    replicas: tuple[BrokerId, ...],
    factor: int | None,
    active: Collection[BrokerId],
) -> PartitionImage:
    check_replicas(image, replicas, factor)
    if not any(id in active for id in replicas):
        _refuse(
            "All brokers specified in the manual partition assignment for partition"
            f" {index} are fenced or in controlled shutdown."
        )
    return _new_partition(image, replicas, active)


def check_replicas(
    image: MetadataImage, replicas: Sequence[BrokerId], factor: int | None = None
) -> None:
    """`KafkaError(INVALID_REPLICA_ASSIGNMENT)` unless these can be the replicas of a partition;
    with `factor`, of so many."""
    includes = "The manual partition assignment includes"
    if not replicas:
        _refuse(f"{includes} an empty replica list.")
    ordered = sorted(replicas)
    for i, id in enumerate(ordered):
        if id not in image.brokers:
            _refuse(f"{includes} broker {id}, but no such broker is registered.")
        if i > 0 and ordered[i - 1] == id:
            _refuse(f"{includes} the broker {id} more than once.")
    if factor is not None and len(replicas) != factor:
        _refuse(
            f"{includes} a partition with {len(replicas)} replica(s), but this is not consistent"
            f" with previous partitions, which have {factor} replica(s)."
        )


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _new_partition(
    image: MetadataImage, replicas: tuple[BrokerId, ...], active: Collection[BrokerId]
) -> PartitionImage:
    """Led by the first replica that is active; there is one."""
    isr = tuple(id for id in replicas if id in active)
    return PartitionImage(
        replicas=replicas,
        isr=isr,
        leader=isr[0],
        leader_epoch=LeaderEpoch(0),
        partition_epoch=0,
        directories=tuple(default_directory(image, id) for id in replicas),
    )


def default_directory(image: MetadataImage, id: BrokerId) -> Uuid:
    """Where a new replica of that broker will be: known while the broker has one folder."""
    directories = image.brokers[id].log_dirs
    if len(directories) == 1:
        return directories[0]
    return UNASSIGNED_DIRECTORY if directories else MIGRATING_DIRECTORY
