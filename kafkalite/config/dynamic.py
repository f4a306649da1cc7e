"""Which layer a topic's setting comes from: what is shown next to its value.

Layers, the first that has the key wins: the topic itself, the default of all brokers kept in the
metadata, the broker's own file, Kafka's default (KIP-226). A topic key is looked up in the broker's
layers under its synonyms, with their units converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from kafkalite.config.definitions import TOPIC_KEYS
from kafkalite.config.keys import ConfigKey


class ConfigSource(IntEnum):
    """The protocol's numbers for the layers."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """One setting as it acts."""

    name: str
    value: str | None
    """As text; None where Kafka shows none."""
    source: ConfigSource


def effective_topic_configs(
    overrides: Mapping[str, str],
    default_broker: Mapping[str, str],
    static_broker: Mapping[str, str],
) -> list[EffectiveConfig]:
    """All topic keys that DescribeConfigs lists, by name."""
    layers = (
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, default_broker),
        (ConfigSource.STATIC_BROKER, static_broker),
    )
    return [
        _effective(key, overrides, layers)
        for name, key in sorted(TOPIC_KEYS.items())
        if not key.is_internal
    ]


def _effective(
    key: ConfigKey,
    overrides: Mapping[str, str],
    layers: tuple[tuple[ConfigSource, Mapping[str, str]], ...],
) -> EffectiveConfig:
    own = overrides.get(key.name)
    if own is not None:
        return EffectiveConfig(key.name, own, ConfigSource.DYNAMIC_TOPIC)
    for source, settings in layers:
        for synonym in key.synonyms:
            text = settings.get(synonym.name)
            if text is not None:
                value = text if synonym.factor == 1 else str(int(text) * synonym.factor)
                return EffectiveConfig(key.name, value, source)
    return EffectiveConfig(key.name, key.default, ConfigSource.DEFAULT)
