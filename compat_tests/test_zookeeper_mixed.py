"""Two brokers of kafkalite and one of Kafka 3.9.2 in one ZooKeeper: either kind is the controller,
topics replicate both ways, and what was acknowledged survives either's death."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.zookeeper_cluster import ZooKeeperCluster
from kafkalite.cli.authentication import ask
from kafkalite.cli.main import main
from kafkalite.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from kafkalite.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafkalite.protocol.schema import Request, Response
from kafkalite.stores import znodes
from kafkalite.types import BrokerId, ControllerEpoch, LeaderEpoch, Uuid
from kafkalite.types import TopicPartition as TopicIndex

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

R = TypeVar("R", bound=Response)
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


def hand_over(cluster: ZooKeeperCluster, traffic: Traffic, folder: Path) -> None:
    """A kafkalite that is the controller dies amid all that it can be about, and the Kafka goes on
    with it. The other kafkalite has died before it, and is thought to be alive: so nothing ends."""
    controller = cluster.controller()
    other = 3 - controller
    place(cluster, "moving", [[KAFKA], [KAFKA]])
    place(cluster, "going", [[KAFKA, controller, other]])
    cluster.wait(lambda: isr(cluster, "going") == {1, 2, 3}, "it is not in sync")
    traffic.send()
    cluster.kill(other)
    move(cluster, "moving", 0, [other], at=controller)
    cluster.write("/admin/reassign_partitions", reassignments("moving", 1, [other, KAFKA]))
    cluster.wait(
        lambda: (
            cluster.json("/brokers/topics/moving")["adding_replicas"]
            == {"0": [other], "1": [other]}
        ),
        "nothing moves",
    )
    cluster.write("/admin/delete_topics/going", b"")
    cluster.wait(lambda: cluster.state("going", 0)["leader"] == -1, "it is not deleted")
    cluster.kill(controller)
    leave_half_made(cluster, "half", [KAFKA, other, controller])
    cluster.write("/admin/preferred_replica_election", preferred("mixed", led_by_others(cluster)))
    epoch = int(cluster.data("/controller_epoch") or b"")
    cluster.remove("/controller")  # Else that takes as long as the session.
    cluster.wait(lambda: cluster.controller() == KAFKA, "the Kafka does not take over")
    assert int(cluster.data("/controller_epoch") or b"") == epoch + 1
    traffic.send()
    cluster.wait(lambda: cluster.data("/admin/preferred_replica_election") is None, "it is wanted")
    assert led_by_others(cluster) == []
    assert cluster.is_there("/brokers/topics/going")
    kept = folder / f"lite-{other}" / "going-0"
    assert kept.is_dir()
    cluster.start_lite(other, controller)
    traffic.send()
    traffic.settle()
    all_in_sync(cluster, "mixed")
    cluster.wait(lambda: isr(cluster, "half", 1) == {1, 2, 3}, "it was not made whole")
    cluster.wait(
        lambda: (
            not cluster.json("/brokers/topics/moving")["adding_replicas"]
            and not cluster.json("/brokers/topics/moving")["removing_replicas"]
            and not cluster.is_there("/admin/reassign_partitions")
        ),
        "it does not arrive",
    )
    assert cluster.json("/brokers/topics/moving")["partitions"] == {
        "0": [other],
        "1": [other, KAFKA],
    }
    assert isr(cluster, "moving") == {other}
    cluster.wait(lambda: not cluster.is_there("/brokers/topics/going"), "it is there still")
    assert not cluster.is_there("/admin/delete_topics/going")
    assert not kept.exists()
    assert cluster.controller() == KAFKA


def take_over(cluster: ZooKeeperCluster, traffic: Traffic) -> None:
    """The Kafka dies as the controller, and a kafkalite is it."""
    traffic.send()
    cluster.kill(KAFKA)
    traffic.send()
    traffic.settle()
    cluster.wait(lambda: cluster.controller() in (1, 2), "no controller")
    cluster.wait(
        lambda: all(KAFKA not in isr(cluster, traffic.topic, each) for each in range(3)),
        "the new controller leaves the old one in sync",
    )


def isr(cluster: ZooKeeperCluster, topic: str, partition: int = 0) -> set[int]:
    return set(cluster.state(topic, partition).get("isr", ()))


def led_by_others(cluster: ZooKeeperCluster) -> list[int]:
    """Partitions of `mixed` that the Kafka is to lead, and does not."""
    assigned = cluster.json("/brokers/topics/mixed")["partitions"]
    return [
        each
        for each in range(3)
        if assigned[str(each)][0] == KAFKA and cluster.state("mixed", each)["leader"] != KAFKA
    ]


def place(cluster: ZooKeeperCluster, topic: str, replicas: list[list[int]]) -> None:
    """By an ordinary client."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = NewTopic(topic, num_partitions=len(replicas), replica_assignment=replicas)
    admin.create_topics([wanted])[topic].result(30)


