"""Settings of topics: validation on creation. Altering them comes with its APIs.

Source: Kafka's `ConfigurationControlManager` and `ControllerConfigurationValidator`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.config.views import validate_topic_config
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResourceType
from kafkalite.protocol.messages.metadata_records import (
    ConfigRecord,
)


def new_topic_config(pairs: tuple[tuple[str, str | None], ...]) -> dict[str, str]:
    """Each key once, with its last value. `KafkaError(INVALID_CONFIG)` in Kafka's words."""
    values: dict[str, str] = {}
    nulls = []
    for key, value in pairs:
        if value is None:
            nulls.append(key)
        else:
            values[key] = value
    if nulls:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {','.join(nulls)}",
        )
    validate_topic_config(values)
    return values


def topic_config_records(topic: str, values: Mapping[str, str]) -> list[Change]:
    """Records that set these on a topic."""
    return [
        ConfigRecord(
            resource_type=ConfigResourceType.TOPIC, resource_name=topic, name=key, value=value
        )
        for key, value in values.items()
    ]
