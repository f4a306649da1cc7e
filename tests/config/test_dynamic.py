from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.dynamic import (
    BrokerLayers,
    ConfigSource,
    ConfigSynonym,
    DescribedConfig,
    EffectiveConfig,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
    effective_topic_configs,
)

DATA = Path(__file__).parent.parent / "data"
# Any: JSON.
DESCRIBED: dict[str, list[dict[str, Any]]] = json.loads((DATA / "configs.json").read_text())
OF_ALL = {"min.insync.replicas": "1"}
"""What a new cluster has for all brokers."""
OTHER_DEFAULT = {
    "log.dir": "kafkalite has its own place for data",
    "socket.send.buffer.bytes": "measured: docs/decisions/0006-network.md",
    "socket.listen.backlog.size": "a thousand clients at once need not wait",
    "group.consumer.assignment.interval.ms": "groups form at once",
    "group.consumer.heartbeat.interval.ms": "groups form at once",
    "group.consumer.min.heartbeat.interval.ms": "as the default of what it bounds",
    "group.consumer.min.session.timeout.ms": "as the default of what it bounds",
    "group.consumer.session.timeout.ms": "who died is soon out",
    "group.initial.rebalance.delay.ms": "groups form at once",
}


def by_name(configs: list[EffectiveConfig]) -> dict[str, EffectiveConfig]:
    return {config.name: config for config in configs}


def described(configs: list[DescribedConfig]) -> dict[str, DescribedConfig]:
    assert [config.name for config in configs] == sorted(config.name for config in configs)
    return {config.name: config for config in configs}


def as_json(config: DescribedConfig) -> dict[str, Any]:  # Any: JSON.
    return {
        "name": config.name,
        "value": config.value,
        "config_type": config.type,
        "config_source": config.source,
        "read_only": config.is_read_only,
        "is_sensitive": config.is_sensitive,
        "synonyms": [
            {"name": each.name, "value": each.value, "source": each.source}
            for each in config.synonyms
        ],
    }


def entries(of: str) -> dict[str, dict[str, Any]]:  # Any: JSON.
    return {entry["name"]: entry for entry in DESCRIBED[of]}


# CreateTopics.


def test_the_real_kafka_s_answer_to_create_topics() -> None:
    rows = (json.loads(line) for line in (DATA / "versions.jsonl").read_text().splitlines())
    golden = next(row for row in rows if row["key"] == 19 and row["version"] == 7)
    shown = golden["response"]["topics"][0]["configs"]
    ours = effective_topic_configs({"retention.ms": "1000"}, {"min.insync.replicas": "1"}, {})
    assert [(c.name, c.value, c.source.value) for c in ours] == [
        (c["name"], c["value"], c["config_source"]) for c in shown
    ]


