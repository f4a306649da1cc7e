"""Environments of Kafka's images that speak SASL, as people start them: a user of theirs produces
and consumes through librdkafka."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.cli.serving import serving

ENVIRONMENTS = Path(__file__).parent.parent / "tests" / "cli" / "environments"
USERS = {
    "apache-single-node-sasl": ("SASL_PLAINTEXT", "alice", "alice-secret"),
    "apache-sasl": ("SASL_PLAINTEXT", "alice", "wonderland-42"),
    "bitnami-sasl": ("INTERNAL", "admin", "adminpassword"),
    "bitnami-sasl-scram": ("DOCKER", "data_rentgen", "changeme"),
    "confluent-zookeeper-sasl": ("SASL_PLAINTEXT", "enzo", "cisternino"),
}
"""On which listener, and by which password."""

pytestmark = pytest.mark.needs_process


@pytest.mark.parametrize("name", USERS)
def test_its_user_produces_and_consumes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a free port in place of those that it publishes."""
    listener, user, password = USERS[name]
    for line in (ENVIRONMENTS / f"{name}.env").read_text().splitlines():
        variable, _, value = line.partition("=")
        if not line.startswith("#"):
            monkeypatch.setenv(variable, value)
    jaas = ENVIRONMENTS / f"{name}.jaas"
    if jaas.exists():
        monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={jaas}")
    prefix = "KAFKA_CFG_" if name.startswith("bitnami") else "KAFKA_"
    monkeypatch.setenv(f"{prefix}LISTENERS", f"{listener}://127.0.0.1:0")
    monkeypatch.setenv(f"{prefix}ADVERTISED_LISTENERS", f"{listener}://127.0.0.1:0")
    with serving("--ephemeral", "--topic", "t", folder=tmp_path, port=None) as served:
        client = {
            "bootstrap.servers": f"127.0.0.1:{served.port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256" if "-scram" in name else "PLAIN",
            "sasl.username": user,
            "sasl.password": password,
        }
        producer = Producer(client)
        producer.produce("t", b"value", b"key")
        assert producer.flush(10) == 0
        consumer = Consumer({**client, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        record = consumer.poll(10)
        consumer.close()
        code, _ = served.end(signal.SIGTERM)
    assert record is not None
    assert record.error() is None
    assert (record.key(), record.value()) == (b"key", b"value")
    assert code == 0
