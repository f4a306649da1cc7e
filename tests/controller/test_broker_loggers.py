"""What Kafka's answers (`tests/server/admin-answers.jsonl`) do not hold: here no logger exists."""

from __future__ import annotations

import pytest

from kafkalite.controller.broker_loggers import check_logger_edits
from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.types import BrokerId

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND = ConfigOperation.APPEND


def check(name: str, *edits: ConfigEdit) -> None:
    resource = ConfigResource(ConfigResourceType.BROKER_LOGGER, name)
    check_logger_edits(ResourceEdits(resource, edits), BrokerId(1))


def test_whoever_alters_nothing_is_granted_it() -> None:
    check("1")


NOT_ALLOWED = "operation is not allowed for the BROKER_LOGGER resource"


@pytest.mark.parametrize(
    ("name", "edit", "code", "words"),
    [
        ("2", None, 42, "Unexpected node id. Expected 1, but received 2"),
        ("1", ConfigEdit("a", APPEND, "INFO"), 42, f"APPEND {NOT_ALLOWED}"),
        (
            "1",
            ConfigEdit("a", 9, "INFO"),
            42,
            "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource",
        ),
        (
            "1",
            ConfigEdit("root", DELETE, None),
            42,
            "Removing the log level of the root logger is not allowed",
        ),
        ("1", ConfigEdit("a", DELETE, None), 40, "Logger a does not exist!"),
        ("1", ConfigEdit("a", SET, "INFO"), 40, "Logger a does not exist!"),
    ],
)
def test_what_is_refused(name: str, edit: ConfigEdit | None, code: int, words: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check(name, *(() if edit is None else (edit,)))
    assert (refused.value.code, refused.value.message) == (ErrorCode(code), words)
