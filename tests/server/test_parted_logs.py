"""Logs that have parted, or have nothing in common: followers end up with what their leader has.

What KIP-101 and KIP-279 were made for is here, step by step."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers

UNCLEAN = {"unclean.leader.election.enable": "true"}


async def parted(cluster: Cluster) -> None:
    """Broker 1 has written `lost`, which nobody else has, and has died; 2 has written `kept`."""
    await cluster.create("t", [1, 2, 3])
    await cluster.wrote("t", b"a")
    cluster.stop_fetching(2, 3)
    for _ in range(3):
        assert await cluster.wrote("t", b"lost", acks=1) > 0
    await cluster.kill(1)
    await cluster.wait_until(lambda: cluster.leader("t") == 2)
    await cluster.wrote("t", b"kept")


@simulated
async def test_a_log_that_has_parted_is_cut_to_its_leader_s(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await parted(cluster)
        await cluster.start(1)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})
        await cluster.replicated("t", 1, 3)
        assert await cluster.read("t") == [b"a", b"kept"]
        logs = [cluster.log_files(id, "t")["00000000000000000000.log"] for id in (1, 2, 3)]
        assert logs[0] == logs[1] == logs[2]


@simulated
async def test_a_leader_that_has_deleted_what_a_follower_lacks_is_followed_from_its_start(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        small = {"segment.bytes": "1048576"}
        await cluster.create("t", [1, 2], configs=small)
        await cluster.wrote("t", b"a")
        await cluster.kill(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1})
        for _ in range(20):
            await cluster.wrote("t", bytes(200_000))
        assert await cluster.delete_records("t", 15) == ErrorCode.NONE
        await cluster.start(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2})
        log = cluster.partition(2, "t").log
        assert (log.log_start_offset, log.end_offset) == (15, 21)
        assert await cluster.read("t", 15, broker=2)
        answer = await cluster.fetch("t", 14, broker=2)
        assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@simulated
async def test_a_log_that_has_parted_where_its_leader_s_begins_amid_a_batch(
    simulation: Simulation,
) -> None:
    """Of the batch's epoch the leader knows only what is left, and so cuts the follower there."""
    async with three_brokers(simulation) as cluster:
        await parted(cluster)
        await cluster.wrote("t", b"b", b"c", b"d")
        assert await cluster.delete_records("t", 3) == ErrorCode.NONE
        await cluster.start(1)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})
        await cluster.replicated("t", 1, 3)
        assert await cluster.read("t", 3, broker=1) == [b"b", b"c", b"d"]
        assert cluster.partition(1, "t").log.log_start_offset == 3


# Scenarios of Kafka's improvement proposals.


async def led_by(cluster: Cluster, broker: int) -> None:
    await cluster.wait_until(lambda: cluster.leader("t") == broker)


@simulated
async def test_kip_101_a_restart_keeps_what_is_above_the_high_watermark(
    simulation: Simulation,
) -> None:
    """A follower that has a record, and has not heard yet that it is committed, restarts and leads
    at once. Cut to its high watermark it would have lost it."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"m1")
        await cluster.wrote("t", b"m2")
        await cluster.kill(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1})
        await cluster.start(2)
        copy = cluster.partition(2, "t")
        assert (copy.log.end_offset, copy.high_watermark) == (2, 0)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2})
        await cluster.kill(1)
        await led_by(cluster, 2)
        assert await cluster.read("t") == [b"m1", b"m2"]


@simulated
async def test_kip_101_logs_of_one_length_agree_after_hard_failures(
    simulation: Simulation,
) -> None:
    """Two replicas wrote another record at the same offset: the lengths say nothing of it."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2], configs=UNCLEAN)
        await cluster.wrote("t", b"m1")
        cluster.stop_fetching(2)
        await cluster.wrote("t", b"m2", acks=1)
        await cluster.kill(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1})
        await cluster.kill(1)
        await cluster.start(2)
        await led_by(cluster, 2)
        await cluster.wrote("t", b"m3")
        await cluster.start(1)
        await cluster.replicated("t", 1)
        assert await cluster.read("t", broker=1) == [b"m1", b"m3"]


@simulated
async def test_kip_279_fast_leader_changes_leave_no_divergence(simulation: Simulation) -> None:
    """The leader names an epoch that the follower does not know: all that the follower has beyond
    the last one that both know goes, although the leader's log is longer."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2], configs=UNCLEAN)
        await cluster.wrote("t", b"x0")
        cluster.stop_fetching(2)
        await cluster.wrote("t", b"x1", acks=1)
        await cluster.kill(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1})
        await cluster.kill(1)
        await cluster.start(1)
        await led_by(cluster, 1)
        await cluster.wrote("t", b"x2")
        await cluster.kill(1)
        await cluster.start(2)
        await led_by(cluster, 2)
        for value in (b"y1", b"y2", b"y3"):
            await cluster.wrote("t", value)
        await cluster.kill(2)
        await cluster.start(1)
        await led_by(cluster, 1)
        await cluster.wrote("t", b"z")
        epochs = cluster.partition(1, "t").log.epochs.starts
        assert [start.start_offset for start in epochs] == [0, 2, 3], "x0 x1, x2, z"
        await cluster.start(2)
        await cluster.replicated("t", 2)
        assert await cluster.read("t", broker=2) == [b"x0", b"x1", b"x2", b"z"]
        assert [each.start_offset for each in cluster.partition(2, "t").log.epochs.starts] == [
            start.start_offset for start in epochs
        ]


@simulated
async def test_a_disk_that_lost_all_is_filled_anew(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        for value in (b"a", b"b"):
            await cluster.wrote("t", value)
        await cluster.lose_power(3)
        await cluster.start(3)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})
        await cluster.replicated("t", 3)
        assert await cluster.read("t", broker=3) == [b"a", b"b"]
