"""The real Kafka 4.4.0's judgement of some two thousand settings, one at a time or a few
(`broker-config-answers.jsonl`, made by `tests/data/make/BrokerConfigs.java`): what it refuses to
start with is refused here, and the rest is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.config.known import key_of
from kafkalite.config.listeners import parse_ip_limits, parse_listeners
from kafkalite.config.relations import check_relations, names_with_relations
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "broker-config-answers.jsonl").read_text().splitlines()
]
WITH = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
"""What each was asked with, where it does not say otherwise; null: without it."""

NOT_REFUSED = {
    "Class no.Such could not be found.": "Java classes are not looked up",
    "Class cannot be found": "Java classes are not looked up",
    "must implement KafkaPrincipalSerde": "Java classes are not looked up",
    "controller.quorum.voters=Set(1)": "no quorum is formed",
    "must contain a parseable set of controllers": "no quorum is formed",
}
"""Parts of messages, and why kafkalite takes what they refuse."""
OTHER_LISTENER = "The valid options based on currently configured listeners are PLAINTEXT"
"""Kafka wants a listener for brokers among themselves, whatever `security.inter.broker.protocol`
says; here only a name that was set is looked at."""


def asked(answer: dict[str, dict[str, str | None]]) -> dict[str, str]:
    settings: dict[str, str | None] = {**WITH, **answer["with"]}
    return {name: value for name, value in settings.items() if value is not None}


def judged(settings: dict[str, str]) -> str | None:
    """Why not; None for what is taken."""
    try:
        for name, value in settings.items():
            key = key_of(name)
            if key is not None:
                key.parse(value)
        config = BrokerConfig.of(settings)
        check_relations(settings)
        parse_listeners(config)
        parse_ip_limits(config)
    except KafkaError as error:
        return error.message if error.code is ErrorCode.INVALID_CONFIG else repr(error)
    return None


def is_taken_on_purpose(answer: dict[str, dict[str, str | None]], message: str) -> bool:
    if "group.consumer.assignors" in answer["with"]:
        return False
    if answer["with"] == {"group.consumer.max.assignment.interval.ms": " 7 "}:
        return True  # Our default is smaller.
    if any(part in message for part in NOT_REFUSED):
        return True
    return OTHER_LISTENER in message and "security.inter.broker.protocol" in answer["with"]


def test_what_kafka_refuses_is_refused_and_what_it_takes_is_taken() -> None:
    assert len(ANSWERS) > 1500
    wrong = []
    for answer in ANSWERS:
        theirs, ours = answer["message"], judged(asked(answer))
        if theirs is not None and is_taken_on_purpose(answer, theirs):
            theirs = None
        if (theirs is None) != (ours is None):
            wrong.append((answer["with"], theirs, ours))
    assert wrong == []


def test_a_value_that_its_key_does_not_take_is_refused_in_kafkas_words() -> None:
    wrong = []
    for answer in ANSWERS:
        theirs, (name, *others) = answer["message"], answer["with"]
        if not others and theirs is not None and f" for configuration {name}: " in theirs:
            ours = judged(asked(answer))
            if ours not in (theirs, None) and not theirs.endswith("`{id}@{host}:{port}`."):
                wrong.append((answer["with"], theirs, ours))
    assert wrong == []


def test_every_excuse_is_needed() -> None:
    for part in NOT_REFUSED:
        assert any(part in (answer["message"] or "") for answer in ANSWERS), part


def test_relations_are_looked_at_when_one_of_their_settings_is_set() -> None:
    """Whoever asks first whether there is something to look at overlooks nothing."""
    for answer in ANSWERS:
        settings = asked(answer)
        if names_with_relations().isdisjoint(settings) and judged(settings) is None:
            check_relations(settings)
    refused = [a for a in ANSWERS if a["message"] and is_of_relations(asked(a))]
    assert len(refused) > 50
    assert all(not names_with_relations().isdisjoint(a["with"]) for a in refused)


def is_of_relations(settings: dict[str, str]) -> bool:
    try:
        check_relations(settings)
    except KafkaError as error:
        return not error.message.startswith(("Invalid value", "Configuration"))
    return False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"group.share.heartbeat.interval.ms": " 20000 "},
            "group.share.heartbeat.interval.ms=20000 must not be larger than "
            "group.share.max.heartbeat.interval.ms=15000",
        ),
        ({"log.roll.ms": "0"}, "log.roll.ms=0 must be at least 1"),
        (
            {"log.retention.hours": "0"},
            "log.retention.hours=0 must be at least 1, or -1 for no limit",
        ),
        (
            {"cordoned.log.dirs": "*,/a", "log.dirs": "/a"},
            "cordoned.log.dirs=*,/a must be among the log.dirs, or * alone",
        ),
        (
            {"inter.broker.listener.name": "A", "security.inter.broker.protocol": "PLAINTEXT"},
            "inter.broker.listener.name and security.inter.broker.protocol say the same thing; "
            "use one of them",
        ),
    ],
)
def test_both_settings_are_named_with_their_values(settings: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError) as caught:
        check_relations(settings)
    assert caught.value.message == message