def test_the_nearest_layer_wins() -> None:
    static = {"log.retention.ms": "7", "min.insync.replicas": "2"}
    found = by_name(
        effective_topic_configs({"retention.ms": "5"}, {"min.insync.replicas": "3"}, static)
    )
    assert found["retention.ms"] == EffectiveConfig("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC)
    assert found["min.insync.replicas"] == EffectiveConfig(
        "min.insync.replicas", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER
    )


def test_a_broker_s_synonym_in_hours_is_shown_in_the_topic_s_unit() -> None:
    found = by_name(effective_topic_configs({}, {}, {"log.retention.hours": "2"}))
    assert found["retention.ms"] == EffectiveConfig(
        "retention.ms", "7200000", ConfigSource.STATIC_BROKER
    )


# DescribeConfigs, as a fresh Kafka answers it.


def test_a_topic_that_sets_nothing() -> None:
    ours = described(describe_topic({}, BrokerLayers({}, OF_ALL)))
    assert {name: as_json(config) for name, config in ours.items()} == entries("topic")


def test_a_broker() -> None:
    """With what was set in the file of the one that was described."""
    golden = entries("broker")
    static = {
        name: synonym["value"]
        for name, entry in golden.items()
        for synonym in entry["synonyms"]
        if synonym["source"] == ConfigSource.STATIC_BROKER and name != "super.users"
    }
    ours = described(describe_broker(BrokerLayers({**static, "super.users": "x"}, OF_ALL)))
    for name, entry in golden.items():
        if name in OTHER_DEFAULT:
            assert ours[name].value == BROKER_KEYS[name].default or name in static
        elif name in ("node.id", "listeners", "advertised.listeners"):
            assert ours[name].value == entry["value"]  # One of them has no default in Kafka.
        else:
            assert as_json(ours[name]) == entry
    assert {name for name in ours.keys() - golden.keys() if not name.startswith("kafkalite.")} == (
        set()
    )


def test_all_brokers() -> None:
    ours = described(describe_all_brokers(OF_ALL))
    assert {name: as_json(config) for name, config in ours.items()} == entries("broker-default")


def test_a_group_and_a_subscription_that_set_nothing() -> None:
    groups = described(describe_group({}, BrokerLayers({})))
    assert groups.keys() == entries("group").keys()
    for name, entry in entries("group").items():
        if f"group.{name}" not in OTHER_DEFAULT:
            assert as_json(groups[name]) == entry
    metrics = described(describe_client_metrics({}))
    assert {name: as_json(config) for name, config in metrics.items()} == entries("client-metrics")


# DescribeConfigs, where something is set. Asked of the real one with these in its file.

STATIC = {
    "log.retention.hours": "2",
    "log.roll.jitter.ms": "5",
    "log.flush.scheduler.interval.ms": "777",
    "message.max.bytes": "2000000",
    "min.insync.replicas": "2",
    "foo.bar": "baz",
    "compression.type": "zstd",
    "ssl.key.password": "secret",
    "group.consumer.session.timeout.ms": "50000",
    "log.cleanup.policy": "compact, delete",
}
LAYERS = BrokerLayers(STATIC, {"min.insync.replicas": "3"})
TOPIC, BROKER = ConfigSource.DYNAMIC_TOPIC, ConfigSource.STATIC_BROKER
ALL, DEFAULT = ConfigSource.DYNAMIC_DEFAULT_BROKER, ConfigSource.DEFAULT


@pytest.mark.parametrize(
    ("name", "value", "source", "synonyms"),
    [
        # The first synonym is not set: the value acts, and is told as if it were the default.
        ("retention.ms", "7200000", DEFAULT, []),
        ("flush.ms", "777", DEFAULT, []),
        ("segment.ms", "604800000", DEFAULT, []),
        (
            "segment.jitter.ms",
            "5",
            BROKER,
            [("log.roll.jitter.ms", "5", BROKER), ("log.roll.jitter.hours", "0", DEFAULT)],
        ),
        (
            "max.message.bytes",
            "2000000",
            BROKER,
            [
                ("message.max.bytes", "2000000", BROKER),
                ("message.max.bytes", "1048588", DEFAULT),
            ],
        ),
        (
            "min.insync.replicas",
            "3",
            ALL,
            [
                ("min.insync.replicas", "3", ALL),
                ("min.insync.replicas", "2", BROKER),
                ("min.insync.replicas", "1", DEFAULT),
            ],
        ),
        (
            "cleanup.policy",
            "compact,delete",
            BROKER,
            [
                ("log.cleanup.policy", "compact, delete", BROKER),
                ("log.cleanup.policy", "delete", DEFAULT),
            ],
        ),
        (
            "compression.type",
            "gzip",
            TOPIC,
            [
                ("compression.type", "gzip", TOPIC),
                ("compression.type", "zstd", BROKER),
                ("compression.type", "producer", DEFAULT),
            ],
        ),
        (
            "preallocate",
            "true",
            TOPIC,
            [("preallocate", "true", TOPIC), ("log.preallocate", "false", DEFAULT)],
        ),
        ("remote.storage.enable", "false", TOPIC, [("remote.storage.enable", "false", TOPIC)]),
        ("internal.segment.bytes", "100", TOPIC, [("internal.segment.bytes", "100", TOPIC)]),
    ],
)
def test_a_topic_s_setting(
    name: str, value: str, source: ConfigSource, synonyms: list[tuple[str, str, ConfigSource]]
) -> None:
    own = {
        "compression.type": " gzip ",
        "preallocate": "TRUE",
        "remote.storage.enable": "false",
        "internal.segment.bytes": "+100",
    }
    config = described(describe_topic(own, LAYERS))[name]
    assert (config.value, config.source) == (value, source)
    assert config.synonyms == tuple(ConfigSynonym(*each) for each in synonyms)


@pytest.mark.parametrize(
    ("name", "value", "source", "synonyms"),
    [
        (
            "log.retention.hours",
            "2",
            BROKER,
            [("log.retention.hours", "2", BROKER), ("log.retention.hours", "168", DEFAULT)],
        ),
        ("log.retention.ms", None, DEFAULT, []),
        ("log.retention.minutes", None, DEFAULT, []),
        ("log.flush.interval.ms", None, DEFAULT, []),
        (
            "log.roll.jitter.ms",
            "5",
            BROKER,
            [("log.roll.jitter.ms", "5", BROKER), ("log.roll.jitter.hours", "0", DEFAULT)],
        ),
        ("log.roll.jitter.hours", "0", DEFAULT, [("log.roll.jitter.hours", "0", DEFAULT)]),
        ("ssl.key.password", None, BROKER, [("ssl.key.password", None, BROKER)]),
        ("foo.bar", None, BROKER, [("foo.bar", None, BROKER)]),
    ],
)
def test_a_broker_s_setting(
    name: str, value: str, source: ConfigSource, synonyms: list[tuple[str, str, ConfigSource]]
) -> None:
    config = described(describe_broker(LAYERS))[name]
    assert (config.value, config.source) == (value, source)
    assert config.synonyms == tuple(ConfigSynonym(*each) for each in synonyms)


def test_a_name_that_no_key_has_may_hold_a_secret() -> None:
    config = described(describe_broker(LAYERS))["foo.bar"]
    assert (config.type, config.is_sensitive, config.is_read_only) == (0, True, True)
    assert config.doc is None


def test_a_broker_s_own_setting_in_the_metadata_is_above_that_of_all() -> None:
    layers = BrokerLayers({}, {"log.cleaner.threads": "2"}, {"log.cleaner.threads": "3"})
    config = described(describe_broker(layers))["log.cleaner.threads"]
    assert (config.value, config.source) == ("3", ConfigSource.DYNAMIC_BROKER)
    assert [each.value for each in config.synonyms] == ["3", "2", "1"]


def test_a_value_that_nobody_has_checked_is_shown_as_it_stands() -> None:
    config = described(describe_broker(BrokerLayers({"log.cleaner.threads": "many"})))
    assert config["log.cleaner.threads"].value == "many"


def test_all_brokers_show_what_the_metadata_has_and_nothing_else() -> None:
    configs = described(describe_all_brokers({"log.cleaner.threads": "2", "foo.bar": "x"}))
    assert configs.keys() == {"log.cleaner.threads", "foo.bar"}
    assert configs["log.cleaner.threads"].synonyms == (
        ConfigSynonym("log.cleaner.threads", "2", ALL),
    )
    assert configs["foo.bar"].value is None


def test_a_group_has_the_broker_s_settings_and_its_own() -> None:
    configs = described(describe_group({"share.auto.offset.reset": "earliest"}, LAYERS))
    timeout = configs["consumer.session.timeout.ms"]
    assert (timeout.value, timeout.source) == ("50000", BROKER)
    reset = configs["share.auto.offset.reset"]
    assert reset.value == "earliest"
    assert reset.synonyms == (
        ConfigSynonym("share.auto.offset.reset", "earliest", ConfigSource.GROUP),
        ConfigSynonym("share.auto.offset.reset", "latest", DEFAULT),
    )


def test_a_subscription_has_its_own_settings() -> None:
    config = described(describe_client_metrics({"interval.ms": "100"}))["interval.ms"]
    assert (config.value, config.source) == ("100", ConfigSource.CLIENT_METRICS)
