"""Clients that say who they are, to kafkalite and to the real Kafka with the same settings: each
exchange byte by byte, and librdkafka with a token and over TLS; `test_sasl_clients.py` has the rest
of the clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from compat_tests import sasl_brokers
from compat_tests.sasl_brokers import WAIT_S, Addresses
from tests import certificates
from tests.server.sasl_talk import recorded

pytestmark = pytest.mark.needs_process
ALICE = {"sasl.username": "alice", "sasl.password": "alice-secret"}


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
