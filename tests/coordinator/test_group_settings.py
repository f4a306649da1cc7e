"""What one consumer group goes by."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.group_settings import settings_of
from kafkalite.coordinator.groups.settings import ConsumerSettings
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage

BROKER = ConsumerSettings()


def image_with(**own: str) -> MetadataImage:
    settings = {name.replace("_", "."): value for name, value in own.items()}
    return MetadataImage(configs={ConfigResource(ConfigResourceType.GROUP, "g"): settings})


def test_a_groups_own_settings_come_before_the_brokers() -> None:
    image = image_with(consumer_session_timeout_ms="7", consumer_heartbeat_interval_ms=" 8 ")
    own = settings_of("g", image, BROKER)
    assert own == BROKER._replace(session_timeout_ms=7, heartbeat_interval_ms=8)
    assert settings_of("h", image, BROKER) is BROKER


def test_what_is_no_number_is_passed_over() -> None:
    image = image_with(consumer_session_timeout_ms="x", share_session_timeout_ms="9")
    assert settings_of("g", image, BROKER) == BROKER
