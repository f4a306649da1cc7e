from __future__ import annotations

from typing import Any

import pytest

from kafkalite.controller import configs
from kafkalite.controller.configs import new_topic_config, topic_config_records
from kafkalite.controller.events import (
    AdoptConfigs,
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    ConfigsAltered,
    NewTopic,
    ResourceEdits,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import Cluster


def test_of_a_key_given_twice_the_last_counts() -> None:
    pairs = (("retention.ms", "7"), ("flush.ms", "6"), ("retention.ms", "8"))
    assert new_topic_config(pairs) == {"retention.ms": "8", "flush.ms": "6"}


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((("no.such", "1"),), "Unknown topic config name: no.such"),
        ((("", "1"),), "Unknown topic config name: "),
        (
            (("retention.ms", None), ("no.such", "1")),
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            (("retention.ms", None), ("zzz", None)),
            "Null value not supported for topic configs: retention.ms,zzz",
        ),
        (
            (("cleanup.policy", "shred"),),
            "Invalid value shred for configuration cleanup.policy: String must be one of: compact,"
            " delete",
        ),
        (
            (("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")),
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
)
def test_bad_settings(pairs: tuple[tuple[str, str | None], ...], words: str) -> None:
    with pytest.raises(KafkaError) as refused:
        new_topic_config(pairs)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert refused.value.message == words


def test_one_record_a_setting() -> None:
    assert topic_config_records("t", {"flush.ms": "6"}) == [
        ConfigRecord(resource_type=2, resource_name="t", name="flush.ms", value="6")
    ]
    assert topic_config_records("t", {}) == []


# Altering.

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT


def cluster() -> Cluster:
    made = Cluster(1)
    made.create(
        NewTopic("t", configs=(("retention.ms", "5"), ("cleanup.policy", "delete"))),
        NewTopic("u"),
    )
    return made


def edits(topic: str, *edits: ConfigEdit) -> ResourceEdits:
    return ResourceEdits(ConfigResource(ConfigResourceType.TOPIC, topic), edits)


def alter(
    on: Cluster,
    *resources: ResourceEdits,
    replaces_all: bool = False,
    validate_only: bool = False,
) -> list[tuple[ErrorCode, str | None]]:
    event = AlterConfigs("token", resources, BrokerId(1), {}, replaces_all, validate_only)
    answer = on.feed(event)
    assert isinstance(answer, ConfigsAltered)
    assert [each.resource for each in answer.resources] == [each.resource for each in resources]
    return [(each.code, each.message) for each in answer.resources]


def config(on: Cluster, topic: str) -> dict[str, str]:
    return dict(on.controller.image.topic_config(topic))


GRANTED = (ErrorCode.NONE, None)


def test_settings_are_set_and_deleted_and_others_stay() -> None:
    altered = cluster()
    changes = edits("t", ConfigEdit("flush.ms", SET, "7"), ConfigEdit("retention.ms", DELETE, None))
    assert alter(altered, changes) == [GRANTED]
    assert config(altered, "t") == {"cleanup.policy": "delete", "flush.ms": "7"}
    assert len(altered.records) == 2


def test_what_stays_as_it_is_is_no_record() -> None:
    altered = cluster()
    same = edits("t", ConfigEdit("retention.ms", SET, "5"), ConfigEdit("flush.ms", DELETE, None))
    assert alter(altered, same) == [GRANTED]
    assert altered.records == ()


def test_all_settings_are_replaced() -> None:
    altered = cluster()
    assert alter(altered, edits("t", ConfigEdit("flush.ms", SET, "7")), replaces_all=True) == [
        GRANTED
    ]
    assert config(altered, "t") == {"flush.ms": "7"}


def test_validate_only_changes_nothing() -> None:
    altered = cluster()
    wanted = edits("t", ConfigEdit("flush.ms", SET, "7"))
    assert alter(altered, wanted, validate_only=True) == [GRANTED]
    assert altered.records == ()


@pytest.mark.parametrize(
    ("operation", "value", "expected"),
    [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "delete", "delete"),
        (APPEND, "compact,delete", "delete,compact"),
        (SUBTRACT, "delete", ""),
        (SUBTRACT, "compact", "delete"),
    ],
)
@pytest.mark.parametrize("topic", ["t", "u"])
def test_lists_are_lengthened_and_shortened_from_what_is_set_or_the_default(
    topic: str, operation: ConfigOperation, value: str, expected: str
) -> None:
    altered = cluster()
    assert alter(altered, edits(topic, ConfigEdit("cleanup.policy", operation, value))) == [GRANTED]
    assert config(altered, topic)["cleanup.policy"] == expected


