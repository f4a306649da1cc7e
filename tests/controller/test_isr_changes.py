from __future__ import annotations

import pytest

from kafkalite.controller.events import NewTopic
from kafkalite.controller.replica_events import (
    AlteredPartition,
    AlterPartitions,
    PartitionsAltered,
    ProposedIsr,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import PartitionImage
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
)
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, LeaderEpoch
from tests.controller.sample_cluster import Cluster, assignment, uuid
from tests.controller.sample_partitions import change

FIRST = LeaderEpoch(0)


def cluster() -> Cluster:
    """Of three; `t-0` is on all, led by 1."""
    made = Cluster(1, 2, 3)
    made.create(NewTopic("t", assignments=(assignment(0, 1, 2, 3),)))
    return made


def proposal(
    *isr: int | IsrMember,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    state: int = 0,
    partition: int = 0,
    topic: int = 1,
) -> ProposedIsr:
    members = tuple(
        each if isinstance(each, IsrMember) else IsrMember(BrokerId(each)) for each in isr
    )
    return ProposedIsr(
        uuid(topic), partition, LeaderEpoch(leader_epoch), partition_epoch, members, state
    )


def propose(on: Cluster, *proposals: ProposedIsr, broker: int = 1) -> tuple[AlteredPartition, ...]:
    answer = on.feed(
        AlterPartitions("token", BrokerId(broker), BrokerEpoch(broker), tuple(proposals))
    )
    assert isinstance(answer, PartitionsAltered)
    return answer.partitions


def first(on: Cluster) -> PartitionImage:
    return on.controller.image.topics["t"].partitions[0]


def test_the_leader_shrinks_and_grows_its_isr() -> None:
    on = cluster()
    (shrunk,) = propose(on, proposal(1, 3))
    assert shrunk == AlteredPartition(
        uuid(1), 0, leader=BrokerId(1), leader_epoch=FIRST, isr=first(on).isr, partition_epoch=1
    )
    assert on.records == (change(isr=[1, 3]),)
    three = IsrMember(BrokerId(3), BrokerEpoch(3))
    (grown,) = propose(on, proposal(1, three, 2, partition_epoch=1))
    assert (grown.isr, grown.partition_epoch, grown.leader_epoch) == ((1, 3, 2), 2, 0)


def test_what_is_so_already_changes_nothing() -> None:
    on = cluster()
    (answer,) = propose(on, proposal(1, 2, 3))
    assert (answer.code, answer.isr, answer.partition_epoch) == (ErrorCode.NONE, (1, 2, 3), 0)
    assert on.records == ()


@pytest.mark.parametrize(
    ("proposed", "broker", "code"),
    [
        (proposal(1, topic=9), 1, ErrorCode.UNKNOWN_TOPIC_ID),
        (proposal(1, partition=1), 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (proposal(1, partition=-1), 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (proposal(1, leader_epoch=1), 1, ErrorCode.NOT_CONTROLLER),
        (proposal(1, partition_epoch=1), 1, ErrorCode.NOT_CONTROLLER),
        (proposal(1, leader_epoch=-1), 1, ErrorCode.FENCED_LEADER_EPOCH),
        (proposal(2), 2, ErrorCode.INVALID_REQUEST),
        (proposal(1, partition_epoch=-1), 1, ErrorCode.INVALID_UPDATE_VERSION),
        (proposal(), 1, ErrorCode.INVALID_REQUEST),
        (proposal(1, 4), 1, ErrorCode.INVALID_REQUEST),
        (proposal(1, 1), 1, ErrorCode.INVALID_REQUEST),
        (proposal(2, 3), 1, ErrorCode.INVALID_REQUEST),
        (proposal(1, 2, state=1), 1, ErrorCode.INVALID_REQUEST),
        (proposal(1, state=1), 1, ErrorCode.INVALID_REQUEST),
        (proposal(1, state=2), 1, ErrorCode.INVALID_REQUEST),
        (
            proposal(1, IsrMember(BrokerId(2), BrokerEpoch(9))),
            1,
            ErrorCode.INELIGIBLE_REPLICA,
        ),
    ],
)
def test_proposals_that_are_refused(proposed: ProposedIsr, broker: int, code: ErrorCode) -> None:
    """The codes were asked of the real controller."""
    on = cluster()
    assert propose(on, proposed, broker=broker) == (
        AlteredPartition(proposed.topic_id, proposed.partition, code),
    )
    assert on.records == ()


@pytest.mark.parametrize(
    "going",
    [
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=2, fenced=1),
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=2, in_controlled_shutdown=1),
    ],
)
def test_who_is_going_is_not_let_in(going: BrokerRegistrationChangeRecord) -> None:
    on = cluster()
    on.controller.apply(going)
    (answer,) = propose(on, proposal(1, 2))
    assert answer.code is ErrorCode.INELIGIBLE_REPLICA


def test_who_was_unregistered_is_not_let_in() -> None:
    on = cluster()
    on.controller.apply(
        PartitionChangeRecord(partition_id=0, topic_id=uuid(1), replicas=[1, 2, 3, 4])
    )
    (answer,) = propose(on, proposal(1, 4, partition_epoch=1))
    assert answer.code is ErrorCode.INELIGIBLE_REPLICA


def test_each_proposal_stands_alone() -> None:
    on = cluster()
    refused, taken = propose(on, proposal(1, 9), proposal(1))
    assert (refused.code, taken.code) == (ErrorCode.INVALID_REQUEST, ErrorCode.NONE)
    assert first(on).isr == (1,)


def test_another_incarnation_is_refused_as_a_whole() -> None:
    with pytest.raises(KafkaError) as refused:
        cluster().feed(AlterPartitions("token", BrokerId(1), BrokerEpoch(7), (proposal(1),)))
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_recovered_leader_may_grow_its_isr() -> None:
    on = cluster()
    on.controller.apply(change(leader=1, isr=[1], leader_recovery_state=1))
    (recovering,) = propose(on, proposal(1, leader_epoch=1, partition_epoch=1, state=1))
    assert (recovering.leader_recovery_state, recovering.partition_epoch) == (1, 1)
    (recovered,) = propose(on, proposal(1, 2, leader_epoch=1, partition_epoch=1))
    assert (recovered.leader_recovery_state, recovered.isr) == (0, (1, 2))


def test_the_last_of_the_new_replicas_completes_a_reassignment() -> None:
    on = cluster()
    on.controller.apply(change(isr=[1, 2], adding_replicas=[3], removing_replicas=[2]))
    (answer,) = propose(on, proposal(1, 2, 3, partition_epoch=1))
    assert (answer.isr, answer.leader_epoch, answer.partition_epoch) == ((1, 3), 1, 2)
    after = first(on)
    assert (after.replicas, after.adding_replicas, after.removing_replicas) == ((1, 3), (), ())


def test_a_leader_that_its_proposal_takes_out_is_told() -> None:
    on = cluster()
    on.controller.apply(change(isr=[1, 2], adding_replicas=[3], removing_replicas=[1]))
    (answer,) = propose(on, proposal(1, 2, 3, partition_epoch=1))
    assert answer == AlteredPartition(uuid(1), 0, ErrorCode.NEW_LEADER_ELECTED)
    after = first(on)
    assert (after.replicas, after.isr, after.leader, after.leader_epoch) == ((2, 3), (2, 3), 2, 1)
