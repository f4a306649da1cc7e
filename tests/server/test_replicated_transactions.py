"""What a follower knows of producers and transactions is what its leader knows, so that it can lead
at any moment."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.server.partition import Partition
from kafkalite.testing.simulation import Simulation
from tests.server.running import Running, simulated
from tests.server.running_cluster import Cluster, three_brokers
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


def running(cluster: Cluster, id: int) -> Running:
    return Running(cluster.simulation, cluster.brokers[id], cluster.files[id], host=f"broker-{id}")


@simulated
async def test_transactions_are_the_same_on_every_replica(simulation: Simulation) -> None:
    """One has committed, one aborted, one writes still."""
    async with three_brokers(simulation, transaction_state_log_num_partitions="1") as cluster:
        await find_coordinator(running(cluster, 1))
        leader = cluster.leader("__transaction_state")
        others = [id for id in (1, 2, 3) if id != leader]
        await cluster.create("t", [leader, *others])
        client = running(cluster, leader)
        writers = [await TransactionalProducer.begin(client, id) for id in ("a", "b", "c")]
        for writer in writers:
            await writer.write("t", writer.id.encode())
        for writer, commits in zip(writers[:2], (True, False), strict=True):
            assert await writer.end(commits=commits) is ErrorCode.NONE
        await cluster.replicated("t", *others)
        led = cluster.partition(leader, "t")
        assert [state[3] for state in known(led).values()] == [None, None, 2]
        assert [each.first_offset for each in aborted(led)] == [1]
        for id in others:
            copy = cluster.partition(id, "t")
            assert known(copy) == known(led)
            assert aborted(copy) == aborted(led)
            assert copy.last_stable_offset == led.last_stable_offset == 2
            assert cluster.log_files(id, "t") == cluster.log_files(leader, "t")

        # Another leads: it tells the same of what is aborted, and where what is stable ends.
        await cluster.kill(leader)
        await cluster.wait_until(lambda: cluster.leader("t") != leader)
        successor = running(cluster, cluster.leader("t"))
        assert await latest(successor, "t", committed=True) == 2
        assert await latest(successor, "t", committed=False) == 5
        assert await seen(successor, "t") == [b"a"]
