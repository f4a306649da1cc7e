"""Levels of a broker's loggers, altered as if they were settings: refused where Kafka refuses.

Kafka differs: the levels of its loggers can be altered while it runs. Here a broker has none, so
that each is refused as one that does not exist.

Source: Kafka's `ConfigAdminManager`; the words were asked of the real broker.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.controller.broker_configs import node_id
from kafkalite.controller.events import ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import BrokerId

_LIST_OPERATIONS = (ConfigOperation.APPEND, ConfigOperation.SUBTRACT)


def check_logger_edits(wanted: ResourceEdits, asked: BrokerId) -> None:
    """`KafkaError` for the first edit: there is no logger. `asked`: the broker that the client
    asked, the one whose loggers it may alter."""
    id = node_id(wanted.resource.name)
    if id != asked:
        _refuse(f"Unexpected node id. Expected {asked}, but received {id}")
    for edit in wanted.edits:
        if edit.operation in _LIST_OPERATIONS:
            _refuse_operation(f"{ConfigOperation(edit.operation).name} operation")
        if edit.operation not in list(ConfigOperation):
            _refuse_operation(f"Unknown operation type {edit.operation}")
        if edit.operation == ConfigOperation.DELETE and edit.name == "root":
            _refuse("Removing the log level of the root logger is not allowed")
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {edit.name} does not exist!")


def _refuse_operation(operation: str) -> NoReturn:
    _refuse(f"{operation} is not allowed for the BROKER_LOGGER resource")


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)
