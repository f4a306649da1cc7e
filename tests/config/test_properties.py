"""Java's own answers to some hundred texts (`properties-answers.jsonl`, made by
`tests/data/make/BrokerConfigs.java`): made by hand around each rule, and at random."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.config.properties import PropertiesError, parse_properties

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "properties-answers.jsonl").read_text().splitlines()
]


def answer_to(text: str) -> dict[str, str] | None:
    """None for what is refused."""
    try:
        return parse_properties(text.encode("latin-1"))
    except PropertiesError:
        return None


def test_every_text_is_read_as_java_reads_it() -> None:
    assert len(ANSWERS) >= 500
    wrong = [
        (answer["text"], answer.get("values"), ours)
        for answer in ANSWERS
        if (ours := answer_to(answer["text"])) != answer.get("values")
    ]
    assert wrong == []


def test_some_are_refused() -> None:
    assert sum("error" in answer for answer in ANSWERS) > 5


def test_the_order_is_that_of_the_file() -> None:
    assert list(parse_properties(b"b=1\na=2\nb=3\n")) == ["b", "a"]


def test_utf_8_is_taken_for_latin_1_as_kafka_does() -> None:
    assert parse_properties("rack=\u00e9".encode()) == {"rack": "\u00c3\u00a9"}
    assert parse_properties(b"rack=\\u00e9") == {"rack": "\u00e9"}


def test_a_damaged_escape_is_named() -> None:
    with pytest.raises(PropertiesError, match=r"\\u without the four hexadecimal digits"):
        parse_properties(b"a=\\u00g1")
