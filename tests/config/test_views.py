from __future__ import annotations

import pytest

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.keys import ConfigKey, ConfigType, Value
from kafkalite.config.known import OF_A_MECHANISM
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.config.views import BrokerConfig, TopicConfig, validate_topic_config
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.records.batch import TimestampType

NOT_IN_TOPIC_VIEW = ("remote.", "local.", "errors.", "internal.")
NOT_IN_BROKER_VIEW = {"broker.id", "log.dir", *OF_A_MECHANISM} | {
    synonym.name for key in TOPIC_KEYS.values() for synonym in key.synonyms
}
NOT_IN_BROKER_VIEW.remove("log.flush.scheduler.interval.ms")  # It says when to look, too.


def a_value(name: str, type: ConfigType) -> str:
    """Some text that the key takes and that is not its default."""
    key = TOPIC_KEYS.get(name) or BROKER_KEYS[name]
    match type:
        case ConfigType.BOOLEAN:
            return "false" if key.default == "true" else "true"
        case ConfigType.DOUBLE:
            return "0.25"
        case ConfigType.LIST | ConfigType.STRING if key.one_of:
            return next(value for value in key.one_of if value != key.default)
        case ConfigType.LIST if name == "group.consumer.assignors":
            return "range"
        case ConfigType.LIST:
            return "1:2"
        case ConfigType.STRING:
            return "text"
        case _:
            return str(int(key.minimum or 0) + 4)


def default_of(key: ConfigKey) -> Value | None:
    return None if key.default is None else key.parse(key.default)


@pytest.mark.parametrize("name", [n for n in TOPIC_KEYS if not n.startswith(NOT_IN_TOPIC_VIEW)])
def test_each_topic_key_has_its_field(name: str) -> None:
    key, field = TOPIC_KEYS[name], name.replace(".", "_")
    if name != "message.timestamp.type":
        assert getattr(TopicConfig(), field) == default_of(key)
    text = a_value(name, key.type)
    config = TopicConfig.of({name: text}, BrokerConfig())
    assert getattr(config, field) != getattr(TopicConfig(), field)
    assert config._replace(**{field: getattr(TopicConfig(), field)}) == TopicConfig()


def test_topic_view_has_no_other_fields() -> None:
    fields = {
        name.replace(".", "_") for name in TOPIC_KEYS if not name.startswith(NOT_IN_TOPIC_VIEW)
    }
    assert set(TopicConfig._fields) == fields


@pytest.mark.parametrize("name", [n for n in BROKER_KEYS if n not in NOT_IN_BROKER_VIEW])
def test_each_broker_key_has_its_field(name: str) -> None:
    key, field = BROKER_KEYS[name], name.replace(".", "_")
    if name != "log.dirs":
        assert getattr(BrokerConfig(), field) == default_of(key)
    text = a_value(name, key.type)
    config = BrokerConfig.of({name: text})
    assert getattr(config, field) == key.parse(text) != getattr(BrokerConfig(), field)
    assert config.settings == {name: text, **({"broker.id": text} if name == "node.id" else {})}


def test_broker_view_has_no_other_fields() -> None:
    fields = {name.replace(".", "_") for name in BROKER_KEYS if name not in NOT_IN_BROKER_VIEW}
    assert set(BrokerConfig._fields) == fields | {"topic_defaults", "settings"}


def test_data_folder_under_either_name() -> None:
    assert BrokerConfig().log_dirs == ("kafkalite-data",)
    assert BrokerConfig.of({"log.dir": "/a,/b"}).log_dirs == ("/a", "/b")
    assert BrokerConfig.of({"log.dir": "/a", "log.dirs": "/c"}).log_dirs == ("/c",)


def test_node_id_under_either_name() -> None:
    for name in ("node.id", "broker.id"):
        config = BrokerConfig.of({name: " 7"})
        assert config.node_id == 7
        assert config.settings == {"node.id": " 7", "broker.id": " 7"}
    both = {"node.id": "7", "broker.id": "+7"}
    assert BrokerConfig.of(both).node_id == 7
    assert BrokerConfig.of(both).settings == both
    assert BrokerConfig.of({"node.id": "0"}).node_id == 0


def test_a_broker_id_that_zookeeper_was_to_give_is_the_default() -> None:
    config = BrokerConfig.of({"broker.id": "-1"})
    assert config.node_id == BrokerConfig().node_id
    assert "node.id" not in config.settings


def test_ids_that_differ_are_refused() -> None:
    with pytest.raises(KafkaError, match="must be set to the same value") as caught:
        BrokerConfig.of({"node.id": "1", "broker.id": "2"})
    assert caught.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("text", ["", " ", "a b", "a\\b", "a\nb", "caf\u00e9"])
