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
METRICS, GROUP = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND = ConfigOperation.APPEND
ALL = ConfigResource(BROKER, "")
IMAGE = MetadataImage(configs={ALL: {"min.insync.replicas": "1", "log.cleaner.threads": "2"}})
IN_SYNC = "min.insync.replicas"


def alter(type: int, name: str, *edits: ConfigEdit, replaces_all: bool = False) -> list[Change]:
    wanted = ResourceEdits(ConfigResource(type, name), edits)
    return alter_other(IMAGE, wanted, asked=BrokerId(1), replaces_all=replaces_all)


def refusal(
    type: int, name: str, *edits: ConfigEdit, replaces_all: bool = False
) -> tuple[ErrorCode, str]:
    with pytest.raises(KafkaError) as refused:
        alter(type, name, *edits, replaces_all=replaces_all)
    return refused.value.code, refused.value.message


@pytest.mark.parametrize("name", ["", "1"])
def test_what_gives_topics_their_defaults_can_be_altered(name: str) -> None:
    records = alter(
        BROKER,
        name,
        ConfigEdit("message.max.bytes", SET, "2000"),
        ConfigEdit("log.cleanup.policy", APPEND, "compact"),
    )
    assert records == config_records(
        ConfigResource(BROKER, name),
        {"message.max.bytes": "2000", "log.cleanup.policy": "delete,compact"},
    )


@pytest.mark.parametrize("name", ["", "1"])
def test_other_settings_of_brokers_cannot_be_altered_yet(name: str) -> None:
    for edit in (
        ConfigEdit("log.cleaner.threads", SET, "3"),
        ConfigEdit("some.plug-in", SET, "2000"),
    ):
        assert refusal(BROKER, name, edit) == (
            ErrorCode.INVALID_REQUEST,
            f"kafkalite does not alter these configs yet: [{edit.name}]",
        )


def test_all_settings_of_a_broker_are_replaced() -> None:
    image = IMAGE._replace(configs={ConfigResource(BROKER, "1"): {"message.max.bytes": "5"}})
    wanted = ResourceEdits(ConfigResource(BROKER, "1"), (ConfigEdit("log.retention.ms", SET, "6"),))
    records = alter_other(image, wanted, asked=BrokerId(1), replaces_all=True)
    assert records == config_records(
        ConfigResource(BROKER, "1"), {"log.retention.ms": "6", "message.max.bytes": None}
    )


def test_what_changes_nothing_is_granted() -> None:
    kept = ConfigEdit("log.cleaner.threads", SET, "2"), ConfigEdit(IN_SYNC, SET, "1")
    assert alter(BROKER, "1") == []
    assert alter(BROKER, "1", ConfigEdit("message.max.bytes", DELETE, None)) == []
    assert alter(BROKER, "", *kept) == []
    assert alter(METRICS, "m", ConfigEdit("match", DELETE, None)) == []
    assert alter(GROUP, "g", ConfigEdit("consumer.session.timeout.ms", DELETE, None)) == []


def test_what_the_metadata_has_for_all_brokers_cannot_go() -> None:
    yet = "kafkalite does not alter these configs yet: [log.cleaner.threads]"
    edit = ConfigEdit("log.cleaner.threads", DELETE, None)
    assert refusal(BROKER, "", edit) == (ErrorCode.INVALID_REQUEST, yet)
    kept = ConfigEdit(IN_SYNC, SET, "1")
    assert refusal(BROKER, "", kept, replaces_all=True) == (ErrorCode.INVALID_REQUEST, yet)


def test_in_sync_replicas_of_all_brokers_stay() -> None:
    words = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    assert refusal(BROKER, "", replaces_all=True) == (ErrorCode.INVALID_CONFIG, words)


def test_loggers_are_not_known_to_the_older_request() -> None:
    level = ConfigEdit("root", SET, "INFO")
    words = "Unknown resource type 8"
    assert refusal(LOGGER, "1", level, replaces_all=True) == (ErrorCode.INVALID_REQUEST, words)
    assert alter(LOGGER, "1") == []


def test_groups_and_subscriptions_cannot_be_altered_yet() -> None:
    assert refusal(METRICS, "m", ConfigEdit("interval.ms", SET, "5000")) == (
        ErrorCode.INVALID_REQUEST,
        "kafkalite has no client metrics subscriptions yet",
    )
    for edit in (
        ConfigEdit("consumer.session.timeout.ms", SET, "50000"),
        ConfigEdit("streams.rack.aware.assignment.tags", APPEND, "zone"),
    ):
        assert refusal(GROUP, "g", edit) == (
            ErrorCode.INVALID_REQUEST,
            "kafkalite alters no settings of groups yet",
        )


@pytest.mark.parametrize(
    ("type", "name", "edit", "code", "words"),
    [
        (BROKER, "2", None, 42, "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "one", None, 42, "Node id must be an integer, but it is: one"),
        (BROKER, "\u0661", None, 42, "Node id must be an integer, but it is: \u0661"),
        (BROKER, "1", ConfigEdit("a", 9, "b"), 42, "Unknown operations type 9"),
        (BROKER, "1", ConfigEdit("a", APPEND, "b"), 40, "Unknown config name: a"),
        (
            BROKER,
            "1",
            ConfigEdit("message.max.bytes", APPEND, "1"),
            40,
            "Config value append is not allowed for config key: message.max.bytes",
        ),
        (
            BROKER,
            "1",
            ConfigEdit("num.partitions", ConfigOperation.SUBTRACT, "1"),
            40,
            "Config value subtract is not allowed for config key: num.partitions",
        ),
        (
            BROKER,
            "1",
            ConfigEdit("log.dirs", SET, "b"),
            42,
            "Cannot update these configs dynamically: [log.dirs]",
        ),
        (
            BROKER,
            "1",
            ConfigEdit("log.cleaner.threads", SET, "b"),
            42,
            "Invalid value b for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            BROKER,
            "1",
            ConfigEdit(IN_SYNC, SET, "2"),
            40,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        (
            BROKER,
            "",
            ConfigEdit(IN_SYNC, DELETE, None),
            40,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
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
        (METRICS, "", None, 42, "Subscription name can't be empty"),
        (
            METRICS,
            "m",
            ConfigEdit("a", SET, "b"),
            42,
            "Unknown client metrics configuration: a",
        ),
        (GROUP, "", None, 42, "Default group resources are not allowed."),
        (GROUP, "g", ConfigEdit("a", SET, "b"), 40, "Unknown group config name: a"),
        (
            GROUP,
            "g",
            ConfigEdit("share.heartbeat.interval.ms", SET, "b"),
            40,
            "Invalid value b for configuration share.heartbeat.interval.ms: Not a number of type"
            " INT",
        ),
        (77, "x", None, 42, "Unknown resource type 77"),
        (0, "x", None, 42, "Unknown resource type 0"),
    ],
)
def test_what_kafka_refuses(
    type: int, name: str, edit: ConfigEdit | None, code: int, words: str
) -> None:
    edits = () if edit is None else (edit,)
    assert refusal(type, name, *edits) == (ErrorCode(code), words)
