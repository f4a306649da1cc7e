from __future__ import annotations

import pytest

from kafkalite.controller.config_edits import changes, config_records, edited_list
from kafkalite.controller.events import ConfigEdit, ConfigOperation
from kafkalite.metadata.image import ConfigResource
from kafkalite.protocol.messages.metadata_records import ConfigRecord

APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT


@pytest.mark.parametrize(
    ("before", "operation", "value", "after"),
    [
        ("", APPEND, "a", "a"),
        ("a", APPEND, "b,a,c", "a,b,c"),
        ("a", APPEND, "", "a,"),
        ("a,,b", APPEND, "c", "a,b,c"),
        ("a,b,a", SUBTRACT, "a", "b"),
        ("a", SUBTRACT, "a", ""),
        ("a, b", SUBTRACT, "b", "a, b"),
        ("a", SUBTRACT, "b,c", "a"),
    ],
)
def test_lists(before: str, operation: ConfigOperation, value: str, after: str) -> None:
    assert edited_list(before, ConfigEdit("key", operation, value)) == after


def test_only_what_is_another_than_before_is_a_change() -> None:
    before = {"same": "1", "other": "2", "gone": "3"}
    after = {"same": "1", "other": "4", "new": "5"}
    assert changes(before, after) == {"other": "4", "new": "5", "gone": None}


def test_a_record_for_each_setting() -> None:
    assert config_records(ConfigResource(4, "1"), {"a": "1", "b": None}) == [
        ConfigRecord(resource_type=4, resource_name="1", name="a", value="1"),
        ConfigRecord(resource_type=4, resource_name="1", name="b", value=None),
    ]
