"""The settings that a broker acts by: those that the metadata has for it, above those of its own
file (KIP-226).

Source: Kafka's `DynamicBrokerConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafkalite.config.listeners import parse_ip_limits
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage


class EffectiveBroker(NamedTuple):
    """What a broker acts by."""

    config: BrokerConfig
    left_out: tuple[str, ...] = ()
    """Why settings in the metadata are not followed, one by one: another release may have let them
    in."""


class _Setting(NamedTuple):
    """One that the metadata has, in the layer that it is in."""

    layer: int
    name: str
    value: str


def effective_broker_config(image: MetadataImage, own: BrokerConfig) -> EffectiveBroker:
    """What `own`, of its file, becomes; what the metadata has for it alone is strongest. What
    cannot be followed is left out, and a weaker layer's value holds."""
    broker = ConfigResourceType.BROKER
    layers = [
        image.configs.get(ConfigResource(broker, name), {}) for name in ("", str(own.node_id))
    ]
    try:
        return EffectiveBroker(_config(own, layers))
    except KafkaError:
        return _without_what_is_wrong(own, layers)


def _config(own: BrokerConfig, layers: list[Mapping[str, str]]) -> BrokerConfig:
    of_all, of_this = layers
    config = BrokerConfig.of({**own.settings, **of_all, **of_this})
    parse_ip_limits(config)
    return config


def _without_what_is_wrong(own: BrokerConfig, layers: list[Mapping[str, str]]) -> EffectiveBroker:
    """Settings are added one by one, and what is refused again after others that it may need."""
    config, kept = own, [dict[str, str](), dict[str, str]()]
    to_add = [
        _Setting(layer, name, value)
        for layer, settings in enumerate(layers)
        for name, value in settings.items()
    ]
    while True:
        refused: list[_Setting] = []
        messages: list[str] = []
        for each in to_add:
            kept[each.layer][each.name] = each.value
            try:
                config = _config(own, [*kept])
            except KafkaError as error:
                del kept[each.layer][each.name]
                refused.append(each)
                messages.append(error.message)
        if len(refused) == len(to_add):
            return EffectiveBroker(config, tuple(messages))
        to_add = refused


def concerns_brokers(delta: MetadataDelta) -> bool:
    """Whether settings of brokers have changed."""
    return any(resource.type == ConfigResourceType.BROKER for resource in delta.configs)
