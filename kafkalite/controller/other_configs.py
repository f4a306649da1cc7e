"""Settings of what belongs to one broker: its own (`broker_configs.py`), and its loggers. What
Kafka refuses is refused here.

Kafka differs: the levels of its loggers can be altered while it runs. Here a broker has none, so
that each is refused as one that does not exist.

Source: Kafka's `ConfigAdminManager` and `ConfigurationControlManager`; the words were asked of the
real broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from kafkalite.controller.broker_configs import alter_broker, node_id
from kafkalite.controller.events import ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId

_LIST_OPERATIONS = (ConfigOperation.APPEND, ConfigOperation.SUBTRACT)


def alter_other(
    image: MetadataImage,
    wanted: ResourceEdits,
    *,
    asked: BrokerId,
    own_settings: Mapping[str, str],
    replaces_all: bool,
) -> list[Change]:
    """Records of what changes; `KafkaError` for what Kafka refuses, and for what does nothing
    here. `asked` and `own_settings` as in `alter_broker`."""
    match wanted.resource.type:
        case ConfigResourceType.BROKER:
            return alter_broker(
                image, wanted, asked=asked, own_settings=own_settings, replaces_all=replaces_all
            )
        case ConfigResourceType.BROKER_LOGGER if not replaces_all:
            _alter_loggers(wanted, asked)
        case unknown:
            _refuse(f"Unknown resource type {int(unknown)}")
    return []


def _alter_loggers(wanted: ResourceEdits, asked: BrokerId) -> None:
    id = node_id(wanted.resource.name)
    if id != asked:
        _refuse(f"Unexpected node id. Expected {asked}, but received {id}")
    for edit in wanted.edits:
        if edit.operation in _LIST_OPERATIONS:
            operation = ConfigOperation(edit.operation).name
            _refuse(f"{operation} operation is not allowed for the BROKER_LOGGER resource")
        if edit.operation == ConfigOperation.DELETE and edit.name == "root":
            _refuse("Removing the log level of the root logger is not allowed")
        _refuse_config(f"Logger {edit.name} does not exist!")


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def _refuse_config(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)