def test_a_blank_after_a_comma_is_part_of_an_item() -> None:
    altered = cluster()
    alter(altered, edits("t", ConfigEdit("cleanup.policy", SET, "compact, delete")))
    alter(altered, edits("t", ConfigEdit("cleanup.policy", SUBTRACT, "delete")))
    assert config(altered, "t")["cleanup.policy"] == "compact, delete"


@pytest.mark.parametrize(
    ("topic", "edit", "code", "words"),
    [
        ("t", ConfigEdit("flush.ms", SET, None), 42, "Null value not supported for : flush.ms"),
        ("t", ConfigEdit("flush.ms", SET, "x"), 40, "Invalid value x for configuration flush.ms"),
        ("t", ConfigEdit("no.such", SET, "x"), 40, "Unknown topic config name: no.such"),
        (
            "t",
            ConfigEdit("flush.ms", APPEND, "1"),
            40,
            "Can't APPEND to key flush.ms because its type is not LIST.",
        ),
        (
            "t",
            ConfigEdit("no.such", SUBTRACT, "1"),
            40,
            "Can't SUBTRACT to key no.such because its type is not LIST.",
        ),
        ("t", ConfigEdit("flush.ms", 7, "1"), -1, None),
        ("absent", ConfigEdit("flush.ms", SET, "1"), 3, "The topic 'absent' does not exist."),
        ("", ConfigEdit("flush.ms", SET, "1"), 42, "Default topic resources are not allowed."),
        ("a/b", ConfigEdit("flush.ms", SET, "1"), 17, "Topic name is invalid: 'a/b' contains"),
    ],
)
def test_edits_that_are_refused(topic: str, edit: ConfigEdit, code: int, words: str | None) -> None:
    altered = cluster()
    ((refused, message),) = alter(altered, edits(topic, edit))
    assert refused == code
    assert (message or "").startswith(words or "")
    assert (message is None) == (words is None)
    assert altered.records == ()


def test_a_key_given_twice_is_refused() -> None:
    twice = edits("t", ConfigEdit("flush.ms", SET, "1"), ConfigEdit("flush.ms", DELETE, None))
    words = "Error due to duplicate config keys"
    assert alter(cluster(), twice) == [(ErrorCode.INVALID_REQUEST, words)]


def test_each_resource_stands_alone() -> None:
    altered = cluster()
    answers = alter(
        altered,
        edits("t", ConfigEdit("flush.ms", SET, "1")),
        edits("absent"),
        edits("t", ConfigEdit("flush.ms", SET, "1")),
        edits("u", ConfigEdit("flush.ms", SET, "2")),
        ResourceEdits(ConfigResource(77, "x"), ()),
    )
    twice = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert answers == [
        twice,
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'absent' does not exist."),
        twice,
        GRANTED,
        (ErrorCode.INVALID_REQUEST, "Unknown resource type 77"),
    ]
    assert config(altered, "u") == {"flush.ms": "2"}
    assert "flush.ms" not in config(altered, "t")