def move(
    cluster: ZooKeeperCluster, topic: str, partition: int, replicas: list[int], *, at: int
) -> None:
    """As today's tools do, by a request. It is begun when this returns."""
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=30_000,
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[ReassignablePartition(partition_index=partition, replicas=replicas)],
            )
        ],
    )
    answer = asked(cluster, request, AlterPartitionReassignmentsResponse, at=at)
    assert answer.error_code == answer.responses[0].partitions[0].error_code == 0, answer


def asked(cluster: ZooKeeperCluster, request: Request, kind: type[R], *, at: int) -> R:
    """The answer of that broker."""
    host, port = cluster.addresses[at].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 30) as connection:
        answer = ask(connection, request, 0, kind)
    assert answer is not None
    return answer


def set_credentials(cluster: ZooKeeperCluster, users: Mapping[str, int], *, at: int) -> None:
    """Of each that mechanism, by a request to whichever broker. All kinds of brokers tell of them
    then."""
    upsertions = [
        ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=4096, salt=b"salt", salted_password=b"x"
        )
        for user, mechanism in users.items()
    ]
    request = AlterUserScramCredentialsRequest(upsertions=upsertions)
    answer = asked(cluster, request, AlterUserScramCredentialsResponse, at=at)
    assert {each.user: each.error_code for each in answer.results} == dict.fromkeys(users, 0)

    for id in (1, 2, KAFKA):
        cluster.wait(partial(knows, cluster, id, users), f"{id} does not know")


def knows(cluster: ZooKeeperCluster, id: int, users: Mapping[str, int]) -> bool:
    """Whether that broker tells of their credentials, and of no others."""
    request = DescribeUserScramCredentialsRequest(users=None)
    answer = asked(cluster, request, DescribeUserScramCredentialsResponse, at=id)
    return users == {
        each.user: info.mechanism for each in answer.results for info in each.credential_infos
    }


def reassignments(topic: str, partition: int, replicas: list[int]) -> bytes:
    where = TopicIndex(topic, partition)
    return znodes.write_reassignments([(where, tuple(map(BrokerId, replicas)))])


def preferred(topic: str, partitions: list[int]) -> bytes:
    assert partitions, "there is something to do"
    wanted = [{"topic": topic, "partition": each} for each in partitions]
    return json.dumps({"version": 1, "partitions": wanted}).encode()


def leave_half_made(cluster: ZooKeeperCluster, topic: str, replicas: list[int]) -> None:
    """A topic as a commit of several transactions leaves it that ends amid them: one partition has
    a state, and the other not even a folder."""
    ids = tuple(map(BrokerId, replicas))
    node = znodes.TopicNode(Uuid(bytes(range(16))), (znodes.Assignment(ids),) * 2)
    epoch = ControllerEpoch(int(cluster.data("/controller_epoch") or b""))
    state = znodes.StateNode(ids[0], LeaderEpoch(0), ids, epoch)
    cluster.write(f"/config/topics/{topic}", znodes.write_config({}))
    cluster.write(f"/brokers/topics/{topic}", znodes.write_topic(node))
    cluster.write(f"/brokers/topics/{topic}/partitions/0/state", znodes.write_state(state))


def test_kafkalite_is_the_controller_and_dies_after_kafka_has(
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
    set_credentials(cluster, {"a user": 1, "u*=,%": 2}, at=2)
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
    hand_over(cluster, traffic, tmp_path)
    take_over(cluster, traffic)
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
    set_credentials(cluster, {"a user": 1, "u*=,%": 2}, at=2)
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
