"""Records as lines of JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.cli.record_json import NewRecord, bytes_to_json, parse_record

CONTENT = st.none() | st.binary(max_size=20)


@given(
    key=CONTENT,
    value=CONTENT,
    headers=st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.binary())),
    partition=st.none() | st.integers(0, 2**31 - 1),
    timestamp=st.none() | st.integers(0, 2**63 - 1),
)
def test_what_is_printed_can_be_read(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes]],
    partition: int | None,
    timestamp: int | None,
) -> None:
    document = {
        "topic": "t",
        "offset": 7,
        "timestamp_type": "create",
        "key": bytes_to_json(key),
        "value": bytes_to_json(value),
        "headers": [[name, bytes_to_json(content)] for name, content in headers],
        "partition": partition,
        "timestamp": timestamp,
    }
    line = json.dumps(document).encode()
    assert parse_record(line) == NewRecord(key, value, tuple(headers), partition, timestamp)


@given(st.binary(max_size=40))
def test_no_line_is_more_than_refused(line: bytes) -> None:
    try:
        parse_record(line)
    except ValueError:
        return


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ('{"value": "x"}', None, b"x"),
        ('{"key": "k", "value": null}', b"k", None),
        ('{"value": {"a": [1, "ü"]}}', None, '{"a": [1, "ü"]}'.encode()),
        ('{"key": 7, "value": true}', b"7", b"true"),
        ('{"value": {"base64": "/w=="}}', None, b"\xff"),
        ('{"value": {"base64": "x", "more": 1}}', None, b'{"base64": "x", "more": 1}'),
    ],
)
def test_other_json_is_sent_as_json(line: str, key: bytes | None, value: bytes | None) -> None:
    assert parse_record(line.encode()) == NewRecord(key, value)


def test_headers_may_be_an_object() -> None:
    read = parse_record(b'{"value": "", "headers": {"a": "1", "b": 2}}')
    assert read.headers == (("a", b"1"), ("b", b"2"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("\xff", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "a record is a JSON object"),
        ('"x"', "a record is a JSON object"),
        ('{"val": 1}', "unknown field 'val'; a record has key, value, headers"),
        ('{"value": {"base64": "="}}', "value: "),
        ('{"value": {"base64": 5}}', "value: "),
        ('{"key": "\\ud800"}', "key: "),
        ('{"headers": 5}', "headers: expected a list"),
        ('{"headers": [["a"]]}', "headers: expected a list"),
        ('{"headers": [["a", null]]}', "header a: null; kafka-python sends no header without"),
        ('{"headers": [[null, "a"]]}', "headers: expected a list"),
        ('{"headers": [[1, "a"]]}', "headers: expected a list"),
        ('{"partition": -1}', "partition: expected a number from 0"),
        ('{"partition": 2147483648}', "partition: expected a number from 0 to 2147483647"),
        ('{"partition": true}', "partition: expected a number"),
        ('{"timestamp": 1.5}', "timestamp: expected a number"),
    ],
)
def test_what_is_no_record_is_refused_in_words(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("[", r"\[")):
        parse_record(line.encode("latin-1"))
