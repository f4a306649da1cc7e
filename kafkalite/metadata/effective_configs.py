"""The settings that a broker acts by: those that the metadata has for it, above those of its own
file (KIP-226).

Source: Kafka's `DynamicBrokerConfig`.
"""

from __future__ import annotations

from kafkalite.config.views import BrokerConfig
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage


def effective_broker_config(image: MetadataImage, own: BrokerConfig) -> BrokerConfig:
    """What `own`, of its file, becomes; what the metadata has for it alone is strongest.
    `KafkaError` when a value in the metadata is none, as an older or newer release may have let it
    in."""
    configs, broker = image.configs, ConfigResourceType.BROKER
    of_all = configs.get(ConfigResource(broker, ""), {})
    of_this = configs.get(ConfigResource(broker, str(own.node_id)), {})
    return BrokerConfig.of({**own.settings, **of_all, **of_this})


def concerns_brokers(delta: MetadataDelta) -> bool:
    """Whether settings of brokers have changed."""
    return any(resource.type == ConfigResourceType.BROKER for resource in delta.configs)
