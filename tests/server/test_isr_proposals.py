"""What the controller is asked about in-sync replicas, and what its answers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.controller.replica_events import (
    AlteredPartition,
    AlterPartitions,
    PartitionsAltered,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.replica.isr_proposal import IsrProposal
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.isr_proposals import RETRY_MS, IsrProposals
from kafkalite.server.partition import Partition
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, LeaderEpoch, Offset, Uuid
from tests.log.log_fixtures import log_directory
from tests.server.hand_clock import HandClock
from tests.server.led_partitions import follower_at

ME, OTHER = BrokerId(1), BrokerId(2)
TOPIC_ID = Uuid(bytes(range(16)))
LAG_MS = 1_000


class World:
    """Partitions that this broker leads alone, and a controller that a test answers for."""

    def __init__(self, count: int = 1, *, keeps_order: bool = False) -> None:
        self.clock = HandClock()
        self.asked: list[AlterPartitions] = []
        self.replies: list[Callable[[Any], None]] = []  # Any: as `Submit` has it.
        self.proposals = IsrProposals(
            ME,
            self.submit,
            self.clock,
            broker_epoch=lambda: BrokerEpoch(10),
            lag_time_max_ms=LAG_MS,
            keeps_order=keeps_order,
        )
        self.partitions = [self.partition(index) for index in range(count)]
        self.proposals.start(lambda: self.partitions)

    def submit(self, event: AlterPartitions, on_reply: Callable[[Any], None]) -> None:
        self.asked.append(event)
        self.replies.append(on_reply)

    def partition(self, index: int) -> Partition:
        now = self.clock.now_ms()
        log = open_log(
            MemoryFiles(),
            f"t-{index}",
            config=TopicConfig(),
            topic_id=TOPIC_ID,
            now=now,
            clean=True,
        )
        partition = Partition("t", TOPIC_ID, index, log, TopicConfig(), log_directory())
        partition.become_leader(
            PartitionLeader(
                ME,
                leader_epoch=LeaderEpoch(3),
                partition_epoch=7,
                replicas=(ME, OTHER),
                isr=frozenset({ME}),
                end_offset=Offset(0),
                high_watermark=Offset(0),
                active={ME: BrokerEpoch(10), OTHER: BrokerEpoch(20)},
                lag_time_max_ms=LAG_MS,
                now=now,
            )
        )
        partition.propose_isr = self.proposals.propose
        return partition

    def catch_up(self, *indexes: int) -> None:
        for index in indexes:
            follower_at(self.partitions[index], OTHER, 0, now=self.clock.now_ms())

    def answer(self, *altered: AlteredPartition | KafkaError) -> None:
        """The oldest question."""
        error = altered[0] if isinstance(altered[0], KafkaError) else None
        self.replies.pop(0)(error or PartitionsAltered(altered))  # type: ignore[arg-type]


def joined(index: int = 0, *, leader_epoch: int = 3, partition_epoch: int = 8) -> AlteredPartition:
    return AlteredPartition(
        TOPIC_ID,
        index,
        leader=ME,
        leader_epoch=LeaderEpoch(leader_epoch),
        isr=(ME, OTHER),
        partition_epoch=partition_epoch,
    )


def test_all_partitions_of_a_turn_are_asked_about_together() -> None:
    world = World(3)
    world.catch_up(0, 2)
    assert not world.asked
    world.clock.advance(0)
    (event,) = world.asked
    assert (event.broker_id, event.broker_epoch) == (ME, 10)
    assert [(each.topic_id, each.partition) for each in event.partitions] == [
        (TOPIC_ID, 0),
        (TOPIC_ID, 2),
    ]
    first = event.partitions[0]
    assert (first.leader_epoch, first.partition_epoch) == (3, 7)
    assert [(member.broker_id, member.broker_epoch) for member in first.new_isr] == [
        (ME, 10),
        (OTHER, -1),
    ]


@pytest.mark.parametrize(("keeps_order", "named"), [(False, [1, 2, 3]), (True, [2, 3, 1])])
def test_members_are_named_by_id_or_as_they_came(keeps_order: bool, named: list[int]) -> None:
    world = World(keeps_order=keeps_order)
    members = tuple(IsrMember(BrokerId(id), BrokerEpoch(5)) for id in (2, 3, 1))
    proposal = IsrProposal(LeaderEpoch(3), 7, members, BrokerId(1))
    world.partitions[0].leading.proposal = proposal
    world.proposals.propose(world.partitions[0], proposal)
    world.clock.advance(0)
    ((proposed,),) = (event.partitions for event in world.asked)
    assert [member.broker_id for member in proposed.new_isr] == named


def test_what_comes_while_one_is_asked_waits_for_the_answer() -> None:
    world = World(2)
    world.catch_up(0)
    world.clock.advance(0)
    world.catch_up(1)
    world.clock.advance(RETRY_MS)
    assert len(world.asked) == 1
    world.answer(joined())
    world.clock.advance(0)
    assert [each.partition for each in world.asked[1].partitions] == [1]
    assert world.partitions[0].leading.isr == {ME, OTHER}


@pytest.mark.parametrize(
    "answer",
    [
        KafkaError(ErrorCode.REQUEST_TIMED_OUT),
        AlteredPartition(TOPIC_ID, 0, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_fails_for_a_reason_that_passes_is_asked_again(
    answer: AlteredPartition | KafkaError,
) -> None:
    world = World()
    world.catch_up(0)
    world.clock.advance(0)
    world.answer(answer)
    world.clock.advance(RETRY_MS - 1)
    assert len(world.asked) == 1
    world.clock.advance(1)
    assert len(world.asked) == 2
    world.answer(joined())
    assert world.partitions[0].leading.isr == {ME, OTHER}


def test_each_partition_takes_its_own_answer_in_whatever_order_they_come() -> None:
    """Over the wire they come by topic."""
    world = World(3)
    world.catch_up(0, 1, 2)
    world.clock.advance(0)
    world.answer(AlteredPartition(TOPIC_ID, 2, ErrorCode.INELIGIBLE_REPLICA), joined(1), joined(0))
    assert [each.leading.isr for each in world.partitions] == [{ME, OTHER}, {ME, OTHER}, {ME}]
    assert [each.leading.proposal for each in world.partitions] == [None, None, None]


def test_what_an_answer_leaves_out_is_asked_again() -> None:
    world = World(2)
    world.catch_up(0, 1)
    world.clock.advance(0)
    world.answer(joined(1))
    world.clock.advance(RETRY_MS)
    assert [each.partition for each in world.asked[1].partitions] == [0]


def test_what_is_out_of_date_is_not_asked_again() -> None:
    world = World()
    world.catch_up(0)
    world.clock.advance(0)
    world.answer(AlteredPartition(TOPIC_ID, 0, ErrorCode.FENCED_LEADER_EPOCH))
    world.clock.advance(10 * RETRY_MS)
    assert len(world.asked) == 1


def test_an_answer_of_another_leader_epoch_says_nothing() -> None:
    world = World()
    world.catch_up(0)
    world.clock.advance(0)
    world.answer(joined(leader_epoch=4))
    assert world.partitions[0].leading.isr == {ME}


def test_who_does_not_lead_any_more_is_not_asked_for() -> None:
    world = World(2)
    world.catch_up(0, 1)
    world.partitions[0].resign()
    world.clock.advance(0)
    assert [each.partition for each in world.asked[0].partitions] == [1]
    world.partitions[1].resign()
    world.answer(joined(1))
    world.clock.advance(RETRY_MS)
    assert len(world.asked) == 1


def test_lagging_replicas_are_looked_for_every_half_of_their_time() -> None:
    world = World()
    world.catch_up(0)
    world.clock.advance(0)
    world.answer(joined())
    leader = world.partitions[0].leading
    leader.appended(Offset(1), world.clock.now_ms())
    world.clock.advance(LAG_MS)
    assert len(world.asked) == 1
    world.clock.advance(LAG_MS // 2)
    world.clock.advance(0)
    assert [member.broker_id for member in world.asked[1].partitions[0].new_isr] == [ME]


def test_a_broker_that_stops_asks_nothing_more() -> None:
    world = World(2)
    world.catch_up(0)
    world.clock.advance(0)
    world.catch_up(1)
    world.proposals.stop()
    world.answer(joined())
    world.clock.advance(10 * LAG_MS)
    assert len(world.asked) == 1
    assert world.clock.waiting == 0
