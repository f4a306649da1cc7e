"""What a follower knows of producers and transactions is what its leader knows, so that it can lead
at any moment."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.server.partition import Partition
from kafkalite.testing.simulation import Simulation
from tests.log.trees import tree
from tests.server.running import simulated
from tests.server.running_cluster import RunningCluster, cluster_of
from tests.server.transactions import TransactionalProducer, find_coordinator, latest, seen


def known(partition: Partition) -> dict[int, tuple[object, ...]]:
    """Of each producer."""
    producers = partition.log.producers
    return {
        state.producer_id: (
            state.epoch,
            state.coordinator_epoch,
            state.last_timestamp,
            state.transaction_first_offset,
            tuple(state.batches),
        )
        for state in producers.active()
    }


def aborted(partition: Partition) -> list[AbortedTransaction]:
    return [each for one in partition.log.folder.segments.all for each in one.aborted.all]


def replica(cluster: RunningCluster, id: int) -> Partition:
    return cluster.brokers[id]._services.replicas.find("t", 0)


async def wait_for_copies(cluster: RunningCluster) -> None:
    copies = [replica(cluster, id) for id in cluster.brokers]
    while len({(each.log.end_offset, each.high_watermark) for each in copies}) > 1:
        await cluster.wait_ms(10)


@simulated
async def test_transactions_are_the_same_on_every_replica(simulation: Simulation) -> None:
    """One has committed, one aborted, one writes still."""
    async with cluster_of(simulation, transaction_state_log_num_partitions="1") as cluster:
        await find_coordinator(cluster.running(1))
        leader = cluster.partition("__transaction_state").leader
        others = [id for id in cluster.brokers if id != leader]
        running = cluster.running(leader)
        await running.create("t", assignments=[[leader, *others]])
        writers = [await TransactionalProducer.begin(running, id) for id in ("a", "b", "c")]
        for writer in writers:
            await writer.write("t", writer.id.encode())
        for writer, commits in zip(writers[:2], (True, False), strict=True):
            assert await writer.end(commits=commits) is ErrorCode.NONE
        await wait_for_copies(cluster)
        led = replica(cluster, leader)
        assert [state[3] for state in known(led).values()] == [None, None, 2]
        folder = tree(cluster.files[leader], "t-0")
        assert [each.first_offset for each in aborted(led)] == [1]
        for id in others:
            copy = replica(cluster, id)
            assert known(copy) == known(led)
            assert copy.last_stable_offset == led.last_stable_offset == 2
            assert tree(cluster.files[id], "t-0") == folder

        # Another leads: it tells the same of what is aborted, and where what is stable ends.
        await cluster.kill(leader)
        await cluster.wait_ms(100)
        successor = cluster.running(cluster.partition("t").leader)
        assert await latest(successor, "t", committed=True) == 2
        assert await latest(successor, "t", committed=False) == 5
        assert await seen(successor, "t") == [b"a"]