def test_an_operation_that_there_is_not_refuses_all_topics() -> None:
    altered = cluster()
    answers = alter(
        altered,
        edits("t", ConfigEdit("flush.ms", 7, "1")),
        edits("u", ConfigEdit("flush.ms", SET, "2")),
    )
    assert answers == [(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * 2
    assert altered.records == ()


GROUP, METRICS = ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS
HEARTBEAT = "consumer.heartbeat.interval.ms"
BROKER, LOGGER = ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
OF_BROKER = ResourceEdits(
    ConfigResource(BROKER, "1"), (ConfigEdit("message.max.bytes", SET, "2000"),)
)
OF_ANOTHER = ResourceEdits(ConfigResource(BROKER, "2"), ())
OF_LOGGERS = ResourceEdits(ConfigResource(LOGGER, "1"), ())


def test_what_refuses_all_refuses_those_that_were_not_refused_before() -> None:
    """Loggers do not come to the controller."""
    altered = cluster()
    unknown = edits("t", ConfigEdit("flush.ms", 7, "1"))
    answers = alter(altered, OF_BROKER, OF_ANOTHER, OF_LOGGERS, unknown)
    other = (
        ErrorCode.INVALID_REQUEST,
        "Unexpected broker id, expected 1, but received 2",
    )
    all_of_them = (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert answers == [all_of_them, other, GRANTED, all_of_them]
    assert altered.records == ()


def test_the_older_request_knows_no_loggers() -> None:
    assert alter(cluster(), OF_LOGGERS, replaces_all=True) == [
        (ErrorCode.INVALID_REQUEST, "Unknown resource type 8")
    ]


def of_groups(count: int) -> list[ResourceEdits]:
    edit = ConfigEdit(HEARTBEAT, SET, "6000")
    return [ResourceEdits(ConfigResource(GROUP, f"g{i}"), (edit,)) for i in range(count)]


@pytest.mark.parametrize("replaces_all", [False, True])
def test_as_many_records_as_a_request_may_make(replaces_all: bool) -> None:
    altered = cluster()
    asked = (OF_BROKER, *of_groups(9_999))
    assert alter(altered, *asked, replaces_all=replaces_all) == [GRANTED] * 10_000
    assert len(altered.records) == 10_000
    unknown_topic = edits("absent")
    answers = alter(cluster(), unknown_topic, OF_BROKER, OF_ANOTHER, *of_groups(10_000))
    too_many = (
        ErrorCode.POLICY_VIOLATION,
        "Unable to perform excessively large batch operation.",
    )
    assert (answers.pop(2)[0], answers) == (ErrorCode.INVALID_REQUEST, [too_many] * 10_002)


def test_the_work_ends_with_the_first_record_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_at: list[str] = []
    altered = configs._alter

    def watched(image: MetadataImage, wanted: ResourceEdits, **given: Any) -> list[Change]:
        worked_at.append(wanted.resource.name)
        return altered(image, wanted, **given)

    monkeypatch.setattr(configs, "_alter", watched)
    monkeypatch.setattr(configs, "MAX_RECORDS_PER_REQUEST", 2)
    answers = alter(cluster(), *of_groups(5))
    assert {code for code, _ in answers} == {ErrorCode.POLICY_VIOLATION}
    assert worked_at == ["g0", "g1", "g2"]


# Groups and subscriptions to client metrics.


@pytest.mark.parametrize(
    ("type", "name", "key", "value", "bad"),
    [(GROUP, "g", HEARTBEAT, "6000", "1"), (METRICS, "m", "interval.ms", "200", "1")],
)
def test_what_need_not_exist_is_set_and_deleted(
    type: ConfigResourceType, name: str, key: str, value: str, bad: str
) -> None:
    altered, resource = cluster(), ConfigResource(type, name)

    def once(operation: ConfigOperation, value: str | None) -> ErrorCode:
        wanted = ResourceEdits(resource, (ConfigEdit(key, operation, value),))
        ((code, _),) = alter(altered, wanted)
        return code

    assert once(SET, value) is ErrorCode.NONE
    assert altered.controller.image.configs[resource] == {key: value}
    assert once(SET, bad) is not ErrorCode.NONE
    assert once(APPEND, value) is ErrorCode.INVALID_CONFIG, "none is edited by items"
    assert altered.controller.image.configs[resource] == {key: value}
    assert once(DELETE, None) is ErrorCode.NONE
    assert resource not in altered.controller.image.configs


@pytest.mark.parametrize(
    ("type", "words"),
    [
        (GROUP, "Default group resources are not allowed."),
        (METRICS, "Subscription name can't be empty"),
    ],
)
def test_each_has_a_name(type: ConfigResourceType, words: str) -> None:
    assert alter(cluster(), ResourceEdits(ConfigResource(type, ""), ())) == [
        (ErrorCode.INVALID_REQUEST, words)
    ]


def test_how_far_a_group_may_go_is_in_the_brokers_file() -> None:
    edit = ConfigEdit(HEARTBEAT, SET, "1")
    wanted = ResourceEdits(ConfigResource(GROUP, "g"), (edit,))
    own = {"group.consumer.min.heartbeat.interval.ms": "1"}
    answer = cluster().feed(AlterConfigs("t", (wanted,), BrokerId(1), own, False, False))
    assert isinstance(answer, ConfigsAltered)
    assert answer.resources[0].code is ErrorCode.NONE


def test_what_another_has_written_is_taken_as_it_is() -> None:
    """Settings of another release, of a broker that nobody has seen."""
    cluster, resource = Cluster(), ConfigResource(ConfigResourceType.BROKER, "9")
    cluster.feed(AdoptConfigs(resource, (("no.such", "x"), ("log.retention.ms", "few"))))
    assert cluster.controller.image.configs[resource] == {
        "no.such": "x",
        "log.retention.ms": "few",
    }
    cluster.feed(AdoptConfigs(resource, (("no.such", "x"),)))
    assert cluster.controller.image.configs[resource] == {"no.such": "x"}
    assert len(cluster.records) == 1
