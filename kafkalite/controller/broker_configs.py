"""Settings of brokers, one or all, that are altered while they run (KIP-226).

What Kafka takes is kept in the metadata, whether it acts here or not, as in a broker's own file.
Brokers follow at once what gives topics their defaults, `max.connections` and its kin, and
`producer.id.expiration.ms`.

Kafka differs: its listeners, settings of single ones (`listener.name.`), and what belongs to TLS,
SASL and plug-ins can be altered there while it runs. Here that is refused, with a message that says
so.

Kafka differs: it refuses numbers of threads that are more than double or less than half of what
they are. Here such settings have no effect.

Source: Kafka's `DynamicBrokerConfig`, `ConfigAdminManager`; order and words were asked of the real
broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from kafkalite.config.java_numbers import java_integer
from kafkalite.config.keys import ConfigKey, ConfigType
from kafkalite.config.listeners import parse_ip_limits
from kafkalite.config.relations import check_relations
from kafkalite.config.views import BrokerConfig
from kafkalite.controller.config_edits import changes, config_records, edited_list
from kafkalite.controller.eligible_replicas import MIN_IN_SYNC, keeps_eligible_replicas
from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId

_IP_LIMITS = ("max.connections.per.ip", "max.connections.per.ip.overrides")
_OUR_PREFIX = "kafkalite."
_OF_A_LISTENER = ("ssl.keystore.", "ssl.truststore.", "ssl.key.password")
"""Kafka takes these with the name of a listener before them alone."""
_OF_ONE_BROKER = (
    "cordoned.log.dirs",
    "listener.security.protocol.map",
    "listeners",
    "principal.builder.class",
    "sasl.",
    "ssl.",
)
"""Kafka does not take these for all brokers at once."""
_NOT_WHILE_IT_RUNS = (*_OF_ONE_BROKER, "config.providers", "listener.name.", "metric.reporters")
"""Beginnings of names, as the two above."""


def alter_broker(
    image: MetadataImage,
    wanted: ResourceEdits,
    *,
    asked: BrokerId,
    own_settings: Mapping[str, str],
    replaces_all: bool,
) -> list[Change]:
    """Records of what changes; `KafkaError` for what Kafka refuses, and for what cannot be altered
    here. `asked`: the broker that the client asked, the one whose settings it may alter;
    `own_settings`: those of its file."""
    from kafkalite.config.described_keys import broker_keys  # Few ask: not at a start.

    name, keys = wanted.resource.name, broker_keys()
    if name and node_id(name) != asked:
        _refuse(f"Unexpected broker id, expected {asked}, but received {name}")
    before = image.configs.get(wanted.resource, {})
    after = {} if replaces_all else dict(before)
    for edit in wanted.edits:
        value = _edited(edit, before.get(edit.name), keys.get(edit.name))
        if value is None:
            after.pop(edit.name, None)
        else:
            after[edit.name] = value
    changed = changes(before, after)
    _check({key: value for key, value in changed.items() if value is not None}, keys, name)
    if keeps_eligible_replicas(image):
        if any(edit.name == MIN_IN_SYNC for edit in wanted.edits):
            changed[MIN_IN_SYNC] = after.get(MIN_IN_SYNC)  # Though it may be as before.
        _check_min_in_sync(name, changed)
    _refuse_any(
        "kafkalite does not alter these configs while it runs",
        (key for key in changed if key.startswith(_NOT_WHILE_IT_RUNS)),
    )
    if changed:
        altered = {**image.configs, wanted.resource: after}
        of_all, of_this = (
            altered.get(ConfigResource(ConfigResourceType.BROKER, name), {})
            for name in ("", str(asked))
        )
        _check_together({**own_settings, **of_all, **of_this}, keys)
    return config_records(wanted.resource, changed)


def _check_min_in_sync(broker: str, changed: Mapping[str, str | None]) -> None:
    """One value for all brokers: by it the controller knows who is eligible."""
    if MIN_IN_SYNC in changed and broker:
        _refuse_config(f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled.")
    if MIN_IN_SYNC in changed and changed[MIN_IN_SYNC] is None:
        _refuse_config(f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled.")


def _check(settings: Mapping[str, str], keys: Mapping[str, ConfigKey], broker: str) -> None:
    """What is newly set, in Kafka's order."""
    _refuse_any(
        "Cannot update these configs dynamically",
        (key for key in settings if key in keys and keys[key].is_read_only),
    )
    _refuse_any(
        "These security configs can be dynamically updated only per-listener using the listener"
        " prefix",
        (key for key in settings if key.startswith(_OF_A_LISTENER)),
    )
    for key, text in settings.items():
        if key in keys:
            try:
                keys[key].parse(text)
            except KafkaError as error:
                _refuse(error.message)
        elif key.startswith(_OUR_PREFIX):
            _refuse(f"Unknown broker config name: {key}")
    if not broker:
        _refuse_any(
            "Cannot update these configs at default cluster level, broker id must be specified",
            (key for key in settings if key.startswith(_OF_ONE_BROKER)),
        )


def _check_together(settings: Mapping[str, str], keys: Mapping[str, ConfigKey]) -> None:
    """All that the broker would act by. A value that its key does not take, which another release
    may have let into the metadata, is not followed, and so contradicts nothing."""
    followed = {name: text for name, text in settings.items() if _is_taken(keys.get(name), text)}
    limits = {name: followed[name] for name in _IP_LIMITS if name in followed}
    try:
        check_relations(followed)
        parse_ip_limits(BrokerConfig.of(limits))
    except KafkaError as error:
        _refuse(error.message)


def _is_taken(key: ConfigKey | None, text: str) -> bool:
    try:
        return key is None or key.parse(text) is not None
    except KafkaError:
        return False


def _edited(edit: ConfigEdit, before: str | None, key: ConfigKey | None) -> str | None:
    """What the setting becomes; None: it goes."""
    if edit.operation not in list(ConfigOperation):
        _refuse(f"Unknown operations type {edit.operation}")
    if edit.operation == ConfigOperation.DELETE:
        return None
    if edit.operation == ConfigOperation.SET:
        return edit.value
    if key is None:
        _refuse_config(f"Unknown config name: {edit.name}")
    if key.type is not ConfigType.LIST:
        verb = ConfigOperation(edit.operation).name.lower()
        _refuse_config(f"Config value {verb} is not allowed for config key: {edit.name}")
    return edited_list((key.default or "") if before is None else before, edit)


def node_id(name: str) -> int:
    """The number of a broker that is named so; `KafkaError` when it is none."""
    id = java_integer(name)
    if id is None:
        _refuse(f"Node id must be an integer, but it is: {name}")
    return id


def _refuse_any(why: str, keys: Iterable[str]) -> None:
    found = list(keys)
    if found:
        _refuse(f"{why}: [{', '.join(found)}]")


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def _refuse_config(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)
