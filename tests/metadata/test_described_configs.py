"""Whose settings are described, by whom, and which layers they come from."""

from __future__ import annotations

import pytest

from kafkalite.config.dynamic import ConfigSource, DescribedConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.described_configs import describe
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId
from tests.metadata.sample_changes import image_of, partition, setting, topic

TOPIC, BROKER, LOGGER, METRICS, GROUP = (
    ConfigResourceType.TOPIC,
    ConfigResourceType.BROKER,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.GROUP,
)
ME = BrokerId(1)
IMAGE = image_of(
    topic("t", 1),
    partition(1, 0, [1]),
    setting(TOPIC, "t", "retention.ms", "5"),
    setting(BROKER, "", "log.retention.ms", "6"),
    setting(BROKER, "1", "message.max.bytes", "7"),
    setting(BROKER, "2", "message.max.bytes", "8"),
    setting(METRICS, "m", "interval.ms", "9"),
    setting(GROUP, "g", "consumer.session.timeout.ms", "46000"),
)


def told(
    type: int, name: str, settings: dict[str, str] | None = None, image: MetadataImage = IMAGE
) -> dict[str, DescribedConfig]:
    described = describe(image, ConfigResource(type, name), ME, settings or {})
    return {config.name: config for config in described}


@pytest.mark.parametrize(
    ("type", "name", "key", "value", "source"),
    [
        (TOPIC, "t", "retention.ms", "5", ConfigSource.DYNAMIC_TOPIC),
        (TOPIC, "t", "max.message.bytes", "7", ConfigSource.DYNAMIC_BROKER),
        (BROKER, "", "log.retention.ms", "6", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (BROKER, "1", "log.retention.ms", "6", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (BROKER, "1", "message.max.bytes", "7", ConfigSource.DYNAMIC_BROKER),
        (BROKER, "1", "num.partitions", "3", ConfigSource.STATIC_BROKER),
        (BROKER, "1", "broker.id", "1", ConfigSource.STATIC_BROKER),
        (METRICS, "m", "interval.ms", "9", ConfigSource.CLIENT_METRICS),
        (METRICS, "another", "interval.ms", "300000", ConfigSource.DEFAULT),
        (GROUP, "g", "consumer.session.timeout.ms", "46000", ConfigSource.GROUP),
        (GROUP, "another", "consumer.session.timeout.ms", "10000", ConfigSource.DEFAULT),
    ],
)
def test_each_setting_has_its_layer(
    type: int, name: str, key: str, value: str, source: ConfigSource
) -> None:
    config = told(type, name, {"num.partitions": "3"})[key]
    assert (config.value, config.source) == (value, source)


def test_of_all_brokers_only_what_the_metadata_has_is_told() -> None:
    assert list(told(BROKER, "", {"num.partitions": "3"})) == ["log.retention.ms"]


def test_a_broker_has_no_loggers() -> None:
    assert told(LOGGER, "1") == {}


@pytest.mark.parametrize(
    ("type", "name", "code", "message"),
    [
        (TOPIC, "u", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string"),
        (BROKER, "one", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: one"),
        (
            BROKER,
            "2",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (BROKER, " 1", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is:  1"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (
            LOGGER,
            "2",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 but received 2",
        ),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
    ],
)
def test_resources_that_are_not_told_of(
    type: int, name: str, code: ErrorCode, message: str
) -> None:
    with pytest.raises(KafkaError) as refusal:
        told(type, name)
    assert refusal.value.code is code
    assert refusal.value.message.startswith(message)


def test_other_types_are_refused_before() -> None:
    with pytest.raises(AssertionError):
        told(99, "x")
