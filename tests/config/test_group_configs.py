"""Settings of groups where the broker's own set other ranges, as a Kafka 4.4.0 with the same
settings answered. What it answers without is in `tests/server/admin-answers.jsonl`."""

from __future__ import annotations

import pytest

from kafkalite.config.group_configs import _PARSED, validate_group_config
from kafkalite.config.group_keys import GROUP_KEYS
from kafkalite.errors import ErrorCode, KafkaError

BROKER = {
    "group.consumer.min.session.timeout.ms": "10",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "5",
    "group.consumer.max.heartbeat.interval.ms": "60000",
    "group.consumer.min.assignment.interval.ms": "7",
    "group.consumer.max.assignment.interval.ms": "9000",
    "group.share.min.session.timeout.ms": "10",
    "group.share.max.heartbeat.interval.ms": "60000",
    "group.share.max.delivery.count.limit": "7",
    "group.share.max.partition.max.record.locks": "3000",
    "group.share.min.record.lock.duration.ms": "2000",
    "group.streams.min.session.timeout.ms": "10",
    "group.streams.max.standby.replicas": "1",
}


def refusal(values: dict[str, str], broker: dict[str, str] = BROKER) -> str | None:
    try:
        validate_group_config(values, broker)
    except KafkaError as refused:
        return refused.message if refused.code is ErrorCode.INVALID_CONFIG else str(refused.code)
    return None


def test_every_key_is_looked_at() -> None:
    assert sorted(_PARSED) == sorted(GROUP_KEYS)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("consumer.session.timeout.ms", "9", "must be in the range 10 to 60000 inclusive."),
        ("consumer.heartbeat.interval.ms", "4", "must be in the range 5 to 60000 inclusive."),
        ("consumer.assignment.interval.ms", "6", "must be in the range 7 to 9000 inclusive."),
        ("consumer.assignment.interval.ms", "9001", "must be in the range 7 to 9000 inclusive."),
        ("share.delivery.count.limit", "8", "must be in the range 2 to 7 inclusive."),
        ("share.partition.max.record.locks", "3001", "must be in the range 100 to 3000 inclusive."),
        ("share.record.lock.duration.ms", "1999", "must be in the range 2000 to 60000 inclusive."),
        ("streams.num.standby.replicas", "2", "must be less than or equal to 1"),
    ],
)
def test_the_broker_says_how_far_a_group_may_go(name: str, value: str, words: str) -> None:
    assert refusal({name: value}) == f"{name} {words}"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"consumer.session.timeout.ms": "5000"}, "consumer"),
        ({"consumer.session.timeout.ms": "5001"}, None),
        ({"consumer.heartbeat.interval.ms": "45000"}, "consumer"),
        ({"consumer.heartbeat.interval.ms": "44999"}, None),
        ({"share.heartbeat.interval.ms": "50000"}, "share"),
        ({"share.heartbeat.interval.ms": "50000", "share.session.timeout.ms": "50001"}, None),
        ({"streams.session.timeout.ms": "100"}, "streams"),
        ({"streams.session.timeout.ms": "100", "consumer.session.timeout.ms": "100"}, "consumer"),
        (
            {"errors.deadletterqueue.topic.name": "__x", "streams.session.timeout.ms": "100"},
            "streams",
        ),
    ],
)
def test_a_session_is_longer_than_a_heartbeat(values: dict[str, str], kind: str | None) -> None:
    """The one that is not set is the broker's."""
    expected = None
    if kind is not None:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        expected = f"{session} must be greater than {heartbeat}"
    assert refusal(values) == expected


def test_ranges_come_before_sessions() -> None:
    values = {"consumer.session.timeout.ms": "100", "streams.assignor.name": "x"}
    assert refusal(values) == (
        "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are:"
        " [sticky]."
    )


def test_the_broker_says_which_assignors_there_are() -> None:
    assert refusal({"streams.assignor.name": "mine"}, {"group.streams.assignors": "mine"}) is None


@pytest.mark.parametrize("name", ["__x", " __x"])
def test_a_topic_of_kafkas_own_takes_no_dead_letters(name: str) -> None:
    key = "errors.deadletterqueue.topic.name"
    assert refusal({key: name}) == f"{key}: DLQ topic name must not start with '__'"


def test_of_unknown_names_one_is_told() -> None:
    assert refusal({"b": "1", "a": "1"}) == "Unknown group config name: a"


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        (" latest ", True),
        ("by_duration:P1DT2H3M4.5S", True),
        ("by_duration:PT1H-1M", True),
        ("by_duration:PT-1H", False),
        ("by_duration:-PT-0.5S", True),
        ("by_duration:PT-0.5S", False),
        ("by_duration:-PT0.5S", False),
        ("by_duration:PT9223372036854775807.9S", True),
        ("by_duration:PT9223372036854775808S", False),
        ("by_duration:PT1M9223372036854775807S", False),
        ("by_duration:-PT-9223372036854775808S", False),
        (f"by_duration:PT{'9' * 5000}S", False),
        ("by_duration:P", False),
        ("BY_DURATION:P1D", False),
        ("none", False),
    ],
)
def test_where_a_share_group_starts(value: str, *, is_taken: bool) -> None:
    assert (refusal({"share.auto.offset.reset": value}) is None) is is_taken


def test_tags_are_told_once() -> None:
    key = "streams.rack.aware.assignment.tags"
    assert refusal({key: "a, a"}) == f"{key} must not contain duplicate tag keys."
    assert refusal({key: "a, b"}) is None
