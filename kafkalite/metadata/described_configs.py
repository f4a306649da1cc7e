"""The settings of a resource, with all that DescribeConfigs tells of them.

A topic must exist, and a broker be the one that is asked; a group or a subscription to client
metrics need not exist: it has the defaults then.

Source: Kafka's `ConfigHelper`; the words were asked of the real broker.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.config.dynamic import (
    BrokerLayers,
    DescribedConfig,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from kafkalite.config.java_numbers import java_integer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.metadata.topic_names import validate_topic_name
from kafkalite.types import BrokerId


def _layers(image: MetadataImage, broker_id: BrokerId, settings: Mapping[str, str]) -> BrokerLayers:
    """Where the settings of a broker come from; `settings`: what its own file has."""
    return BrokerLayers(
        {"broker.id": str(broker_id), **settings},
        image.configs.get(ConfigResource(ConfigResourceType.BROKER, ""), {}),
        image.configs.get(ConfigResource(ConfigResourceType.BROKER, str(broker_id)), {}),
    )


def describe(
    image: MetadataImage, resource: ConfigResource, asked: BrokerId, settings: Mapping[str, str]
) -> list[DescribedConfig]:
    """All settings of the resource, by name. `asked`: the broker that describes, and has `settings`
    in its own file. `KafkaError` for a resource that there is not, or that is another's to tell."""
    name = resource.name
    of_it = image.configs.get(resource, {})
    broker = _layers(image, asked, settings)
    match resource.type:
        case ConfigResourceType.TOPIC:
            validate_topic_name(name)
            if name not in image.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return describe_topic(of_it, broker)
        case ConfigResourceType.BROKER if not name:
            return describe_all_brokers(of_it)
        case ConfigResourceType.BROKER:
            _check_broker(asked, name, "or empty string, ")
            return describe_broker(broker)
        case ConfigResourceType.BROKER_LOGGER:
            _check_named(name, "Broker id must not be empty")
            _check_broker(asked, name, "")
            return []
        case ConfigResourceType.CLIENT_METRICS:
            _check_named(name, "Client metrics subscription name must not be empty")
            return describe_client_metrics(of_it)
        case ConfigResourceType.GROUP:
            _check_named(name, "Group name must not be empty")
            return describe_group(of_it, broker)
        case unknown:
            raise AssertionError(f"no resource has the type {unknown}")


def _check_named(name: str, why: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, why)


def _check_broker(asked: BrokerId, name: str, alternative: str) -> None:
    id = java_integer(name)
    if id is None:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        )
    if id != asked:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {asked} {alternative}but received {name}",
        )
