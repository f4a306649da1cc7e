"""The real Kafka 4.4.0's answers to CreateTopics with one setting or a few, asked with
confluent-kafka: `topic-config-answers.jsonl` has the settings, and the message of INVALID_CONFIG or
null for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalite.config.keys import ConfigKey, ConfigType, check_hosts, check_voters
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.config.views import validate_topic_config
from kafkalite.errors import ErrorCode, KafkaError

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "topic-config-answers.jsonl").read_text().splitlines()
]


def answer_to(configs: dict[str, str]) -> str | None:
    try:
        validate_topic_config(configs)
    except KafkaError as error:
        return error.message if error.code is ErrorCode.INVALID_CONFIG else repr(error)
    return None


def test_answers_what_kafka_answers() -> None:
    assert len(ANSWERS) > 700
    wrong = [
        (answer["configs"], answer["message"], ours)
        for answer in ANSWERS
        if (ours := answer_to(answer["configs"])) != answer["message"]
    ]
    assert wrong == []


def test_every_topic_key_was_asked_about() -> None:
    asked = {name for answer in ANSWERS for name in answer["configs"]}
    assert asked >= TOPIC_KEYS.keys()


def key(type: ConfigType, **facts: object) -> ConfigKey:
    return ConfigKey("some.key", type, None, "For a test.", **facts)  # type: ignore[arg-type]  # any of its facts.


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.INT, "+007", 7),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.LONG, "0" * 5000 + "12", 12),
        (ConfigType.LONG, "-0", 0),
        (ConfigType.DOUBLE, "1e-3", 0.001),
        (ConfigType.DOUBLE, "0x1.8p1", 3.0),
        (ConfigType.DOUBLE, "0X.8P-1f", 0.25),
        (ConfigType.DOUBLE, "0x1p9999", float("inf")),
        (ConfigType.DOUBLE, "-0x1p9999", float("-inf")),
        (ConfigType.DOUBLE, "-Infinity", float("-inf")),
        (ConfigType.DOUBLE, "2.5D", 2.5),
        (ConfigType.STRING, " text with blanks\t", "text with blanks"),
        (ConfigType.CLASS, "org.example.Thing", "org.example.Thing"),
        (ConfigType.LIST, "", ()),
        (ConfigType.LIST, " a , b,a", ("a", "b")),
    ],
)
def test_text_becomes_a_value(type: ConfigType, text: str, value: object) -> None:
    parsed = key(type).parse(text)
    assert parsed == value
    assert isinstance(parsed, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("type", "text", "why"),
    [
        (ConfigType.SHORT, "32768", "Not a number of type SHORT"),
        (ConfigType.INT, "9" * 5000, "Not a number of type INT"),
        (ConfigType.LONG, "", "Not a number of type LONG"),
        (ConfigType.DOUBLE, "٣", "Not a number of type DOUBLE"),
        (ConfigType.BOOLEAN, "on", "Expected value to be either true or false"),
    ],
)
def test_text_of_another_type_is_refused(type: ConfigType, text: str, why: str) -> None:
    with pytest.raises(KafkaError, match=why) as caught:
        key(type).parse(text)
    assert caught.value.message == f"Invalid value {text} for configuration some.key: {why}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1e21", "1.0E21"),
        ("123456789.5", "1.234567895E8"),
        ("9999999.5", "9999999.5"),
        ("1e7", "1.0E7"),
        ("Infinity", "Infinity"),
        ("1.7976931348623157e308", "1.7976931348623157E308"),
    ],
)
def test_doubles_are_shown_as_java_prints_them(value: str, shown: str) -> None:
    with pytest.raises(KafkaError) as caught:
        key(ConfigType.DOUBLE, maximum=0).parse(value)
    assert f"Invalid value {shown} for" in caught.value.message


@pytest.mark.parametrize(
    ("value", "shown"),
    [("0", "0.0"), ("0.001", "0.001"), ("9e-4", "9.0E-4"), ("-Infinity", "-Infinity")],
)
def test_small_doubles_too(value: str, shown: str) -> None:
    with pytest.raises(KafkaError) as caught:
        key(ConfigType.DOUBLE, minimum=1).parse(value)
    assert f"Invalid value {shown} for" in caught.value.message


@pytest.mark.parametrize(
    ("type", "text", "shown"),
    [
        (ConfigType.INT, " +7 ", "7"),
        (ConfigType.BOOLEAN, "TRUE", "true"),
        (ConfigType.DOUBLE, "1e7", "1.0E7"),
        (ConfigType.LIST, "a, b,a", "a,b"),
        (ConfigType.LIST, "", ""),
        (ConfigType.STRING, " a ", "a"),
    ],
)
def test_values_are_shown_as_java_prints_them(type: ConfigType, text: str, shown: str) -> None:
    assert ConfigKey("k", type, None, "A key.").show(text) == shown


@pytest.mark.parametrize(
    ("facts", "text", "why"),
    [
        ({"one_of": ("A", "B"), "is_case_sensitive": False}, "c", "(case insensitive): A, B"),
        ({"one_of": ("A", "B")}, "a", "String must be one of: A, B"),
        ({"may_be_empty": False}, " ", "String must be non-empty"),
    ],
)
def test_texts_that_are_not_taken(facts: dict[str, object], text: str, why: str) -> None:
    with pytest.raises(KafkaError) as caught:
        key(ConfigType.STRING, **facts).parse(text)
    assert caught.value.message.endswith(why)


def test_a_choice_in_any_case_is_kept_as_it_was_written() -> None:
    assert key(ConfigType.STRING, one_of=("A",), is_case_sensitive=False).parse(" a") == "a"


def test_the_empty_name_is_no_class() -> None:
    with pytest.raises(KafkaError, match="could not be found"):
        key(ConfigType.CLASS).parse(" ")


@pytest.mark.parametrize(("one_of", "valid"), [((), "any non-empty value"), (("a", "b"), "[a, b]")])
def test_a_list_that_must_not_be_empty(one_of: tuple[str, ...], valid: str) -> None:
    with pytest.raises(KafkaError) as caught:
        key(ConfigType.LIST, may_be_empty=False, one_of=one_of).parse(" ")
    assert caught.value.message == (
        f"Configuration 'some.key' must not be empty. Valid values include: {valid}"
    )


@pytest.mark.parametrize(
    ("check", "text", "is_taken"),
    [
        (check_voters, "1@h:9093,2@[::1]:0", True),
        (check_voters, "1@h", False),
        (check_voters, "h:9093", False),
        (check_voters, "1@h:65536", False),
        (check_hosts, "h:9093,:1", True),
        (check_hosts, "h", False),
        (check_hosts, "h:x", False),
    ],
)
def test_addresses(
    check: Callable[[ConfigKey, tuple[str, ...]], None], text: str, is_taken: bool
) -> None:
    addresses = key(ConfigType.LIST, check=check, form="HOST:PORT")
    if is_taken:
        assert addresses.parse(text) == tuple(text.split(","))
    else:
        with pytest.raises(KafkaError, match="Each entry"):
            addresses.parse(text)


def test_passwords_are_sensitive() -> None:
    assert ConfigKey("k", ConfigType.PASSWORD, None, "A key.").is_sensitive
    assert not ConfigKey("k", ConfigType.STRING, None, "A key.").is_sensitive
