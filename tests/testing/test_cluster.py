"""`testing.Cluster`: real brokers in this process, ended and brought back one by one."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from kafkalite.testing import BrokerError, Cluster
from tests import certificates
from tests.testing.confluent_calls import send

JAAS = "listener.name.plaintext.plain.sasl.jaas.config"


def listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as sock:
        return sock.connect_ex((host, int(port))) == 0


def leaders(cluster: Cluster, topic: str, partitions: int = 3) -> set[int | None]:
    return {cluster.leader_of(topic, index) for index in range(partitions)}


def test_it_is_there_at_once_and_gone_at_the_end() -> None:
    with Cluster(topics={"t": 3}) as cluster:
        addresses = cluster.bootstrap.split(",")
        assert all(map(listens, addresses))
        assert cluster.brokers == (1, 2, 3)
        assert cluster.controller in cluster.brokers
        assert leaders(cluster, "t") == {1, 2, 3}
        assert all(len(cluster.replicas_of("t", index)) == 3 for index in range(3))
        assert cluster.start() is cluster
    assert not any(map(listens, addresses))
    with pytest.raises(BrokerError, match="not started"):
        cluster.leader_of("t")


def test_any_number_of_brokers() -> None:
    with Cluster(1, topics={"t": 1}) as one:
        assert (one.brokers, one.controller, one.isr_of("t")) == ((1,), 1, (1,))


def test_its_one_listener_may_speak_tls(tmp_path: Path) -> None:
    """To clients and brokers alike: a record that needs two replicas is acknowledged."""
    settings = certificates.settings_of(tmp_path, min_insync_replicas="2")
    settings["listener.security.protocol.map"] = "PLAINTEXT:SSL"
    with Cluster(2, topics={"t": 1}, settings=settings) as cluster:
        own = {"security.protocol": "SSL", "ssl.ca.pem": certificates.authority().pem}
        send(cluster.bootstrap, "t", b"tea", own)
        assert sorted(cluster.isr_of("t")) == [1, 2]


def test_its_one_listener_may_ask_who_somebody_is() -> None:
    """Clients and brokers alike; this process, which makes the topic, shows nothing."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "min.insync.replicas": "2",
        JAAS: f'{login} username="admin" password="p" user_admin="p";',
    }
    own = {"sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "p"}
    with Cluster(2, topics={"t": 1}, settings=settings) as cluster:
        send(cluster.bootstrap, "t", b"tea", {"security.protocol": "SASL_PLAINTEXT", **own})
        assert sorted(cluster.isr_of("t")) == [1, 2]
    with pytest.raises(ValueError, match=f"settings: {JAAS} has no username and password"):
        Cluster(2, settings={**settings, JAAS: f"{login};"})


def test_a_killed_broker_is_gone_and_others_lead() -> None:
    with Cluster(topics={"t": 3}) as cluster:
        cluster.kill(2)
        assert not listens(cluster.address_of(2))
        assert cluster.brokers == (1, 3)
        assert leaders(cluster, "t") == {1, 3}
        assert all(2 not in cluster.isr_of("t", index) for index in range(3))
        cluster.kill(2)
        cluster.stop(2)


def test_one_that_stops_hands_over_what_it_leads() -> None:
    with Cluster(topics={"t": 3}) as cluster:
        epochs = [cluster.leader_of("t", index) for index in range(3)]
        assert 3 in epochs
        cluster.stop(3)
        assert cluster.brokers == (1, 2)
        assert leaders(cluster, "t") == {1, 2}


def test_who_comes_back_has_its_address() -> None:
    with Cluster() as cluster:
        before = cluster.address_of(3)
        cluster.kill(3)
        cluster.restart(3)
        assert cluster.address_of(3) == before
        assert listens(before)
        cluster.restart(3)
        assert cluster.brokers == (1, 2, 3)


def test_the_controller_may_die_too() -> None:
    with Cluster(topics={"t": 3}) as cluster:
        first = cluster.controller
        assert first is not None
        cluster.kill(first)
        assert cluster.controller not in (None, first)
        cluster.create_topic("u", 2)
        assert leaders(cluster, "u", 2) <= {1, 2, 3} - {first}
        assert cluster.wait_until_leader("t", other_than=first) != first


def test_topics_can_be_made_later() -> None:
    with Cluster() as cluster:
        cluster.create_topic("t", 2, configs={"retention.ms": 1})
        assert leaders(cluster, "t", 2) <= {1, 2, 3}
        with pytest.raises(BrokerError, match="already exists"):
            cluster.create_topic("t")
        with pytest.raises(BrokerError, match="there is no partition t-2"):
            cluster.leader_of("t", 2)


def test_a_folder_outlives_it(tmp_path: Path) -> None:
    with Cluster(data=tmp_path, topics={"t": 3}) as cluster:
        replicas = [cluster.replicas_of("t", index) for index in range(3)]
        bootstrap = cluster.bootstrap
    assert {each.name for each in tmp_path.iterdir()} == {
        "metadata", "broker-1", "broker-2", "broker-3",
    }  # fmt: skip
    with cluster:
        assert cluster.bootstrap == bootstrap
        assert [cluster.replicas_of("t", index) for index in range(3)] == replicas
        assert leaders(cluster, "t") == {1, 2, 3}
    with Cluster(data=tmp_path) as another:
        assert [another.replicas_of("t", index) for index in range(3)] == replicas


def test_memory_lives_as_long_as_the_object() -> None:
    cluster = Cluster(topics={"t": 1})
    with cluster:
        cluster.create_topic("u")
    with cluster:
        assert cluster.leader_of("u") is not None


def test_a_condition_is_waited_for() -> None:
    with Cluster(topics={"t": 1}) as cluster:
        cluster.wait_until(lambda: cluster.leader_of("t") is not None)
        cluster.wait_until_in_sync("t")
        with pytest.raises(BrokerError, match=r"pigs did not come true within 0\.05 s"):
            cluster.wait_until(lambda: False, 0.05, what="pigs")


def test_it_serves_a_running_loop() -> None:
    async def main() -> None:
        async with Cluster(topics={"t": 1}) as cluster:
            assert cluster.brokers == (1, 2, 3)
            reader, writer = await asyncio.open_connection(*_split(cluster.address_of(1)))
            writer.close()
            await writer.wait_closed()
            assert await reader.read() == b""

    asyncio.run(main())


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def test_ports_may_be_given() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Cluster(2, ports={2: port}) as cluster:
        assert cluster.address_of(2) == f"127.0.0.1:{port}"


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BrokerError), Cluster(2, ports={2: taken.getsockname()[1]}):
            pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"brokers": 0}, "brokers=0: not from 1 to 100"),
        ({"brokers": "3"}, "brokers='3': expected how many"),
        ({"settings": {"listeners": "PLAINTEXT://:1"}}, "each broker has its own"),
        ({"settings": {"num.partition": 1}}, "num.partitions"),
        ({"topics": ["t"]}, "expected partitions by name"),
    ],
)
def test_mistakes_are_told(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cluster(**arguments)  # type: ignore[arg-type]  # The mistakes.


def test_an_unknown_broker_is_told() -> None:
    with Cluster(1) as cluster:
        for act in (cluster.kill, cluster.stop, cluster.restart, cluster.address_of):
            with pytest.raises(ValueError, match="there is no broker 7"):
                act(7)
