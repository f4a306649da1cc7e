"""Which settings a broker acts by."""

from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.metadata.changes import Change
from kafkalite.metadata.effective_configs import concerns_brokers, effective_broker_config
from kafkalite.metadata.image import ConfigResourceType, MetadataImage
from tests.metadata.sample_changes import folded, image_of, setting

BROKER, TOPIC = ConfigResourceType.BROKER, ConfigResourceType.TOPIC
OWN = BrokerConfig.of({"node.id": "1", "max.connections": "1", "num.partitions": "7"})


@pytest.mark.parametrize(
    ("changes", "connections"),
    [
        ((), 1),
        ((setting(BROKER, "", "max.connections", "2"),), 2),
        ((setting(BROKER, "1", "max.connections", "3"),), 3),
        (
            (
                setting(BROKER, "1", "max.connections", "3"),
                setting(BROKER, "", "max.connections", "2"),
            ),
            3,
        ),
        ((setting(BROKER, "2", "max.connections", "4"),), 1),
    ],
)
def test_what_is_for_the_broker_alone_is_strongest(
    changes: tuple[Change, ...], connections: int
) -> None:
    config, left_out = effective_broker_config(image_of(*changes), OWN)
    assert left_out == ()
    assert config.max_connections == connections
    assert config.num_partitions == 7


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max.connections", "few", "Invalid value few for configuration max.connections: "),
        ("max.connections.per.ip", "0", "max.connections.per.ip can be set to zero only if "),
        ("kafkalite.later", "1", "Unknown broker config name: kafkalite.later"),
    ],
)
def test_what_cannot_be_followed_is_left_out_alone(name: str, value: str, message: str) -> None:
    image = image_of(
        setting(BROKER, "", "max.connections", "2"),
        setting(BROKER, "", "fetch.max.bytes", "3000"),
        setting(BROKER, "1", name, value),
        setting(BROKER, "1", "queued.max.requests", "4"),
    )
    config, left_out = effective_broker_config(image, OWN)
    assert len(left_out) == 1
    assert left_out[0].startswith(message)
    assert (config.max_connections, config.fetch_max_bytes) == (2, 3000)
    assert config.queued_max_requests == 4
    assert config.max_connections_per_ip == 2**31 - 1


def test_what_needs_another_setting_is_not_left_out_with_a_third() -> None:
    image = image_of(
        setting(BROKER, "", "max.connections", "few"),
        setting(BROKER, "", "max.connections.per.ip", "0"),
        setting(BROKER, "1", "max.connections.per.ip.overrides", "127.0.0.1:3"),
    )
    config, left_out = effective_broker_config(image, OWN)
    assert len(left_out) == 1
    assert (config.max_connections, config.max_connections_per_ip) == (1, 0)


def test_when_all_is_wrong_the_file_holds() -> None:
    image = image_of(setting(BROKER, "", "max.connections", "few"))
    config, left_out = effective_broker_config(image, OWN)
    assert (config, len(left_out)) == (OWN, 1)


def test_only_settings_of_brokers_concern_them() -> None:
    base = MetadataImage()
    assert concerns_brokers(folded(base, setting(BROKER, "2", "max.connections", "4")).delta)
    assert not concerns_brokers(folded(base, setting(TOPIC, "t", "retention.ms", "4")).delta)
