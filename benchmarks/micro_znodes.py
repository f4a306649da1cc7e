"""What a ZooKeeper costs three brokers when a topic of many partitions is made, when their
controller goes, and when the next one moves all leaders: cpu seconds of all three stores, which run
in one process without brokers around them. Wall time is told too; it tells of the machine.

    micro_znodes.py HOST:PORT [PARTITIONS]    # a ZooKeeper that runs; it works below a chroot
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Callable

from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import Endpoint, MetadataImage, PartitionImage
from kafkalite.metadata.store import BrokerRegistration, CommitResult, Committed
from kafkalite.ports.clock import RealClock
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper_kazoo import Ensemble, KazooZooKeeper
from kafkalite.protocol.messages.metadata_records import (
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.stores.zookeeper_founding import found_cluster
from kafkalite.types import BrokerId, Uuid

IDS = (1, 2, 3)
SESSION_MS = 60_000
TOPIC = "wide"
TOPIC_ID = Uuid(bytes(15) + b"\1")


class Member:
    """One broker's store."""

    def __init__(self, hosts: str, id: int) -> None:
        loop = asyncio.get_running_loop()
        kazoo = KazooZooKeeper(Ensemble(hosts, SESSION_MS), loop.call_soon_threadsafe)
        store = ZooKeeperStore(kazoo, "cluster", RealClock(), SeededEntropy(id))
        self.image = MetadataImage()
        self.session = store.open_session(BrokerId(id), lambda event: None)
        self.session.watch(self._folded)
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092)
        incarnation = Uuid(bytes(15) + bytes([id]))
        self.session.register(BrokerRegistration(BrokerId(id), incarnation, (endpoint,)))
        self.session.run_for_controller()

    @property
    def partitions(self) -> tuple[PartitionImage, ...]:
        topic = self.image.topics.get(TOPIC)
        return () if topic is None else topic.partitions

    async def commit(self, changes: list[Change]) -> None:
        done: asyncio.Future[CommitResult] = asyncio.get_running_loop().create_future()
        self.session.commit(self.image.epoch, tuple(changes), done.set_result)
        assert isinstance(await done, Committed)

    def _folded(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.image = image


async def until(holds: Callable[[], bool]) -> None:
    """Look again and again."""
    while not holds():  # noqa: ASYNC110  # Of many, who tell nobody.
        await asyncio.sleep(0.01)


class Lap:
    """Prints what it took since the last one."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def over(self, what: str) -> None:
        wall, cpu = time.monotonic(), time.process_time()
        print(f"{what}: cpu {cpu - self._cpu:.2f} s, wall {wall - self._wall:.2f} s", flush=True)
        self._wall, self._cpu = wall, cpu


def topic_of(partitions: int) -> list[Change]:
    records: list[Change] = [TopicRecord(name=TOPIC, topic_id=TOPIC_ID)]
    for at in range(partitions):
        replicas = [IDS[(at + step) % 3] for step in range(3)]
        records.append(
            PartitionRecord(
                partition_id=at, topic_id=TOPIC_ID, replicas=replicas, isr=replicas,
                leader=replicas[0], leader_epoch=0, partition_epoch=0,
            )
        )  # fmt: skip
    return records


def without_first(partitions: int) -> list[Change]:
    moves: list[Change] = []
    for at in range(partitions):
        move = PartitionChangeRecord(partition_id=at, topic_id=TOPIC_ID, isr=[2, 3])
        if at % 3 == 0:
            move.leader = 2
        moves.append(move)
    return moves


async def run(hosts: str, partitions: int) -> None:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[str] = loop.create_future()
    kazoo = KazooZooKeeper(Ensemble(hosts, SESSION_MS), loop.call_soon_threadsafe)
    found_cluster(kazoo, "cluster", found.set_result)
    await found
    first = Member(hosts, 1)
    await until(lambda: first.session.is_controller)
    others = [Member(hosts, id) for id in IDS[1:]]
    await until(lambda: all(len(each.image.brokers) == 3 for each in (first, *others)))
    lap = Lap()
    await first.commit(topic_of(partitions))
    await until(lambda: all(len(each.partitions) == partitions for each in (first, *others)))
    lap.over(f"made, with {partitions} partitions, and folded by all")
    first.session.close()
    await until(lambda: any(each.session.is_controller for each in others))
    lap.over("the next controller has read everything")
    (controller,) = (each for each in others if each.session.is_controller)
    await controller.commit(without_first(partitions))
    await until(lambda: all(p.isr == (2, 3) for each in others for p in each.partitions))
    lap.over("it has moved all leaders, and both have folded it")
    for each in others:
        each.session.close()
        await each.session.wait_closed()


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 9_990
    asyncio.run(run(f"{sys.argv[1]}/bench-{uuid.uuid4().hex[:8]}", count))
