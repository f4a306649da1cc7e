"""Which layer a setting comes from, and all that is shown next to its value.

Layers, the first that has the key wins: the resource itself, the broker's and all brokers' settings
kept in the metadata, the broker's own file, Kafka's default (KIP-226). A topic key is looked up in
the broker's layers under its synonyms, with their units converted.

Two answers show it, which agree in all but one case: where the broker's file gives a topic its
value under another name than the first synonym (`log.retention.hours`), CreateTopics tells the
layer, and DescribeConfigs the default.

Source: Kafka's `KafkaConfigSchema`, `ConfigHelper` and `DynamicBrokerConfig`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkalite.config.keys import ConfigKey
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.errors import KafkaError


class ConfigSource(IntEnum):
    """The protocol's numbers for the layers."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class EffectiveConfig(NamedTuple):
    """One setting as it acts."""

    name: str
    value: str | None
    """As text; None where Kafka shows none."""
    source: ConfigSource


class ConfigSynonym(NamedTuple):
    """What one layer has, under this or another name."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(NamedTuple):
    """One setting with all that DescribeConfigs tells of it."""

    name: str
    value: str | None
    """None: not set, or not to be shown."""
    source: ConfigSource
    type: int
    """A `ConfigType`; 0 for a key that is unknown."""
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    """The layers that have it, this one first."""
    doc: str | None


class BrokerLayers(NamedTuple):
    """The settings of one broker, as texts by name."""

    static: Mapping[str, str]
    """Its own file."""
    of_all: Mapping[str, str] = {}
    """In the metadata, for all brokers."""
    of_this: Mapping[str, str] = {}
    """In the metadata, for it alone."""

    def in_order(self) -> tuple[tuple[ConfigSource, Mapping[str, str]], ...]:
        """The strongest first."""
        return (
            (ConfigSource.DYNAMIC_BROKER, self.of_this),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER, self.of_all),
            (ConfigSource.STATIC_BROKER, self.static),
        )


def effective_topic_configs(
    overrides: Mapping[str, str],
    default_broker: Mapping[str, str],
    static_broker: Mapping[str, str],
) -> list[EffectiveConfig]:
    """All topic keys that CreateTopics lists, by name."""
    layers = BrokerLayers(static_broker, default_broker)
    return [_effective(key, overrides, layers) for key in _listed_topic_keys()]


def describe_topic(overrides: Mapping[str, str], broker: BrokerLayers) -> list[DescribedConfig]:
    """All topic keys that DescribeConfigs lists, by name: an internal one when it is set."""
    described = []
    internal = [key for key in TOPIC_KEYS.values() if key.is_internal and key.name in overrides]
    for key in sorted([*_listed_topic_keys(), *internal], key=lambda key: key.name):
        value = _effective(key, overrides, broker).value
        synonyms = _layers_of(key.synonyms[0].name, broker) if key.synonyms else ()
        described.append(
            _described(
                key, value, synonyms, own=overrides.get(key.name), layer=ConfigSource.DYNAMIC_TOPIC
            )
        )
    return described


def describe_broker(broker: BrokerLayers) -> list[DescribedConfig]:
    """All broker keys, and the names that its file has besides, which may hold a secret."""
    from kafkalite.config.described_keys import broker_keys

    keys = broker_keys()
    names = {**keys, **broker.static, **broker.of_all, **broker.of_this}
    return [_describe_broker_key(name, keys.get(name), broker) for name in sorted(names)]


def describe_all_brokers(of_all: Mapping[str, str]) -> list[DescribedConfig]:
    """What the metadata has for all brokers, and nothing else."""
    from kafkalite.config.described_keys import broker_keys

    keys = broker_keys()
    return [
        _with_synonyms_of(
            ConfigSource.DYNAMIC_DEFAULT_BROKER,
            _describe_broker_key(name, keys.get(name), BrokerLayers({}, of_all)),
        )
        for name in sorted(of_all)
    ]


def describe_group(overrides: Mapping[str, str], broker: BrokerLayers) -> list[DescribedConfig]:
    """All keys of a group, by name; a group need not exist."""
    from kafkalite.config.group_keys import GROUP_KEYS

    described = []
    for name, key in sorted(GROUP_KEYS.items()):
        synonym = key.synonyms[0].name
        layers = _layers_of(synonym, broker) or (
            ConfigSynonym(synonym, key.default, ConfigSource.DEFAULT),
        )
        own = overrides.get(name)
        described.append(
            _described(key, layers[0].value, layers, own=own, layer=ConfigSource.GROUP)
        )
    return described


def describe_client_metrics(overrides: Mapping[str, str]) -> list[DescribedConfig]:
    """All keys of a subscription to client metrics, by name; it need not exist."""
    from kafkalite.config.client_metrics import CLIENT_METRICS_KEYS

    return [
        _described(key, key.default, (), own=overrides.get(name), layer=ConfigSource.CLIENT_METRICS)
        for name, key in sorted(CLIENT_METRICS_KEYS.items())
    ]


def _listed_topic_keys() -> Iterable[ConfigKey]:
    return (key for _, key in sorted(TOPIC_KEYS.items()) if not key.is_internal)


def _effective(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerLayers
) -> EffectiveConfig:
    own = overrides.get(key.name)
    if own is not None:
        return EffectiveConfig(key.name, own, ConfigSource.DYNAMIC_TOPIC)
    for source, settings in broker.in_order():
        for synonym in key.synonyms:
            text = settings.get(synonym.name)
            if text is not None:
                value = text if synonym.factor == 1 else str(int(text) * synonym.factor)
                return EffectiveConfig(key.name, value, source)
    return EffectiveConfig(key.name, key.default, ConfigSource.DEFAULT)


def _described(
    key: ConfigKey,
    inherited: str | None,
    synonyms: tuple[ConfigSynonym, ...],
    *,
    own: str | None,
    layer: ConfigSource,
) -> DescribedConfig:
    """`own`: what the resource itself has, in that `layer`."""
    value = _shown(key, inherited if own is None else own)
    if own is not None:
        synonyms = (ConfigSynonym(key.name, value, layer), *synonyms)
    return DescribedConfig(
        name=key.name,
        value=value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        type=key.type,
        is_read_only=key.is_read_only,
        is_sensitive=key.is_sensitive,
        synonyms=synonyms,
        doc=key.doc,
    )


def _describe_broker_key(name: str, key: ConfigKey | None, broker: BrokerLayers) -> DescribedConfig:
    layers = _layers_of(name, broker)
    if key is None:  # It may be a plug-in's, and hold a secret.
        hidden = tuple(layer._replace(value=None) for layer in layers)
        return DescribedConfig(name, None, layers[0].source, 0, True, True, hidden, None)
    value = next((layer.value for layer in layers if layer.name == name), None)
    return _described(key, value, layers, own=None, layer=ConfigSource.STATIC_BROKER)


def _layers_of(name: str, broker: BrokerLayers) -> tuple[ConfigSynonym, ...]:
    """The layers that have a broker key or one that stands in for it, from the first that has it
    under its own name on."""
    from kafkalite.config.described_keys import broker_keys

    keys = broker_keys()
    family = next((names for names in _FAMILIES if name in names), (name,))
    found = []
    for source, settings in broker.in_order():
        found += [
            ConfigSynonym(each, settings[each], source) for each in family if each in settings
        ]
    for each in family:
        default = keys[each].default if each in keys else None
        if default is not None:
            found.append(ConfigSynonym(each, default, ConfigSource.DEFAULT))
    while found and found[0].name != name:
        del found[0]
    return tuple(
        layer._replace(value=None)
        if layer.name in keys and keys[layer.name].is_sensitive
        else layer
        for layer in found
    )


def _with_synonyms_of(source: ConfigSource, config: DescribedConfig) -> DescribedConfig:
    kept = tuple(synonym for synonym in config.synonyms if synonym.source is source)
    return config._replace(synonyms=kept)


def _shown(key: ConfigKey, text: str | None) -> str | None:
    if text is None or key.is_sensitive:
        return None
    try:
        return key.show(text)
    except KafkaError:
        return text  # Of a key without effect, whose value nobody has checked.


_FAMILIES = [
    tuple(synonym.name for synonym in key.synonyms)
    for key in TOPIC_KEYS.values()
    if len(key.synonyms) > 1
]
"""Broker keys that stand in for each other, the strongest first."""
