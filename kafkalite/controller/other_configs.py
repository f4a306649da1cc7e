"""Settings of brokers, loggers, groups and client metrics: what Kafka refuses is refused here.

Only topics' settings can be altered yet. What would change nothing is granted.

Kafka differs: settings of brokers (message.max.bytes and many more), of groups and of client
metrics subscriptions can be altered there while it runs, and the levels of its loggers. Here that
is refused, with a message that says so.

Source: Kafka's `ConfigAdminManager`, `DynamicBrokerConfig` and `ConfigurationControlManager`; the
words were asked of the real broker.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.config.keys import ConfigKey
from kafkalite.controller.events import ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId

MIN_IN_SYNC = "min.insync.replicas"
"""Kafka keeps it in the metadata for all brokers, where eligible leader replicas need it."""
_LIST_OPERATIONS = (ConfigOperation.APPEND, ConfigOperation.SUBTRACT)


def alter_other(
    image: MetadataImage, wanted: ResourceEdits, *, asked: BrokerId, replaces_all: bool
) -> None:
    """Return when the edits change nothing; `KafkaError` else, or for what Kafka refuses."""
    match wanted.resource.type:
        case ConfigResourceType.BROKER:
            _alter_broker(image, wanted, asked=asked, replaces_all=replaces_all)
        case ConfigResourceType.BROKER_LOGGER if not replaces_all:
            _alter_loggers(wanted, asked)
        case ConfigResourceType.CLIENT_METRICS:
            _alter_client_metrics(wanted)
        case ConfigResourceType.GROUP:
            _alter_group(wanted)
        case unknown:
            _refuse(f"Unknown resource type {int(unknown)}")


def _alter_broker(
    image: MetadataImage, wanted: ResourceEdits, *, asked: BrokerId, replaces_all: bool
) -> None:
    name = wanted.resource.name
    if name and _node_id(name) != asked:
        _refuse(f"Unexpected broker id, expected {asked}, but received {_node_id(name)}")
    for edit in wanted.edits:
        if edit.operation not in list(ConfigOperation):
            _refuse(f"Unknown operations type {edit.operation}")
    from kafkalite.config.described_keys import broker_keys  # Few ask: not at a start.

    keys = broker_keys()
    set_keys = [edit.name for edit in wanted.edits if edit.operation != ConfigOperation.DELETE]
    fixed = [key for key in set_keys if key in keys and keys[key].is_read_only]
    if fixed:
        _refuse(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    for edit in wanted.edits:
        known = keys.get(edit.name)
        if known is not None and edit.operation == ConfigOperation.SET:
            _check_value(known, edit.value or "")
    if name and MIN_IN_SYNC in set_keys:
        _refuse_config(f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled.")
    present = image.configs.get(wanted.resource, {})
    removed = {edit.name for edit in wanted.edits if edit.operation == ConfigOperation.DELETE}
    if replaces_all:
        removed |= present.keys() - set(set_keys)
    if not name and MIN_IN_SYNC in removed & present.keys():
        _refuse_config(f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled.")
    changed = [edit.name for edit in wanted.edits if present.get(edit.name) != edit.value]
    changed = [key for key in changed if key in set_keys] + sorted(removed & present.keys())
    if changed:
        _refuse(f"kafkalite alters no settings of brokers yet: [{', '.join(changed)}]")


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
