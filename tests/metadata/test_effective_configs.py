"""Which settings a broker acts by."""

from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import KafkaError
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
    config = effective_broker_config(image_of(*changes), OWN)
    assert config.max_connections == connections
    assert config.num_partitions == 7


def test_a_value_that_is_none_is_an_error() -> None:
    with pytest.raises(KafkaError):
        effective_broker_config(image_of(setting(BROKER, "", "max.connections", "few")), OWN)


def test_only_settings_of_brokers_concern_them() -> None:
    base = MetadataImage()
    assert concerns_brokers(folded(base, setting(BROKER, "2", "max.connections", "4")).delta)
    assert not concerns_brokers(folded(base, setting(TOPIC, "t", "retention.ms", "4")).delta)
