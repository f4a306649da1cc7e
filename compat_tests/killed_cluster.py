"""Three broker processes over a real ZooKeeper, while producers with acks=all and idempotence send
and a reader reads: in each round a leader is killed, then the controller, then ZooKeeper, by
SIGKILL, and started again. Nothing that was acknowledged is lost, nothing is there twice, and
partitions keep their order.

python -m compat_tests.killed_cluster 30 1    # so many rounds, by that seed
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random  # noqa: TID251  # seeded; where a signal strikes is chance all the same.
from typing import NamedTuple

from compat_tests.counting_producer import CountingProducer, CountingReader, now_s
from compat_tests.zookeeper_cluster import ZooKeeperCluster
from compat_tests.zookeeper_process import ZooKeeperProcess
from kafkalite.cli.main import main

TOPIC = "numbers"
PARTITIONS = 3
IDS = (1, 2, 3)
WHILE_IT_IS_AWAY = 200
"""Records of each partition that are acknowledged without ZooKeeper."""


class Round(NamedTuple):
    """What one has cost, in seconds."""

    number: int
    is_at_once: bool
    """Whether brokers came back before others had taken over."""
    leader_s: float
    """From a leader's death until another one stands in ZooKeeper."""
    acknowledged_s: float
    """From a leader's death until a record that was sent after it is acknowledged."""
    controller_s: float
    """From the controller's death until there is another one, or it again."""
    zookeeper_s: float
    """The longest time without an acknowledgement while ZooKeeper is away and when it comes."""
    acknowledged: int
    """Records in all, since the beginning."""

    def line(self) -> str:
        """For people."""
        when = "at once" if self.is_at_once else "later"
        return (
            f"round {self.number}: no leader {self.leader_s:.2f} s, no acknowledgement "
            f"{self.acknowledged_s:.2f} s (back {when}); no controller {self.controller_s:.2f} s; "
            f"silent over ZooKeeper's death {self.zookeeper_s:.2f} s; "
            f"{self.acknowledged} records acknowledged"
        )


