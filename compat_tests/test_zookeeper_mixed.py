"""Two brokers of kafkalite and one of Kafka 3.9.2 in one ZooKeeper: either kind is the controller,
topics replicate both ways, and what was acknowledged survives either's death."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from compat_tests.zookeeper_cluster import ZooKeeperCluster
from kafkalite.cli.main import main

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

ROUND = 300
KAFKA = 3


class Traffic:
    """An idempotent producer with acks=all, and what became of its records."""

    def __init__(self, cluster: ZooKeeperCluster, topic: str) -> None:
        self.topic = topic
        self.bootstrap = cluster.bootstrap
        self.acknowledged: list[bytes] = []
        self.refused: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": 60_000,
                "reconnect.backoff.max.ms": 500,
                "socket.timeout.ms": 5_000,  # A process that was stopped does not hang up.
            }
        )
        self._sent = 0

    def send(self, count: int = ROUND) -> None:
        """To three partitions in turn."""
        for _ in range(count):
            value = b"%06d" % self._sent
            self._producer.produce(
                self.topic, value, partition=self._sent % 3, on_delivery=self._told
            )
            self._sent += 1
            self._producer.poll(0.001)

    def settle(self) -> None:
        assert self._producer.flush(90) == 0
        assert self.refused == []
        assert len(self.acknowledged) == self._sent

    def read_back(self) -> list[bytes]:
        """All there is, by partition, on behalf of a group."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(self.topic, each, 0) for each in range(3)])
        values: list[bytes] = []
        ended: set[int | None] = set()
        while len(ended) < 3:
            message = consumer.poll(30)
            assert message is not None, "no answer"
            error = message.error()
            if error is None:
                value = message.value()
                assert value is not None
                values.append(value)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        consumer.commit(asynchronous=False)
        consumer.close()
        return values

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            value = message.value()
            assert value is not None
            self.acknowledged.append(value)
        else:
            self.refused.append(error)


def all_in_sync(cluster: ZooKeeperCluster, topic: str) -> None:
    cluster.wait(
        lambda: all(len(cluster.state(topic, each).get("isr", ())) == 3 for each in range(3)),
        f"{topic} is not in sync everywhere",
    )


def create(cluster: ZooKeeperCluster, topic: str, *, at: int) -> None:
    """By whichever broker."""
    words = ["topics", "create", topic, "--partitions", "3", "--replication-factor", "3"]
    assert main([*words, "--bootstrap", cluster.addresses[at]]) == 0
    all_in_sync(cluster, topic)


def leads_something(cluster: ZooKeeperCluster, topic: str, id: int) -> bool:
    return any(cluster.state(topic, each)["leader"] == id for each in range(3))


def test_kafkalite_is_the_controller_and_kafka_dies(
    cluster: ZooKeeperCluster, tmp_path: Path
) -> None:
    cluster.start_lite(1, 2)
    cluster.start_real(KAFKA)
    assert cluster.controller() in (1, 2)
    create(cluster, "mixed", at=1)
    assert leads_something(cluster, "mixed", KAFKA)
    assert leads_something(cluster, "mixed", 1)
    traffic = Traffic(cluster, "mixed")
    traffic.send()
    traffic.settle()
    create(cluster, "doomed", at=2)
    cluster.kill(KAFKA)
    traffic.send()
    traffic.settle()
    delete = ["topics", "delete", "doomed", "--bootstrap"]
    assert main([*delete, cluster.addresses[1]]) == 0
    assert cluster.is_there("/admin/delete_topics/doomed")
    (folder,) = (tmp_path / f"real-{KAFKA}").rglob("doomed-0")
    cluster.start_real(KAFKA)
    all_in_sync(cluster, "mixed")
    cluster.wait(lambda: cluster.data("/brokers/topics/doomed") is None, "it is there still")
    assert not folder.exists()
    assert sorted(traffic.read_back()) == sorted(traffic.acknowledged)


def test_kafka_is_the_controller_and_kafkalite_dies(
    cluster: ZooKeeperCluster, tmp_path: Path
) -> None:
    cluster.start_real(KAFKA)
    cluster.start_lite(1, 2)
    assert cluster.controller() == KAFKA
    create(cluster, "mixed", at=1)
    assert leads_something(cluster, "mixed", KAFKA)
    assert leads_something(cluster, "mixed", 2)
    traffic = Traffic(cluster, "mixed")
    traffic.send()
    traffic.settle()
    create(cluster, "doomed", at=2)
    alters = ["configs", "set", "topic", "doomed", "retention.ms=77", "--bootstrap"]
    assert main([*alters, cluster.addresses[2]]) == 0
    assert cluster.json("/config/topics/doomed")["config"]["retention.ms"] == "77"
    own = ["configs", "set", "broker", "2", "log.retention.ms=77777", "--bootstrap"]
    assert main([*own, cluster.addresses[1]]) == 0
    assert cluster.json("/config/brokers/2")["config"] == {"log.retention.ms": "77777"}
    cluster.kill(2)
    traffic.send()
    traffic.settle()
    delete = ["topics", "delete", "doomed", "--bootstrap"]
    assert main([*delete, cluster.addresses[1]]) == 0
    folder = tmp_path / "lite-2" / "doomed-0"
    assert folder.is_dir()
    cluster.start_lite(2)
    all_in_sync(cluster, "mixed")
    cluster.wait(lambda: cluster.data("/brokers/topics/doomed") is None, "it is there still")
    assert not folder.exists()
    assert sorted(traffic.read_back()) == sorted(traffic.acknowledged)


def test_the_controller_goes_from_kafka_to_kafkalite(cluster: ZooKeeperCluster) -> None:
    cluster.start_real(KAFKA)
    cluster.start_lite(1, 2)
    create(cluster, "mixed", at=2)
    traffic = Traffic(cluster, "mixed")
    traffic.send()
    cluster.kill(KAFKA)
    traffic.send()
    traffic.settle()
    cluster.wait(lambda: cluster.controller() in (1, 2), "no controller")
    cluster.wait(
        lambda: all(KAFKA not in cluster.state("mixed", each)["isr"] for each in range(3)),
        "the new controller leaves the old one in sync",
    )
    assert sorted(traffic.read_back()) == sorted(traffic.acknowledged)
