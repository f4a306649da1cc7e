"""What one consumer group goes by: its own settings in the metadata, else the broker's.

Source: Kafka's `GroupConfigManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.coordinator.groups.settings import ConsumerSettings
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage

_FIELDS: Mapping[str, str] = {
    "consumer.assignment.interval.ms": "assignment_interval_ms",
    "consumer.heartbeat.interval.ms": "heartbeat_interval_ms",
    "consumer.session.timeout.ms": "session_timeout_ms",
}


def settings_of(group_id: str, image: MetadataImage, broker: ConsumerSettings) -> ConsumerSettings:
    """The settings of that group. A value that is no number, which another release may have let
    into the metadata, is passed over."""
    own = image.configs.get(ConfigResource(ConfigResourceType.GROUP, group_id))
    if own is None:
        return broker
    numbers = {
        field: int(own[name])
        for name, field in _FIELDS.items()
        if name in own and own[name].strip().isdecimal()
    }
    return broker._replace(**numbers)  # type: ignore[arg-type]  # Fields that are numbers.