def test_a_cluster_id_that_a_properties_file_would_change_is_refused(text: str) -> None:
    with pytest.raises(KafkaError, match=r"kafkalite\.cluster\.id") as caught:
        BrokerConfig.of({"kafkalite.cluster.id": text})
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_topic_over_broker_over_default() -> None:
    broker = BrokerConfig.of({"log.segment.bytes": "2000000", "compression.type": "lz4"})
    config = TopicConfig.of({"segment.bytes": "3000000"}, broker)
    assert config.segment_bytes == 3_000_000
    assert config.compression_type == "lz4"
    assert config.index_interval_bytes == 4096
    assert TopicConfig.of({}, broker).segment_bytes == 2_000_000
    assert TopicConfig.of({}, broker) is broker.topic_defaults


@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.ms": "-1", "log.retention.minutes": "3"}, -1),
        ({"log.retention.minutes": "-1"}, -60_000),
    ],
)
def test_finest_unit_wins(settings: dict[str, str], retention_ms: int) -> None:
    assert BrokerConfig.of(settings).topic_defaults.retention_ms == retention_ms


def test_hours_of_rolling_and_its_jitter() -> None:
    defaults = BrokerConfig.of({"log.roll.hours": "1", "log.roll.jitter.hours": "2"}).topic_defaults
    assert (defaults.segment_ms, defaults.segment_jitter_ms) == (3_600_000, 7_200_000)


def test_flush_interval_or_else_the_schedulers() -> None:
    scheduler = {"log.flush.scheduler.interval.ms": "5"}
    assert BrokerConfig.of(scheduler).topic_defaults.flush_ms == 5
    both = scheduler | {"log.flush.interval.ms": "7"}
    assert BrokerConfig.of(both).topic_defaults.flush_ms == 7


def test_timestamp_type_is_one() -> None:
    broker = BrokerConfig.of({"log.message.timestamp.type": "LogAppendTime"})
    assert broker.topic_defaults.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    config = TopicConfig.of({"message.timestamp.type": "CreateTime"}, broker)
    assert config.message_timestamp_type is TimestampType.CREATE_TIME


def test_internal_segment_bytes_goes_below_the_floor() -> None:
    config = TopicConfig.of({"internal.segment.bytes": "100"}, BrokerConfig())
    assert config.segment_bytes == 100
    both = {"internal.segment.bytes": "100", "segment.bytes": "2000000"}
    assert TopicConfig.of(both, BrokerConfig()).segment_bytes == 100


@pytest.mark.parametrize(
    ("policy", "compacted", "deleted"),
    [
        ("delete", False, True),
        ("compact", True, False),
        ("compact,delete", True, True),
        ("", False, False),
    ],
)
def test_cleanup_policy(policy: str, *, compacted: bool, deleted: bool) -> None:
    config = TopicConfig.of({"cleanup.policy": policy}, BrokerConfig())
    assert config.is_compacted == compacted
    assert config.is_deleted_by_age == deleted


def test_names_that_are_no_key_are_passed_over() -> None:
    assert TopicConfig.of({"from.another.release": "1"}, BrokerConfig()) == TopicConfig()
    config = BrokerConfig.of({"num.io.threads": "8"})
    assert config.settings == {"num.io.threads": "8"}
    assert config == BrokerConfig()._replace(settings=config.settings)


def test_bad_values_are_refused() -> None:
    with pytest.raises(KafkaError, match=r"Invalid value x for configuration segment.ms") as caught:
        TopicConfig.of({"segment.ms": "x"}, BrokerConfig())
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    with pytest.raises(KafkaError, match=r"Invalid value 0 for configuration num.partitions"):
        BrokerConfig.of({"num.partitions": "0"})
    with pytest.raises(KafkaError, match=r"Unknown broker config name: kafkalite.typo"):
        BrokerConfig.of({"kafkalite.typo": "1"})


def test_settings_are_a_copy() -> None:
    settings = {"num.partitions": "3"}
    config = BrokerConfig.of(settings)
    settings["num.partitions"] = "4"
    assert config.settings == {"num.partitions": "3"}


def test_values_at_odds_with_the_brokers_are_refused() -> None:
    broker = BrokerConfig.of({"log.cleaner.max.compaction.lag.ms": "5"})
    with pytest.raises(KafkaError, match=r"min.compaction.lag.ms \(6\) > max.compaction.lag.ms"):
        validate_topic_config({"min.compaction.lag.ms": "6"}, broker)
    validate_topic_config({"min.compaction.lag.ms": "6"})


def test_of_two_unknown_names_the_first_in_order_is_told() -> None:
    with pytest.raises(KafkaError, match="Unknown topic config name: aaa"):
        validate_topic_config({"zzz": "1", "segment.ms": "x", "aaa": "1"})


def test_tiered_storage_is_refused() -> None:
    with pytest.raises(KafkaError, match="Tiered Storage functionality is disabled"):
        validate_topic_config({"remote.storage.enable": "true"})
    validate_topic_config({"remote.storage.enable": "false"})


def test_with_fsync_no_topic_waits_longer() -> None:
    broker = BrokerConfig.of({"kafkalite.fsync": "true", "log.flush.interval.messages": "9"})
    assert broker.topic_defaults.flush_messages == 1
    assert TopicConfig.of({"flush.messages": "7"}, broker).flush_messages == 1
