from __future__ import annotations

from kafkalite.metadata.image import VersionRange
from kafkalite.metadata.registrations import (
    changed_partition,
    new_credential,
    new_partition,
    registered_broker,
    registered_controller,
)
from kafkalite.protocol.messages.metadata_records import (
    ControllerEndpoint,
    ControllerFeature,
    PartitionChangeRecord,
    RegisterControllerRecord,
    UserScramCredentialRecord,
)
from tests.metadata.sample_changes import endpoint, partition, registration, uuid

BEFORE = new_partition(
    partition(
        1,
        0,
        [1, 2],
        leader_epoch=5,
        partition_epoch=7,
        adding_replicas=[2],
        removing_replicas=[1],
        eligible_leader_replicas=[2],
        last_known_elr=[1],
        leader_recovery_state=1,
    )
)


def test_a_new_partition() -> None:
    assert (BEFORE.replicas, BEFORE.isr, BEFORE.leader) == ((1, 2), (1, 2), 1)
    assert (BEFORE.leader_epoch, BEFORE.partition_epoch) == (5, 7)
    assert (BEFORE.adding_replicas, BEFORE.removing_replicas) == ((2,), (1,))
    assert (BEFORE.eligible_leader_replicas, BEFORE.last_known_elr) == ((2,), (1,))


def test_a_change_that_names_nothing_raises_the_partition_epoch_alone() -> None:
    after = changed_partition(BEFORE, PartitionChangeRecord())
    assert after.partition_epoch == 8
    assert after == changed_partition(
        BEFORE,
        PartitionChangeRecord(
            isr=[1, 2],
            replicas=[1, 2],
            adding_replicas=[2],
            removing_replicas=[1],
            directories=[uuid(101), uuid(102)],
            eligible_leader_replicas=[2],
            last_known_elr=[1],
            leader_recovery_state=1,
        ),
    )
    assert (after.leader, after.leader_epoch) == (1, 5)


def test_a_leader_chosen_again_has_a_new_epoch() -> None:
    after = changed_partition(BEFORE, PartitionChangeRecord(leader=1))
    assert (after.leader, after.leader_epoch) == (1, 6)
    lost = changed_partition(after, PartitionChangeRecord(leader=-1))
    assert (lost.leader, lost.leader_epoch, lost.partition_epoch) == (-1, 7, 9)


def test_everything_can_change() -> None:
    after = changed_partition(
        BEFORE,
        PartitionChangeRecord(
            isr=[],
            leader=3,
            replicas=[3],
            adding_replicas=[],
            removing_replicas=[],
            directories=[uuid(103)],
            eligible_leader_replicas=[],
            last_known_elr=[],
            leader_recovery_state=0,
        ),
    )
    assert (after.isr, after.leader, after.replicas) == ((), 3, (3,))
    assert (after.adding_replicas, after.removing_replicas) == ((), ())
    assert (after.eligible_leader_replicas, after.last_known_elr) == ((), ())
    assert (after.directories, after.leader_recovery_state) == ((uuid(103),), 0)


def test_a_broker() -> None:
    broker = registered_broker(registration(3, epoch=14, fenced=True))
    assert (broker.id, broker.epoch, broker.fenced) == (3, 14, True)
    assert broker.endpoints == (endpoint(3),)
    assert broker.features == {"metadata.version": VersionRange(7, 33)}
    assert broker.log_dirs == (uuid(103),)


def test_a_controller() -> None:
    controller = registered_controller(
        RegisterControllerRecord(
            controller_id=1,
            incarnation_id=uuid(2),
            zk_migration_ready=True,
            end_points=[ControllerEndpoint(name="C", host="h", port=3, security_protocol=1)],
            features=[
                ControllerFeature(
                    name="kraft.version", min_supported_version=0, max_supported_version=1
                )
            ],
        )
    )
    assert controller.incarnation_id == uuid(2)
    assert controller.zk_migration_ready
    assert controller.endpoints[0].security_protocol == 1
    assert controller.features == {"kraft.version": VersionRange(0, 1)}


def test_a_credential_keeps_nothing_of_the_buffer_it_was_read_from() -> None:
    buffer = bytearray(b"saltstoredserver")
    view = memoryview(buffer)
    record = UserScramCredentialRecord(
        name="alice", mechanism=1, salt=b"", stored_key=b"", server_key=b"", iterations=8192
    )
    record.salt, record.stored_key, record.server_key = view[:4], view[4:10], view[10:]  # type: ignore[assignment]
    found = new_credential(record)
    buffer[:] = bytes(16)
    assert found == (b"salt", b"stored", b"server", 8192)
