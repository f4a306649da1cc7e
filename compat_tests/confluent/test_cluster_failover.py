"""librdkafka on a cluster of three: its leader, its coordinator and the controller die, and it goes
on; nothing is lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafkalite.coordinator.partitioner import partition_for
from kafkalite.testing import Cluster

pytestmark = pytest.mark.needs_process

WITHIN_S = 60.0
RECORDS = 1_500


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(settings={"min.insync.replicas": 2}) as cluster:
        yield cluster


def deliver(
    cluster: Cluster, topic: str, deeds: dict[int, Callable[[], None]]
) -> list[tuple[int, int]]:
    """Partition and offset of each record, in the order of their sending. `deeds` are done when so
    many are acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 1,
            "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 20,
            "log_level": 0,
        }
    )
    placed: dict[int, tuple[int, int]] = {}
    errors: list[KafkaError] = []

    def on_delivery(number: int) -> Callable[[KafkaError | None, Message], None]:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(error)
            else:
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                placed[number] = (partition, offset)

        return delivered

    left = sorted(deeds)
    for number in range(RECORDS):
        value = f"{number}".encode()
        producer.produce(topic, value, key=value, on_delivery=on_delivery(number))
        producer.poll(0.001)
        while left and len(placed) >= left[0]:
            deeds[left.pop(0)]()
    assert producer.flush(WITHIN_S) == 0
    assert not errors
    assert not left, "all went wrong that was to go wrong"
    return [placed[number] for number in range(RECORDS)]


