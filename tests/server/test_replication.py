"""Several brokers: records are replicated, in-sync replicas shrink and grow, logs are the same."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.simulation import Simulation
from kafkalite.types import NO_LEADER
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, simulated
from tests.server.running_cluster import three_brokers


@simulated
async def test_what_is_acknowledged_by_all_is_in_every_log(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [2, 1, 3])
        assert await cluster.wrote("t", b"a", b"b") == 0
        assert await cluster.wrote("t", b"c") == 2
        for broker in (1, 2, 3):
            assert cluster.partition(broker, "t").log.end_offset == 3
        assert await cluster.read("t") == [b"a", b"b", b"c"]


@simulated
async def test_followers_hear_of_what_is_committed_with_the_next_records(
    simulation: Simulation,
) -> None:
    """Or when their fetch has waited: a high watermark alone is worth no answer."""
    async with three_brokers(simulation) as cluster:

        def told() -> list[int]:
            return [cluster.partition(id, "t").high_watermark for id in (1, 2, 3)]

        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        await cluster.wait_ms(1)
        assert told() == [1, 0, 0]
        await cluster.wrote("t", b"b")
        await cluster.wait_ms(1)
        assert told() == [2, 1, 1]
        await cluster.wait_ms(500)
        assert told() == [2, 2, 2]


@simulated
async def test_a_new_partition_is_fetched_at_once(simulation: Simulation) -> None:
    """Its leader keeps a fetch of others meanwhile."""
    async with three_brokers(simulation) as cluster:
        for topic in ("a", "b", "c"):
            await cluster.create(topic, [1, 2, 3])
            began_ms = simulation.clock.now_ms()
            await cluster.wrote(topic, b"x")
            assert simulation.clock.now_ms() - began_ms < 10
            await cluster.wait_ms(700)


@simulated
async def test_a_fetch_of_nothing_is_kept_until_there_is_news(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"a")
        await cluster.wait_ms(100)
        before = len(simulation.trace.lines)
        await cluster.wait_ms(5_000)
        idle = [line for line in simulation.trace.lines[before:] if "broker-2" in line]
        assert len(idle) <= 5_000 / 500 * 2 + 2


@simulated
async def test_files_of_all_replicas_are_the_same(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        small = {"segment.bytes": "1048576", "index.interval.bytes": "100000"}
        await cluster.create("t", [3, 1, 2], configs=small)
        for number in range(100):
            records = batch(bytes(59_000), producer_id=7, sequence=number)
            answer = await cluster.produce("t", records=records, acks=1 if number % 7 else -1)
            assert answer.error_code == ErrorCode.NONE
        await cluster.replicated("t", 1, 2)
        await cluster.end()
        leader = cluster.log_files(3, "t")
        assert sum(name.endswith(".log") for name in leader) > 4
        for follower in (1, 2):
            copy = cluster.log_files(follower, "t")
            assert copy.keys() == leader.keys()
            assert [name for name in leader if copy[name] != leader[name]] == []


@simulated
async def test_high_watermarks_are_on_the_disk_of_every_replica(simulation: Simulation) -> None:
    """Of a partition without other replicas there is nothing to remember."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.create("alone", [1])
        await cluster.wrote("t", b"a", b"b")
        await cluster.wait_ms(6_000)
        for broker in (1, 2):
            checkpoint = cluster.files[broker].open_read("replication-offset-checkpoint")
            assert checkpoint.read(0, checkpoint.size) == b"0\n1\nt 0 2\n"
        await cluster.kill(2)
        await cluster.start(2)
        assert cluster.partition(2, "t").high_watermark == 2


# Who is in sync.


@simulated
async def test_who_lags_for_too_long_is_out_of_sync_and_joins_again(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation, replica_lag_time_max_ms="4000") as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        cluster.stop_fetching(3)
        await cluster.wait_ms(10_000)
        assert cluster.isr("t") == {1, 2, 3}, "it has all there is"
        began_ms = simulation.clock.now_ms()
        assert await cluster.wrote("t", b"b") == 1
        assert cluster.isr("t") == {1, 2}
        assert 2_000 <= simulation.clock.now_ms() - began_ms <= 6_100
        assert await cluster.read("t") == [b"a", b"b"]
        await cluster.kill(3)
        await cluster.start(3)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})
        await cluster.replicated("t", 2, 3)


@simulated
async def test_a_leader_s_death_loses_nothing_that_all_had(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        await cluster.lose_power(1)
        await cluster.wait_until(lambda: cluster.leader("t") == 2)
        assert cluster.isr("t") == {2, 3}
        await cluster.wrote("t", b"b")
        await cluster.start(1)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})
        await cluster.replicated("t", 1, 3)
        assert await cluster.read("t") == [b"a", b"b"]
        assert cluster.leader("t") == 2


@simulated
async def test_with_too_few_in_sync_nothing_is_appended_for_all(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3], configs={"min.insync.replicas": "2"})
        await cluster.wrote("t", b"a")
        await cluster.kill(2, 3)
        await cluster.wait_until(lambda: cluster.isr("t") == {1})
        answer = await cluster.produce("t", b"b")
        assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        answer = await cluster.produce("t", b"c", acks=1)
        assert answer.error_code == ErrorCode.NONE
        assert await cluster.read("t") == [b"a"], "the high watermark rests"
        await cluster.start(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2})
        await cluster.replicated("t", 2)
        assert await cluster.read("t") == [b"a", b"c"]


