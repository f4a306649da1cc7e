"""Settings of single groups, and the real Kafka's words."""

from __future__ import annotations

import pytest

from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.controller.group_configs import alter_group
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.protocol.messages.metadata_records import ConfigRecord

SET, DELETE, APPEND, _ = ConfigOperation
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"
GROUP = ConfigResource(ConfigResourceType.GROUP, "g")
KAFKAS = {
    "group.consumer.min.session.timeout.ms": "45000",
    "group.consumer.min.heartbeat.interval.ms": "5000",
}
IMAGE = MetadataImage(configs={GROUP: {SESSION: "50000"}})


def alter(
    *edits: ConfigEdit, group: str = "g", replaces_all: bool = False
) -> dict[str, str | None]:
    wanted = ResourceEdits(ConfigResource(ConfigResourceType.GROUP, group), edits)
    changes = alter_group(IMAGE, wanted, own_settings=KAFKAS, replaces_all=replaces_all)
    values = {}
    for change in changes:
        assert isinstance(change, ConfigRecord)
        assert (change.resource_type, change.resource_name) == (32, "g")
        values[change.name] = change.value
    return values


def test_a_setting_is_set_and_goes() -> None:
    assert alter(ConfigEdit(HEARTBEAT, SET, "6000")) == {HEARTBEAT: "6000"}
    assert alter(ConfigEdit(SESSION, SET, "50000")) == {}
    assert alter(ConfigEdit(SESSION, DELETE, None)) == {SESSION: None}
    replaced = alter(ConfigEdit(ASSIGNMENT, SET, "0"), replaces_all=True)
    assert replaced == {ASSIGNMENT: "0", SESSION: None}
    assert alter(ConfigEdit("share.session.timeout.ms", DELETE, None)) == {}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            ConfigEdit(SESSION, SET, "1"),
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        (
            ConfigEdit(HEARTBEAT, SET, "20000"),
            "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive.",
        ),
        (
            ConfigEdit(ASSIGNMENT, SET, "20000"),
            "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive.",
        ),
        (
            ConfigEdit(SESSION, SET, "x"),
            "Invalid value x for configuration consumer.session.timeout.ms:"
            " Not a number of type INT",
        ),
        (
            ConfigEdit(SESSION, SET, "0"),
            "Invalid value 0 for configuration consumer.session.timeout.ms:"
            " Value must be at least 1",
        ),
        (
            ConfigEdit(SESSION, APPEND, "1,2"),
            "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST.",
        ),
        (ConfigEdit("nope", SET, "1"), "Unknown group config name: nope"),
    ],
)
def test_what_is_refused(edit: ConfigEdit, message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        alter(edit)
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize(
    ("edit", "group", "message"),
    [
        (ConfigEdit(SESSION, SET, "50000"), "", "Default group resources are not allowed."),
        (
            ConfigEdit("share.session.timeout.ms", SET, "46000"),
            "g",
            "kafkalite alters no settings of share and streams groups yet",
        ),
    ],
)
def test_what_is_no_request(edit: ConfigEdit, group: str, message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        alter(edit, group=group)
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, message)
