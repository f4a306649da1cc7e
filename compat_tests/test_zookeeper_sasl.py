"""A broker of kafkalite and one of Kafka 3.9.2 that say to each other who they are: Kafka by PLAIN,
kafkalite by SCRAM, each to the other."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from compat_tests.oracle.free_port import free_ports
from compat_tests.test_zookeeper_mixed import Traffic
from compat_tests.zookeeper_cluster import ZooKeeperCluster
from kafkalite.cli.main import main

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

LITE, KAFKA = 1, 2
MODULE = "org.apache.kafka.common.security"
WAIT_S = 30.0


def settings(listeners: str, mechanism: str) -> dict[str, str]:
    admin = 'required username="admin" password="admin-secret"'
    own = "listener.name.internal."
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": mechanism,
        "min.insync.replicas": "2",
        f"{own}plain.sasl.jaas.config": f"{MODULE}.plain.PlainLoginModule {admin} "
        'user_admin="admin-secret";',
        f"{own}scram-sha-512.sasl.jaas.config": f"{MODULE}.scram.ScramLoginModule {admin};",
    }


def make_known(address: str) -> None:
    made = UserScramCredentialUpsertion(
        "admin", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4_096), b"admin-secret"
    )
    admin = AdminClient({"bootstrap.servers": address})
    admin.alter_user_scram_credentials([made])["admin"].result(WAIT_S)


def test_they_follow_each_other_by_sasl(cluster: ZooKeeperCluster) -> None:
    ports = free_ports(4)
    real, lite = (
        f"PLAINTEXT://127.0.0.1:{port},INTERNAL://127.0.0.1:{own}"
        for port, own in (ports[:2], ports[2:])
    )
    cluster.start_real(KAFKA, port=ports[0], settings=settings(real, "PLAIN"))
    make_known(cluster.addresses[KAFKA])
    cluster.start_lite(LITE, settings=settings(lite, "SCRAM-SHA-512"))
    for id in (LITE, KAFKA):
        node = cluster.json(f"/brokers/ids/{id}")
        told = node["listener_security_protocol_map"]
        assert told == {"PLAINTEXT": "PLAINTEXT", "INTERNAL": "SASL_PLAINTEXT"}
        assert len(node["endpoints"]) == 2
    create = ["topics", "create", "mixed", "--partitions", "3", "--replication-factor", "2"]
    assert main([*create, "--bootstrap", cluster.addresses[LITE]]) == 0
    leaders = {cluster.state("mixed", each)["leader"] for each in range(3)}
    assert leaders == {LITE, KAFKA}, "each follows the other"
    traffic = Traffic(cluster, "mixed")
    traffic.send()
    traffic.settle()
    assert sorted(traffic.read_back()) == sorted(traffic.acknowledged)
    assert "log in" not in cluster.lite[LITE].errors.read_text()