@simulated
async def test_what_all_do_not_get_in_time_has_timed_out(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        cluster.stop_fetching(2)
        answer = await cluster.produce("t", b"b", timeout_ms=1_000)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT


@simulated
async def test_what_is_committed_is_told_as_such_whatever_comes_later(
    simulation: Simulation,
) -> None:
    """A produce waits for two partitions; the first loses its replicas while the other waits."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2], [1, 3], configs={"min.insync.replicas": "2"})
        for partition in (0, 1):
            await cluster.produce("t", b"a", partition=partition)
        cluster.stop_fetching(3)
        client = await cluster.client(1)
        request = produce("t", {0: batch(b"b"), 1: batch(b"b")}, timeout_ms=60_000)
        answer = client.send(request, PRODUCE, ProduceResponse)
        await cluster.wait_ms(100)
        await cluster.kill(2)
        assert cluster.isr("t") == {1}
        assert not answer.done()
        await cluster.kill(3)
        await cluster.start(3)
        response = await answer
        assert [each.error_code for each in produced(response)] == [0, 0]


@simulated
async def test_with_too_few_left_in_sync_a_produce_times_out(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2], configs={"min.insync.replicas": "2"})
        await cluster.wrote("t", b"a")
        cluster.stop_fetching(2)
        client = await cluster.client(1)
        request = produce("t", {0: batch(b"b")}, timeout_ms=5_000)
        answer = client.send(request, PRODUCE, ProduceResponse)
        await cluster.wait_ms(100)
        await cluster.kill(2)
        (told,) = produced(await answer)
        assert told.error_code == ErrorCode.REQUEST_TIMED_OUT


# What a produce can and cannot rely on.


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_a_leader_that_dies_before_it_answers_makes_a_plain_producer_write_twice(
    is_idempotent: bool,
) -> None:
    @simulated
    async def test(simulation: Simulation) -> None:
        async with three_brokers(simulation) as cluster:
            await cluster.create("t", [1, 2, 3])
            await cluster.wrote("t", b"a")
            record = batch(b"x", producer_id=7 if is_idempotent else -1, sequence=0)
            cluster.stop_fetching(3)
            answer = await cluster.produce("t", records=bytearray(record), timeout_ms=100)
            assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT, "2 has it, 3 has not"
            await cluster.kill(1)
            await cluster.wait_until(lambda: cluster.leader("t") == 2)
            answer = await cluster.produce("t", records=bytearray(record))
            assert answer.error_code == ErrorCode.NONE
            await cluster.replicated("t", 3)
            expected = [b"a", b"x"] if is_idempotent else [b"a", b"x", b"x"]
            assert await cluster.read("t") == expected

    test()


@pytest.mark.parametrize("min_in_sync", [1, 2])
def test_alone_in_sync_all_is_one_unless_more_are_required(min_in_sync: int) -> None:
    @simulated
    async def test(simulation: Simulation) -> None:
        async with three_brokers(simulation) as cluster:
            configs = {
                "min.insync.replicas": str(min_in_sync),
                "unclean.leader.election.enable": "true",
            }
            await cluster.create("t", [1, 2], configs=configs)
            await cluster.wrote("t", b"a")
            await cluster.wait_ms(6_000)  # High watermarks are on the disks.
            await cluster.kill(2)
            await cluster.wait_until(lambda: cluster.isr("t") == {1})
            answer = await cluster.produce("t", b"b")
            acknowledged = [b"a"]
            if min_in_sync == 1:
                assert answer.error_code == ErrorCode.NONE
                acknowledged.append(b"b")
            else:
                assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            await cluster.kill(1)
            await cluster.start(2)
            await cluster.wait_until(lambda: cluster.leader("t") == 2)
            kept = await cluster.read("t")
            assert (kept == acknowledged) is (min_in_sync == 2)
            assert kept == [b"a"]

    test()


@simulated
async def test_clients_are_told_which_replicas_are_offline(simulation: Simulation) -> None:
    """By Metadata, and by DescribeTopicPartitions, which tells no code where nobody leads."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.create("alone", [1])
        client = await cluster.client(2)
        await cluster.kill(1)
        told = await client.ask(MetadataRequest(topics=None), 9, MetadataResponse)
        (led,), (alone,) = (each.partitions for each in told.topics)
        assert (led.error_code, led.offline_replicas) == (ErrorCode.NONE, [1])
        assert (alone.error_code, alone.leader_id, alone.offline_replicas) == (
            ErrorCode.LEADER_NOT_AVAILABLE,
            NO_LEADER,
            [1],
        )
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="alone")])
        page = await client.ask(request, 0, DescribeTopicPartitionsResponse)
        (alone_again,) = page.topics[0].partitions
        assert (alone_again.error_code, alone_again.leader_id) == (ErrorCode.NONE, NO_LEADER)
        assert alone_again.offline_replicas == [1]
