"""Mistakes in what a broker is asked to be: each is told at once, in one line, with the remedy."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kafkalite.testing import Broker
from kafkalite.testing.broker_options import checked_settings, checked_topic_configs


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"settings": {"num.partitons": "3"}}, "no such broker setting; is it num.partitions?"),
        (
            {"settings": {"num.partitions": "many"}},
            "num.partitions=many (settings): allowed is a",
        ),
        ({"settings": {"num.partitions": 0}}, "num.partitions=0 (settings): allowed is a whole"),
        (
            {
                "settings": {
                    "process.roles": "controller",
                    "controller.listener.names": "C",
                    "listeners": "C://localhost:0",
                    "listener.security.protocol.map": "C:PLAINTEXT",
                    "controller.quorum.bootstrap.servers": "localhost:1",
                }
            },
            "process.roles=controller: it would be no broker; leave it out",
        ),
        ({"settings": {"log.dirs": "here"}}, "settings: log.dirs: use the argument data= inst"),
        (
            {"settings": {"listeners": "SASL_PLAINTEXT://:0"}},
            "Kerberos is not spoken here; name some",
        ),
        ({"settings": {"listeners": "SSL://:0"}}, "no key store; let ssl.keystore.location name"),
        ({"settings": {"max.connections.per.ip.overrides": "x"}}, "settings: Error parsing"),
        ({"settings": {"listeners": "PLAINTEXT://:0"}, "port": 1}, "say the same thing; use one"),
        ({"port": 65536}, "port=65536: not a number from 0 to 65535"),
        ({"port": "9092"}, "port='9092': not a number"),
        ({"topics": ["a"]}, "topics=['a']: expected partitions by name, such as {'a': 3}"),
        ({"topics": {"a": True}}, "topics: 'a': True: expected partitions by name"),
        ({"port": True}, "port=True: not a number"),
        ({"settings": {1: 2}}, "settings: 1: 2: expected values by Kafka's names, such as 'num.pa"),
        ({"settings": {"num.partitions": None}}, "settings: 'num.partitions': None: expected"),
        ({"settings": ["a"]}, "settings=['a']: expected values by Kafka's names"),
        ({"data": ""}, "data='': expected the path of a folder, or None for memory"),
        ({"data": b"d"}, "data=b'd': expected the path of a folder"),
        ({"data": "a\0b"}, "data='a\\x00b': expected the path"),
        ({"topics": {"a": "3"}}, "topics: 'a': '3': expected partitions by name, such as 'a': 3"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(arguments: dict[str, Any], told: str) -> None:
    # `Any`: some of them are of no type that the broker takes.
    with pytest.raises(ValueError, match=rf"^[^\n]*{re.escape(told)}[^\n]*$"):
        Broker(**arguments)


def test_numbers_and_truth_values_are_written_as_kafka_reads_them() -> None:
    assert checked_settings({"num.partitions": 3, "auto.create.topics.enable": False}) == {
        "num.partitions": "3",
        "auto.create.topics.enable": "false",
    }
    assert checked_topic_configs({"min.cleanable.dirty.ratio": 0.5, "retention.ms": "1"}) == {
        "min.cleanable.dirty.ratio": "0.5",
        "retention.ms": "1",
    }


def test_what_has_no_effect_here_is_taken_and_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        Broker(settings={"background.threads": 2, "authorizer.class.name": "org.example.Lock"})
    told = [(record.levelname, record.message.partition(" has")[0]) for record in caplog.records]
    assert told == [
        ("WARNING", "warning: authorizer.class.name (settings)"),
        ("INFO", "info: no effect here: background.threads"),
    ]
