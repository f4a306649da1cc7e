"""From one record to the image of what it registers: partition, broker, controller, credential.

Source: Kafka's `PartitionRegistration` (with `merge`), `BrokerRegistration`,
`ControllerRegistration`, `ScramCredentialData`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from kafkalite.metadata.image import (
    BrokerImage,
    ControllerImage,
    Endpoint,
    PartitionImage,
    VersionRange,
)
from kafkalite.metadata.scram import ScramCredential
from kafkalite.protocol.messages.metadata_records import (
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UserScramCredentialRecord,
)
from kafkalite.types import BrokerEpoch, BrokerId, LeaderEpoch, Uuid

KEEP_LEADER = -2
"""In a PartitionChangeRecord: the leader stays, and so does its epoch."""
_KEEP_RECOVERY_STATE = -1


def ids(raw: Iterable[int]) -> tuple[BrokerId, ...]:
    """As the image keeps a list of brokers."""
    # A cast, for a call of `BrokerId` for each costs more than all else that a partition takes.
    return cast("tuple[BrokerId, ...]", tuple(raw))


def uuids(raw: Iterable[bytes]) -> tuple[Uuid, ...]:
    """As the image keeps a list of ids: copied, since views of a buffer may come in."""
    return cast("tuple[Uuid, ...]", tuple(map(bytes, raw)))  # As above.


def new_partition(record: PartitionRecord) -> PartitionImage:
    """The partition that the record makes."""
    return PartitionImage(
        replicas=ids(record.replicas),
        isr=ids(record.isr),
        leader=BrokerId(record.leader),
        leader_epoch=LeaderEpoch(record.leader_epoch),
        partition_epoch=record.partition_epoch,
        directories=uuids(record.directories),
        removing_replicas=ids(record.removing_replicas),
        adding_replicas=ids(record.adding_replicas),
        leader_recovery_state=record.leader_recovery_state,
        eligible_leader_replicas=ids(record.eligible_leader_replicas or ()),
        last_known_elr=ids(record.last_known_elr or ()),
    )


def changed_partition(before: PartitionImage, change: PartitionChangeRecord) -> PartitionImage:
    """The partition after the change. Lists that are None stay as they are; an empty one is a
    value."""

    def kept(raw: Iterable[int] | None, old: tuple[BrokerId, ...]) -> tuple[BrokerId, ...]:
        return old if raw is None else ids(raw)

    keeps_leader = change.leader == KEEP_LEADER
    keeps_recovery = change.leader_recovery_state == _KEEP_RECOVERY_STATE
    return PartitionImage(
        replicas=kept(change.replicas, before.replicas),
        isr=kept(change.isr, before.isr),
        leader=before.leader if keeps_leader else BrokerId(change.leader),
        leader_epoch=before.leader_epoch if keeps_leader else LeaderEpoch(before.leader_epoch + 1),
        partition_epoch=before.partition_epoch + 1,
        directories=before.directories if change.directories is None else uuids(change.directories),
        removing_replicas=kept(change.removing_replicas, before.removing_replicas),
        adding_replicas=kept(change.adding_replicas, before.adding_replicas),
        leader_recovery_state=(
            before.leader_recovery_state if keeps_recovery else change.leader_recovery_state
        ),
        eligible_leader_replicas=kept(
            change.eligible_leader_replicas, before.eligible_leader_replicas
        ),
        last_known_elr=kept(change.last_known_elr, before.last_known_elr),
    )


def registered_broker(record: RegisterBrokerRecord) -> BrokerImage:
    """The broker that the record registers."""
    return BrokerImage(
        id=BrokerId(record.broker_id),
        epoch=BrokerEpoch(record.broker_epoch),
        incarnation_id=Uuid(bytes(record.incarnation_id)),
        endpoints=tuple(
            Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points
        ),
        features={
            f.name: VersionRange(f.min_supported_version, f.max_supported_version)
            for f in record.features
        },
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=uuids(record.log_dirs),
    )


def registered_controller(record: RegisterControllerRecord) -> ControllerImage:
    """The controller that the record registers."""
    return ControllerImage(
        id=BrokerId(record.controller_id),
        incarnation_id=Uuid(bytes(record.incarnation_id)),
        endpoints=tuple(
            Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points
        ),
        features={
            f.name: VersionRange(f.min_supported_version, f.max_supported_version)
            for f in record.features
        },
        zk_migration_ready=record.zk_migration_ready,
    )


def new_credential(record: UserScramCredentialRecord) -> ScramCredential:
    """The credential that the record sets: copied, since views of a buffer may come in."""
    return ScramCredential(
        salt=bytes(record.salt),
        stored_key=bytes(record.stored_key),
        server_key=bytes(record.server_key),
        iterations=record.iterations,
    )
