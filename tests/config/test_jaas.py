"""Kafka's and Java's own answers to some hundred texts (`jaas-answers.jsonl`, made by
`tests/data/make/jaas.py`): made by hand around each rule, and at random."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config.jaas import JaasEntry, JaasError, parse_jaas_file, parse_jaas_value, quoted

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "jaas-answers.jsonl").read_text().splitlines()
]
NOT_TAKEN_HERE = ["'KafkaServer' { M required; };", "1 { M required; };"]
PROPERTIES = {"a.property": "of Java", "an.empty.property": ""}


def shown(entries: Iterable[JaasEntry]) -> list[list[object]]:
    return [[each.module, each.flag, dict(each.options)] for each in entries]


def answer_to(asked: dict[str, Any]) -> object:
    """None for what is refused."""
    try:
        if "value" in asked:
            return shown(parse_jaas_value(asked["value"]))
        sections = parse_jaas_file(asked["file"], PROPERTIES)
    except JaasError:
        return None
    # A section without a login is none to Java.
    return {name: shown(entries) for name, entries in sections.items() if entries}


def test_every_text_is_read_as_kafka_and_java_read_it() -> None:
    assert sum("value" in answer for answer in ANSWERS) >= 300
    assert sum("file" in answer for answer in ANSWERS) >= 300
    wrong = [
        (answer, ours)
        for answer in ANSWERS
        if (ours := answer_to(answer)) != answer.get("entries", answer.get("sections"))
    ]
    assert [answer["file"] for answer, _ in wrong] == NOT_TAKEN_HERE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty; expected a login module, as MODULE required KEY=VALUE;"),
        ("M a=b;", "a is no control flag: required, requisite, sufficient, optional are"),
        ("M;", "expected a control flag, found ;"),
        ("M required a=b", "expected an option or ;, found the end"),
        ("M required a;", "expected =, found ;"),
        ("M required a=;", "expected the value of a, found ;"),
        ("M required a=1;", "expected the value of a, found a number, which has to be quoted"),
    ],
)
def test_what_is_wrong_with_a_value(text: str, message: str) -> None:
    with pytest.raises(JaasError) as refused:
        parse_jaas_value(text)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("KafkaServer {\n M needed;\n};", "line 2: needed is no control flag: required, requ"),
        ("/* \n\n */ KafkaServer M", "line 3: expected {, found a text"),
        ("KafkaServer {\n};\n\nKafkaServer {\n};", "section KafkaServer is there twice"),
        ("KafkaServer {\n M required\n a='b';\n};", "line 3: expected the value of a, found a te"),
        ('KafkaServer {\n M required\n a="${x}";\n};', "line 3: the system property x is not set"),
        (
            'KafkaServer {\n M required\n a="${an.empty.property}";\n};',
            "line 3: ${an.empty.property} stands for nothing",
        ),
    ],
)
def test_what_is_wrong_with_a_file_and_where(text: str, message: str) -> None:
    with pytest.raises(JaasError) as refused:
        parse_jaas_file(text, PROPERTIES)
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize("secret", ['"geheim"', "'geheim'", "4711", "geheim", "-4711"])
def test_no_secret_is_told(secret: str) -> None:
    for text in ("M required password X X;", "M required password=X X;", "M required X X;"):
        said = text.replace("X", secret)
        for parse, whole in ((parse_jaas_value, said), (parse_jaas_file, f"S {{ {said} }};")):
            with pytest.raises(JaasError) as refused:
                parse(whole)
            assert secret.strip("\"'-") not in refused.value.message


@pytest.mark.parametrize("text", ["", "a", 'o"d\\d', "line\nand\rline", "ä; // {", "a'b", "a\tb"])
def test_a_text_that_is_quoted_is_read_back(text: str) -> None:
    (login,) = parse_jaas_value(f"M required {quoted('k' + text)}={quoted(text)};")
    assert login.options == {"k" + text: text}
