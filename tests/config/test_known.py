from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.described_keys import broker_keys, internal_keys
from kafkalite.config.known import (
    NOT_YET,
    OF_A_MECHANISM,
    OLDER,
    TIERED,
    Kind,
    is_of_clients_too,
    key_of,
    kind_of,
    nearest,
)
from kafkalite.config.topic_keys import TOPIC_KEYS
from tools.configuration_facts import unread_broker_keys, unread_topic_keys

RECORDED = {
    row["name"]: row
    for row in map(
        json.loads, (Path(__file__).parent / "broker-config-keys.jsonl").read_text().splitlines()
    )
}
"""What the real broker's own table of its keys has."""


def test_a_key_acts_if_some_code_reads_it_and_only_then() -> None:
    """Whoever makes a key act takes it out of `NOT_YET`; whoever stops reading one puts it in."""
    assert unread_broker_keys() == NOT_YET | (TIERED & BROKER_KEYS.keys())


def test_a_topics_key_acts_too_unless_there_is_a_reason() -> None:
    later = {"errors.deadletterqueue.group.enable"}
    assert unread_topic_keys() == (TIERED & TOPIC_KEYS.keys()) | later


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("num.partitions", Kind.ACTS),
        ("kafkalite.record.validation", Kind.ACTS),
        ("controller.listener.names", Kind.ACTS),
        ("log.dirs", Kind.ACTS),
        ("log.preallocate", Kind.ACTS),
        ("log.local.retention.ms", Kind.WITHOUT_EFFECT),
        ("num.io.threads", Kind.WITHOUT_EFFECT),
        ("unstable.api.versions.enable", Kind.WITHOUT_EFFECT),
        ("inter.broker.protocol.version", Kind.OLDER),
        ("zookeeper.connect", Kind.ZOOKEEPER),
        ("leader.imbalance.per.broker.percentage", Kind.ZOOKEEPER),
        ("zookeeper.ssl.keystore.type", Kind.ZOOKEEPER),
        ("super.users", Kind.OF_A_PART),
        ("listener.name.internal.ssl.keystore.location", Kind.ACTS),
        ("listener.name.internal.ssl.principal.mapping.rules", Kind.WITHOUT_EFFECT),
        ("listener.name.internal.ssl.keystor.location", Kind.UNKNOWN),
        ("listener.name.internal.plain.sasl.jaas.config", Kind.ACTS),
        ("listener.name.internal.sasl.jaas.config", Kind.WITHOUT_EFFECT),
        ("sasl.jaas.config", Kind.WITHOUT_EFFECT),
        ("listener.name.internal.sasl.enabled.mechanisms", Kind.ACTS),
        ("listener.name.internal.plain.connections.max.reauth.ms", Kind.ACTS),
        ("listener.name.internal.plain.sasl.jass.config", Kind.UNKNOWN),
        ("listener.name.internal.num.partitions", Kind.OF_A_PART),
        ("confluent.license", Kind.OF_A_PART),
        ("num.partitons", Kind.UNKNOWN),
        ("retention.ms", Kind.UNKNOWN),
        ("kafkalite.x", Kind.UNKNOWN),
        ("", Kind.UNKNOWN),
    ],
)
def test_kinds(name: str, kind: Kind) -> None:
    assert kind_of(name) is kind


def test_every_key_of_the_real_broker_is_known() -> None:
    assert {name for name in RECORDED if key_of(name) is None} == set()
    assert {name for name, row in RECORDED.items() if row["internal"]} == internal_keys().keys()


def test_older_keys_are_no_keys_of_today() -> None:
    assert OLDER.isdisjoint(RECORDED)
    assert OLDER.isdisjoint(broker_keys())


def test_keys_without_effect_are_described_as_such_or_not_read_yet() -> None:
    for name in broker_keys() | internal_keys():
        acts = name in BROKER_KEYS and name not in {*NOT_YET, *TIERED, *OF_A_MECHANISM}
        assert (kind_of(name) is Kind.ACTS) == acts


@pytest.mark.parametrize("name", ["compression.type", "ssl.keystore.location", "sasl.jaas.config"])
def test_a_clients_setting_may_have_a_brokers_name(name: str) -> None:
    assert name in broker_keys()
    assert is_of_clients_too(name)
    assert not is_of_clients_too("num.partitions")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("num.partitons", "num.partitions"),
        ("adverised.listeners", "advertised.listeners"),
        ("segment.bytes", "log.segment.bytes"),
        ("retention.ms", "log.retention.ms"),
        ("max.message.bytes", "message.max.bytes"),
        ("kafkalite.record.validaton", "kafkalite.record.validation"),
        ("num.io.thread", "num.io.threads"),
        ("listener.name.a.ssl.keystor.location", "listener.name.a.ssl.keystore.location"),
    ],
)
def test_the_nearest_is_what_was_meant(name: str, meant: str) -> None:
    assert nearest(name) == meant


def test_what_is_not_like_anything_was_meant_for_nothing() -> None:
    for name in ("", "x", "PK", "create.topics", "my.own.setting", "\xff" * 100_000):
        assert nearest(name) is None


def test_a_topics_setting_that_a_broker_has_too_is_near_to_it() -> None:
    for name, key in TOPIC_KEYS.items():
        assert nearest(name) in broker_keys() or not key.synonyms
