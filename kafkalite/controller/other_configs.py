"""Settings of brokers, loggers, groups and client metrics: what Kafka refuses is refused here.

Of brokers, the settings can be altered that give topics their defaults. What would change nothing
is granted.

Kafka differs: other settings of brokers (connections, threads, quotas, TLS), those of groups and of
client metrics subscriptions can be altered there while it runs, and the levels of its loggers. Here
that is refused, with a message that says so.

Source: Kafka's `ConfigAdminManager`, `DynamicBrokerConfig` and `ConfigurationControlManager`; the
words were asked of the real broker.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.config.definitions import TOPIC_KEYS
from kafkalite.config.keys import ConfigKey, ConfigType
from kafkalite.controller.config_edits import changes, config_records, edited_list
from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId

MIN_IN_SYNC = "min.insync.replicas"
"""Kafka keeps it in the metadata for all brokers, where eligible leader replicas need it."""
_LIST_OPERATIONS = (ConfigOperation.APPEND, ConfigOperation.SUBTRACT)
_TOPIC_DEFAULTS = frozenset(synonym.name for key in TOPIC_KEYS.values() for synonym in key.synonyms)
"""Broker keys that give topics their defaults: brokers follow them at once."""


def alter_other(
    image: MetadataImage, wanted: ResourceEdits, *, asked: BrokerId, replaces_all: bool
) -> list[Change]:
    """Records of what changes; `KafkaError` for what Kafka refuses, and for what does nothing
    here."""
    match wanted.resource.type:
        case ConfigResourceType.BROKER:
            return _alter_broker(image, wanted, asked=asked, replaces_all=replaces_all)
        case ConfigResourceType.BROKER_LOGGER if not replaces_all:
            _alter_loggers(wanted, asked)
        case ConfigResourceType.CLIENT_METRICS:
            _alter_client_metrics(wanted)
        case ConfigResourceType.GROUP:
            _alter_group(wanted)
        case unknown:
            _refuse(f"Unknown resource type {int(unknown)}")
    return []


def _alter_broker(
    image: MetadataImage, wanted: ResourceEdits, *, asked: BrokerId, replaces_all: bool
) -> list[Change]:
    from kafkalite.config.described_keys import broker_keys  # Few ask: not at a start.

    name, keys = wanted.resource.name, broker_keys()
    if name and _node_id(name) != asked:
        _refuse(f"Unexpected broker id, expected {asked}, but received {_node_id(name)}")
    before = image.configs.get(wanted.resource, {})
    after = {} if replaces_all else dict(before)
    for edit in wanted.edits:
        value = _edited(edit, before.get(edit.name), keys.get(edit.name))
        if value is None:
            after.pop(edit.name, None)
        else:
            after[edit.name] = value
    changed = changes(before, after)
    fixed = [key for key in changed if key in after and key in keys and keys[key].is_read_only]
    if fixed:
        _refuse(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    for key, value in changed.items():
        if value is not None and key in keys:
            _check_value(keys[key], value)
    if MIN_IN_SYNC in changed and name:
        _refuse_config(f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled.")
    if MIN_IN_SYNC in changed and MIN_IN_SYNC not in after:
        _refuse_config(f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled.")
    without_effect = sorted(key for key in changed if key not in _TOPIC_DEFAULTS)
    if without_effect:
        _refuse(f"kafkalite does not alter these configs yet: [{', '.join(without_effect)}]")
    return config_records(wanted.resource, changed)


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


def _check_value(key: ConfigKey, text: str) -> None:
    try:
        key.parse(text)
    except KafkaError as error:
        _refuse(error.message)


def _alter_loggers(wanted: ResourceEdits, asked: BrokerId) -> None:
    id = _node_id(wanted.resource.name)
    if id != asked:
        _refuse(f"Unexpected node id. Expected {asked}, but received {id}")
    for edit in wanted.edits:
        if edit.operation in _LIST_OPERATIONS:
            operation = ConfigOperation(edit.operation).name
            _refuse(f"{operation} operation is not allowed for the BROKER_LOGGER resource")
        if edit.operation == ConfigOperation.DELETE and edit.name == "root":
            _refuse("Removing the log level of the root logger is not allowed")
        _refuse_config(f"Logger {edit.name} does not exist!")


def _alter_client_metrics(wanted: ResourceEdits) -> None:
    from kafkalite.config.described_keys import CLIENT_METRICS_KEYS

    if not wanted.resource.name:
        _refuse("Subscription name can't be empty")
    for edit in wanted.edits:
        if edit.name not in CLIENT_METRICS_KEYS:
            _refuse(f"Unknown client metrics configuration: {edit.name}")
    if any(edit.operation != ConfigOperation.DELETE for edit in wanted.edits):
        _refuse("kafkalite has no client metrics subscriptions yet")


def _alter_group(wanted: ResourceEdits) -> None:
    from kafkalite.config.described_keys import GROUP_KEYS

    if not wanted.resource.name:
        _refuse("Default group resources are not allowed.")
    for edit in wanted.edits:
        key = GROUP_KEYS.get(edit.name)
        if key is None:
            _refuse_config(f"Unknown group config name: {edit.name}")
        if edit.operation == ConfigOperation.SET:
            key.parse(edit.value or "")
    if any(edit.operation != ConfigOperation.DELETE for edit in wanted.edits):
        _refuse("kafkalite alters no settings of groups yet")


def _node_id(name: str) -> int:
    if not (name.removeprefix("-").isdecimal() and name.isascii()):
        _refuse(f"Node id must be an integer, but it is: {name}")
    return int(name)


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def _refuse_config(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)
