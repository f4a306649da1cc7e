"""Java's own answers to some hundred texts (`properties-answers.jsonl`, made by
`tests/data/make/BrokerConfigs.java`): made by hand around each rule, and at random."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.config.properties import PropertiesError, is_text, parse_properties

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "properties-answers.jsonl").read_text().splitlines()
]


def values(data: bytes) -> dict[str, str]:
    return {key: each.value for key, each in parse_properties(data).items()}


def answer_to(text: str) -> dict[str, str] | None:
    """None for what is refused."""
    try:
        return values(text.encode("latin-1"))
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
    assert values("rack=\u00e9".encode()) == {"rack": "\u00c3\u00a9"}
    assert values(b"rack=\\u00e9") == {"rack": "\u00e9"}


def test_a_damaged_escape_is_named() -> None:
    with pytest.raises(PropertiesError, match=r"\\u without the four hexadecimal digits"):
        parse_properties(b"a=\\u00g1")


def test_each_has_the_line_where_it_begins() -> None:
    read = parse_properties(b"# 1\n\na=1\\\n  2\n\r\n b : 1\na=\\\n")
    assert read == {"a": ("", 7), "b": ("1", 6)}
    assert parse_properties(b"a=1\\\n  2\nb=") == {"a": ("12", 1), "b": ("", 3)}


def test_what_nobody_has_written_is_no_text() -> None:
    for data in (b"\0", b"\x7fELF\x02\x01", b"PK\x03\x04", b"a=\x1f\x8b\x08"):
        assert not is_text(data)
    for data in (b"a=\t\x0b\f\r\n", b"a=1\n\x1a", "a=\u00e9".encode()):
        assert is_text(data)
