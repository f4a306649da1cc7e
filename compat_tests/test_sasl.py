"""Clients that say who they are, to kafkalite and to the real Kafka with the same settings: each
exchange byte by byte, and whether stock clients come in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer

from compat_tests import sasl_brokers
from compat_tests.cli.command_line import CommandLine
from compat_tests.java.tools import run as run_tool
from compat_tests.sasl_brokers import WAIT_S, Addresses
from tests import certificates
from tests.server.sasl_talk import recorded

pytestmark = pytest.mark.needs_process
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ALICE = {"sasl.username": "alice", "sasl.password": "alice-secret"}
JAAS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@pytest.fixture(scope="module", params=["kafkalite", pytest.param("kafka", marks=pytest.mark.jvm)])
def addresses(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Addresses]:
    broker = sasl_brokers.kafkalite if request.param == "kafkalite" else sasl_brokers.kafka
    with broker(tmp_path_factory.mktemp("sasl")) as found:
        yield found


def reached(addresses: Addresses, listener: str) -> str:
    return "{}:{}".format(*addresses[listener])


def librdkafka(
    addresses: Addresses, mechanism: str, listener: str = "SASL"
) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": reached(addresses, listener),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": mechanism,
    }


def test_every_exchange_goes_as_with_kafka(addresses: Addresses) -> None:
    answers, wanted = sasl_brokers.transcripts(addresses), recorded()
    assert answers.keys() == wanted.keys()
    differ = [key for key in answers if answers[key] != wanted[key]]
    assert "".join(answers[key] for key in differ) == "".join(wanted[key] for key in differ)


def there_and_back(settings: dict[str, str | int | float | bool], topic: str) -> None:
    producer = Producer(settings)
    producer.produce(topic, b"tea")
    assert producer.flush(WAIT_S) == 0
    # It commits nothing: whoever lists groups finds none.
    reader = {**settings, "group.id": topic, "enable.auto.commit": False}
    with closing(Consumer(reader)) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        (message,) = consumer.consume(1, WAIT_S)
    assert message.value() == b"tea"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka(addresses: Addresses, topic: str, mechanism: str) -> None:
    there_and_back({**librdkafka(addresses, mechanism), **ALICE}, topic)


def test_librdkafka_with_a_token(addresses: Addresses, topic: str) -> None:
    settings = {
        **librdkafka(addresses, "OAUTHBEARER"),
        "enable.sasl.oauthbearer.unsecure.jwt": True,
        "sasl.oauthbearer.config": "principal=alice lifeSeconds=60",
    }
    there_and_back(settings, topic)


def test_librdkafka_over_tls(addresses: Addresses, topic: str, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text(certificates.authority().pem)
    settings = librdkafka(addresses, "PLAIN", "TLS")
    there_and_back(
        {**settings, **ALICE, "security.protocol": "SASL_SSL", "ssl.ca.location": str(ca)}, topic
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_is_told_that_a_password_is_wrong(addresses: Addresses, mechanism: str) -> None:
    errors: list[KafkaError] = []
    settings = {**librdkafka(addresses, mechanism), **ALICE, "sasl.password": "x"}
    client = Producer({**settings, "error_cb": errors.append})
    while not errors:
        client.poll(WAIT_S)
    assert errors[0].code() == KafkaError._AUTHENTICATION


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(addresses: Addresses, topic: str, mechanism: str) -> None:
    settings = {
        "bootstrap_servers": reached(addresses, "SASL"),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": "alice-secret",
    }
    with closing(KafkaProducer(**settings)) as producer:
        producer.send(topic, b"tea").get(WAIT_S)
    with closing(
        KafkaConsumer(topic, auto_offset_reset="earliest", group_id=None, **settings)
    ) as consumer:
        assert next(consumer).value == b"tea"


@pytest.mark.jvm
@pytest.mark.parametrize("mechanism", JAAS)
def test_kafkas_own_tools(addresses: Addresses, tmp_path: Path, mechanism: str) -> None:
    file = tmp_path / "client.properties"
    login = f'{JAAS[mechanism]} required username="alice" password="alice-secret";'
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
    )
    words = ["--bootstrap-server", reached(addresses, "SHORT"), "--command-config", str(file)]
    ran = run_tool("kafka-topics", ["--list", *words])
    assert (ran.status, ran.stderr) == (0, "")


def test_commands(
    addresses: Addresses,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        "sasl.username=alice\nsasl.password=alice-secret\n"
    )
    kafkalite = CommandLine(capsys, monkeypatch)
    words = ("--bootstrap", reached(addresses, "SASL"), "--command-config", str(file))
    kafkalite("topics", "create", topic, *words)
    kafkalite("produce", topic, *words, typed=b"tea\n")
    assert kafkalite("consume", topic, "--raw", *words) == "tea\n"
