"""What Kafka's answers (`tests/server/admin-answers.jsonl`) do not hold: where kafkalite refuses
what Kafka grants, and kinds of changes that nobody asked there."""

from __future__ import annotations

import pytest

from kafkalite.controller.config_edits import config_records
from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.controller.other_configs import alter_other
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId

BROKER, LOGGER = ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND = ConfigOperation.APPEND


def alter(type: int, name: str, *edits: ConfigEdit, replaces_all: bool = False) -> list[Change]:
    wanted = ResourceEdits(ConfigResource(type, name), edits)
    return alter_other(
        MetadataImage(), wanted, asked=BrokerId(1), own_settings={}, replaces_all=replaces_all
    )


def refusal(
    type: int, name: str, *edits: ConfigEdit, replaces_all: bool = False
) -> tuple[ErrorCode, str]:
    with pytest.raises(KafkaError) as refused:
        alter(type, name, *edits, replaces_all=replaces_all)
    return refused.value.code, refused.value.message


def test_settings_of_brokers_have_a_file_of_their_own() -> None:
    records = alter(BROKER, "1", ConfigEdit("message.max.bytes", SET, "2000"))
    assert records == config_records(ConfigResource(BROKER, "1"), {"message.max.bytes": "2000"})


def test_loggers_are_not_known_to_the_older_request() -> None:
    level = ConfigEdit("root", SET, "INFO")
    words = "Unknown resource type 8"
    assert refusal(LOGGER, "1", level, replaces_all=True) == (ErrorCode.INVALID_REQUEST, words)
    assert alter(LOGGER, "1") == []


@pytest.mark.parametrize(
    ("type", "name", "edit", "code", "words"),
    [
        (LOGGER, "2", None, 42, "Unexpected node id. Expected 1, but received 2"),
        (
            LOGGER,
            "1",
            ConfigEdit("a", APPEND, "INFO"),
            42,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            LOGGER,
            "1",
            ConfigEdit("root", DELETE, None),
            42,
            "Removing the log level of the root logger is not allowed",
        ),
        (LOGGER, "1", ConfigEdit("a", DELETE, None), 40, "Logger a does not exist!"),
        (LOGGER, "1", ConfigEdit("a", SET, "INFO"), 40, "Logger a does not exist!"),
        (77, "x", None, 42, "Unknown resource type 77"),
        (0, "x", None, 42, "Unknown resource type 0"),
    ],
)
def test_what_kafka_refuses(
    type: int, name: str, edit: ConfigEdit | None, code: int, words: str
) -> None:
    edits = () if edit is None else (edit,)
    assert refusal(type, name, *edits) == (ErrorCode(code), words)
