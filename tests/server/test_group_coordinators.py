"""Which partitions a broker coordinates groups on, as the metadata changes."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.administration_events import GroupsListed, ListGroups
from kafkalite.coordinator.partitioner import partition_for
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.server.group_coordinators import GroupCoordinators
from kafkalite.server.replica_manager import RETRY_MS, ReplicaManager
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId
from tests.server.cluster_of_two import two_brokers
from tests.server.group_requests import commit, committed, find
from tests.server.running import Running, crashed, served, simulated, start
from tests.server.test_replica_manager import RefusingFiles

OFFSETS = "__consumer_offsets"


def coordinators(running: Running) -> GroupCoordinators:
    return running.broker._services.groups


def led(running: Running) -> int:
    """On how many partitions groups are coordinated here."""
    replies: list[list[object]] = []
    coordinators(running).ask_all(ListGroups(None), replies.append)
    assert all(isinstance(reply, GroupsListed) for reply in replies[0])
    return len(replies[0])


@pytest.mark.parametrize(
    ("group", "partition"),
    [("hello", 22), ("polygenelubricants", 0), ("\N{GRINNING FACE}", 49)],
)
@served()
async def test_a_group_is_kept_in_the_partition_of_javas_hash_of_its_name(
    running: Running, group: str, partition: int
) -> None:
    await running.create("t")
    await find(running, group)
    assert await commit(running, "t", 7, group=group) == ErrorCode.NONE
    ends = [running.partition(OFFSETS, index).log.end_offset for index in range(50)]
    assert [index for index, end in enumerate(ends) if end] == [partition]


@simulated
async def test_a_topic_of_another_size_counts_as_it_is(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create(OFFSETS, [1], [1], [1])
        assert coordinators(running).partition_of("group") == partition_for("group", 3)


@served(offsets_topic_num_partitions="4")
async def test_every_partition_led_here_has_a_coordinator(running: Running) -> None:
    assert led(running) == 0
    await find(running)
    assert led(running) == 4
    await running.delete(OFFSETS)
    assert led(running) == 0


@simulated
async def test_partitions_come_and_go_with_their_leaders(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create(OFFSETS, [1, 2], [2, 1])
        other.change(OFFSETS, 0, isr=[1])
        assert led(running) == 1
        other.change(OFFSETS, 1, isr=[1], leader=1)
        assert led(running) == 2
        other.change(OFFSETS, 0, isr=[1, 2], leader=2)
        assert led(running) == 1


@simulated
async def test_a_new_leader_epoch_is_a_new_coordinator_and_a_new_isr_is_not(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create(OFFSETS, [1, 2])
        before = coordinators(running)._led[0]
        other.change(OFFSETS, 0, isr=[1])
        assert coordinators(running)._led[0] is before
        other.change(OFFSETS, 0, leader=1)
        assert coordinators(running)._led[0] is not before
        assert led(running) == 1


@simulated
async def test_a_partition_that_cannot_be_opened_has_no_coordinator(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, topic: str, index: int) -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    async with two_brokers(simulation) as (running, other):
        other.create("topic", [1])
        _ = running.broker._services.groups  # Made before the topic is, which they follow.
        with monkeypatch.context() as patch:
            patch.setattr(ReplicaManager, "find", fail)
            other.create(OFFSETS, [1])
        assert await commit(running, "topic", 5) == ErrorCode.NOT_COORDINATOR


@simulated
async def test_a_broker_that_stops_takes_up_nothing_more(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create(OFFSETS, [BrokerId(1)])
        coordinators(running).stop()
        other.change(OFFSETS, 0, leader=1)
        assert led(running) == 0


@simulated
async def test_groups_are_coordinated_again_when_the_disk_takes_records_again(
    simulation: Simulation,
) -> None:
    files, settings = RefusingFiles(), {"offsets.topic.num.partitions": "1"}
    async with crashed(simulation, files, settings=settings) as running:
        await running.create("topic")
        await find(running)
        await commit(running, "topic", 5)
    files.refused = OFFSETS
    async with start(simulation, files, settings=settings) as running:
        for _ in range(3):
            assert await commit(running, "topic", 6) == ErrorCode.NOT_COORDINATOR
            await running.wait_ms(RETRY_MS)
        files.refused = None
        await running.wait_ms(RETRY_MS)
        assert await committed(running, "topic") == 5
        assert await commit(running, "topic", 6) == ErrorCode.NONE


@simulated
async def test_groups_learn_late_of_what_was_deleted_meanwhile(simulation: Simulation) -> None:
    files, settings = RefusingFiles(), {"offsets.topic.num.partitions": "1"}
    async with crashed(simulation, files, settings=settings) as running:
        await running.create("topic")
        await find(running)
        await commit(running, "topic", 5)
    files.refused = OFFSETS
    async with start(simulation, files, settings=settings) as running:
        assert await commit(running, "topic", 6) == ErrorCode.NOT_COORDINATOR
        await running.delete("topic")
        await running.create("topic")
        files.refused = None
        await running.wait_ms(2 * RETRY_MS)
        assert await committed(running, "topic") == -1


@simulated
async def test_a_topic_without_a_usable_log_may_be_deleted(simulation: Simulation) -> None:
    files, settings = RefusingFiles(), {"offsets.topic.num.partitions": "2"}
    async with crashed(simulation, files, settings=settings) as running:
        await running.create("topic")
        await find(running)
        await commit(running, "topic", 5)
    files.refused = OFFSETS
    async with start(simulation, files, settings=settings) as running:
        assert await commit(running, "topic", 6) == ErrorCode.NOT_COORDINATOR
        await running.delete(OFFSETS)
        files.refused = None
        await running.wait_ms(2 * RETRY_MS)
        assert led(running) == 0
        await find(running)
        assert await commit(running, "topic", 6) == ErrorCode.NONE