def read(cluster: Cluster, topic: str, count: int) -> dict[tuple[int, int], int]:
    """The records by partition and offset, and no more than there are."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": False,
        }
    )
    found: dict[tuple[int, int], int] = {}
    try:
        consumer.subscribe([topic])
        while len(found) < count:
            message = consumer.poll(WITHIN_S)
            assert message is not None, f"only {len(found)} records came"
            assert message.error() is None, message.error()
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            found[partition, offset] = int(message.value() or b"")
        assert consumer.poll(0.5) is None, "there is one too many"
        return found
    finally:
        consumer.close()


def check(cluster: Cluster, topic: str, placed: list[tuple[int, int]]) -> None:
    assert len(set(placed)) == RECORDS
    found = read(cluster, topic, RECORDS)
    assert found == {place: number for number, place in enumerate(placed)}
    for partition in {place[0] for place in placed}:
        numbers = [n for (of, _), n in sorted(found.items()) if of == partition]
        assert numbers == sorted(numbers), "a key's records have changed their order"


def test_the_leader_dies(cluster: Cluster) -> None:
    cluster.create_topic("t", 1)
    leader = cluster.leader_of("t")
    assert leader is not None
    placed = deliver(cluster, "t", {300: lambda: cluster.kill(leader)})
    assert cluster.leader_of("t") not in (None, leader)
    check(cluster, "t", placed)


def test_one_after_the_other_dies_and_comes_back(cluster: Cluster) -> None:
    cluster.create_topic("t", 3)

    def replace(id: int) -> Callable[[], None]:
        def replaced() -> None:
            cluster.kill(id)
            cluster.restart(id)
            cluster.wait_until_in_sync("t")

        return replaced

    placed = deliver(cluster, "t", {200: replace(1), 500: replace(2), 800: replace(3)})
    assert {cluster.isr_of("t", n) and len(cluster.isr_of("t", n)) for n in range(3)} == {3}
    check(cluster, "t", placed)


def test_brokers_stop_in_good_order_and_come_back(cluster: Cluster) -> None:
    cluster.create_topic("t", 3)

    def roll(id: int) -> Callable[[], None]:
        def rolled() -> None:
            cluster.restart(id)
            cluster.wait_until_in_sync("t")

        return rolled

    placed = deliver(cluster, "t", {200: roll(3), 500: roll(2), 800: roll(1)})
    check(cluster, "t", placed)


def test_a_group_goes_on_when_its_coordinator_dies(cluster: Cluster) -> None:
    cluster.create_topic("t", 1)
    placed = deliver(cluster, "t", {})
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    consumer.subscribe(["t"])
    numbers = [_number(consumer) for _ in range(500)]
    consumer.commit(asynchronous=False)
    partitions = range(50)
    leaders = {cluster.leader_of("__consumer_offsets", each) for each in partitions}
    victim = next(id for id in cluster.brokers if id != cluster.leader_of("t") and id in leaders)
    cluster.kill(victim)
    numbers += [_number(consumer) for _ in range(500)]
    _commit(consumer)
    consumer.close()
    assert numbers == list(range(1_000))
    assert len(placed) == RECORDS
    again = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "error",
        }
    )
    again.subscribe(["t"])
    assert _number(again) == 1_000
    again.close()


def _number(consumer: Consumer) -> int:
    message = consumer.poll(WITHIN_S)
    assert message is not None
    assert message.error() is None, message.error()
    return int(message.value() or b"")


_PASSING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)


def _commit(consumer: Consumer) -> None:
    """librdkafka tells the application when a coordinator moves in the midst of a commit."""
    for _ in range(100):
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as error:
            if not (error.args[0].retriable() or error.args[0].code() in _PASSING):
                raise
            consumer.poll(0.1)
        else:
            return
    raise AssertionError("no commit in 100 tries")


def test_transactions_go_on_when_coordinator_and_leaders_die(cluster: Cluster) -> None:
    """The coordinator, right before a commit and in the midst of one; the leader of a partition."""
    cluster.create_topic("t", 3)
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": "payments",
            "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 20,
            "log_level": 0,
        }
    )
    producer.init_transactions(WITHIN_S)
    home = partition_for("payments", 50)
    committed = []
    for number in range(12):
        producer.begin_transaction()
        values = [f"{number}-{each}".encode() for each in range(5)]
        for value in values:
            producer.produce("t", value, key=value)
        producer.flush(WITHIN_S)
        if number % 3 == 2:
            _until_done(producer.abort_transaction)
            continue
        coordinator = cluster.leader_of("__transaction_state", home)
        assert coordinator is not None
        if number == 3:
            cluster.kill(coordinator)
        with ThreadPoolExecutor(1) as other:
            commit = other.submit(_until_done, producer.commit_transaction)
            if number == 6:
                cluster.kill(coordinator)
            commit.result()
        committed += values
        if number in (3, 6):
            assert cluster.leader_of("__transaction_state", home) != coordinator
            cluster.restart(coordinator)
            cluster.wait_until_in_sync()
        if number == 9:
            leader = cluster.leader_of("t")
            assert leader is not None
            cluster.kill(leader)
            cluster.restart(leader)
            cluster.wait_until_in_sync()
    found = _committed_values(cluster, "t", len(committed))
    assert sorted(map(str, found)) == sorted(map(str, committed))


def _committed_values(cluster: Cluster, topic: str, count: int) -> list[object]:
    """So many, and there are no more."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    found: list[object] = []
    while len(found) < count:
        message = consumer.poll(WITHIN_S)
        assert message is not None, f"only {len(found)} of {count} records came"
        assert message.error() is None, message.error()
        found.append(message.value())
    assert consumer.poll(0.5) is None
    consumer.close()
    return found


def _until_done(end: Callable[[float], None]) -> None:
    """As librdkafka tells applications to: again, while the error is retriable."""
    for _ in range(20):
        try:
            end(WITHIN_S)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return
    raise AssertionError("not done in 20 tries")


def test_admin_goes_on_when_the_controller_dies(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for name in ("a", "b", "c"):
        (made,) = admin.create_topics([NewTopic(name, 2, 2)]).values()
        made.result(WITHIN_S)
        if name == "a":
            controller = cluster.controller
            assert controller is not None
            cluster.kill(controller)
    assert set(admin.list_topics(timeout=WITHIN_S).topics) == {"a", "b", "c"}