class Rounds:
    """All of them. `close` it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = Random(seed)
        self._folder = folder
        self._stack = ExitStack()
        self._ensemble = ZooKeeperProcess(folder / "zookeeper")
        self._stack.callback(self._ensemble.stop)
        self._cluster = ZooKeeperCluster(self._ensemble, folder)
        self._stack.callback(self._cluster.close)
        self._cluster.start_lite(*IDS)
        self._create()
        bootstrap = self._cluster.bootstrap
        self._reader = CountingReader(bootstrap, TOPIC, PARTITIONS)
        self._stack.callback(self._reader.close)
        self._producers = []
        for each in range(PARTITIONS):
            self._producers.append(CountingProducer(bootstrap, TOPIC, each))
            self._stack.callback(self._producers[-1].abandon)

    def close(self) -> None:
        self._stack.close()

    def play(self, number: int) -> Round:
        """`AssertionError` for what is wrong."""
        at_once = self._random.random() < 0.5  # Half of them.
        leader_s, acknowledged_s = self._kill_leader(at_once=at_once)
        controller_s = self._kill_controller(at_once=at_once)
        zookeeper_s = self._kill_zookeeper()
        acknowledged = [each.acknowledged for each in self._producers]
        self._reader.read_to(acknowledged)
        return Round(
            number, at_once, leader_s, acknowledged_s, controller_s, zookeeper_s, sum(acknowledged)
        )

    def finish(self) -> int:
        """All is there, once and in order, and the same on all brokers; how many records."""
        for producer in self._producers:
            producer.finish()
        self._reader.read_to([each.acknowledged for each in self._producers])
        self._wait_in_sync()
        for broker in self._cluster.lite.values():
            assert broker.stop() == 0
        for partition in range(PARTITIONS):
            folders = [self._folder / f"lite-{id}" / f"{TOPIC}-{partition}" for id in IDS]
            first, *others = [
                b"".join(file.read_bytes() for file in sorted(folder.glob("*.log")))
                for folder in folders
            ]
            assert all(each == first for each in others), f"partition {partition} differs"
        return sum(self._reader.found)

    def _create(self) -> None:
        words = ["--partitions", str(PARTITIONS), "--replication-factor", str(len(IDS))]
        config = ["--set", "min.insync.replicas=2"]
        at = ["--bootstrap", self._cluster.bootstrap]
        assert main(["topics", "create", TOPIC, *words, *config, *at]) == 0
        self._wait_in_sync()

    def _kill_leader(self, *, at_once: bool) -> tuple[float, float]:
        partition = self._random.randrange(PARTITIONS)
        producer = self._producers[partition]
        before = self._cluster.state(TOPIC, partition)
        versions = self._versions()
        self._cluster.kill(before["leader"])
        killed_s, first = now_s(), producer.sent
        if at_once:
            self._cluster.launch_lite(before["leader"])
        self._cluster.wait(
            lambda: self._is_led_anew(partition, before["leader_epoch"]),
            f"partition {partition} has no new leader since {before}",
        )
        leader_s = now_s() - killed_s
        producer.wait_acknowledged(first)
        acknowledged_s = now_s() - killed_s
        self._back(before["leader"], versions, is_launched=at_once)
        return leader_s, acknowledged_s

    def _is_led_anew(self, partition: int, epoch: int) -> bool:
        state = self._cluster.state(TOPIC, partition)
        return state["leader"] in IDS and state["leader_epoch"] > epoch

    def _kill_controller(self, *, at_once: bool) -> float:
        id, epoch = self._cluster.controller(), self._cluster.data("/controller_epoch")
        versions = self._versions()
        self._cluster.kill(id)
        killed_s = now_s()
        sent = [each.sent for each in self._producers]
        if at_once:
            self._cluster.launch_lite(id)
        self._cluster.wait(
            lambda: (
                self._cluster.controller() in IDS
                and self._cluster.data("/controller_epoch") != epoch
            ),
            "no new controller",
        )
        controller_s = now_s() - killed_s
        for producer, first in zip(self._producers, sent, strict=True):
            producer.wait_acknowledged(first)
        self._back(id, versions, is_launched=at_once)
        return controller_s

    def _kill_zookeeper(self) -> float:
        for producer in self._producers:
            producer.longest_silence_s()
        self._ensemble.kill()
        for producer in self._producers:
            producer.wait_acknowledged(producer.sent + WHILE_IT_IS_AWAY)
        self._ensemble.restart()
        self._cluster.wait(
            lambda: all(self._cluster.data(f"/brokers/ids/{id}") is not None for id in IDS),
            "not all are back",
        )
        self._wait_in_sync()
        for producer in self._producers:
            producer.wait_acknowledged(producer.sent)
        return max(each.longest_silence_s() for each in self._producers)

    def _versions(self) -> list[int]:
        return [self._cluster.version(TOPIC, each) for each in range(PARTITIONS)]

    def _back(self, id: int, versions: list[int], *, is_launched: bool) -> None:
        """Until it has left all ISRs, which had those versions when it died, and is in them again.
        Before that a partition may have no leader, and would wait for ZooKeeper if that died."""
        if not is_launched:
            self._cluster.launch_lite(id)
        self._cluster.lite[id].wait_ready()
        self._cluster.wait(
            lambda: all(
                now >= before + 2 for before, now in zip(versions, self._versions(), strict=True)
            ),
            f"broker {id} has not left all ISRs and come back",
        )
        self._wait_in_sync()

    def _wait_in_sync(self) -> None:
        self._cluster.wait(
            lambda: all(
                len(self._cluster.state(TOPIC, each).get("isr", ())) == len(IDS)
                for each in range(PARTITIONS)
            ),
            "not all replicas are in sync",
        )


def play(folder: Path, *, rounds: int, seed: int) -> int:
    """So many records were acknowledged and found. A line is printed for each round."""
    played = Rounds(folder, seed)
    try:
        for number in range(1, rounds + 1):
            print(played.play(number).line(), flush=True)
        return played.finish()
    finally:
        played.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        count = play(Path(temporary), rounds=int(sys.argv[1]), seed=int(sys.argv[2]))
    print(f"{count} records were acknowledged: all are there, once, in order, on all brokers")
