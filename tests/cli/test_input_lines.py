"""Lines of a file as records."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kafkalite.cli import input_lines
from kafkalite.cli.errors import CommandError
from kafkalite.cli.input_lines import opened, parse_keyed_text, parse_text, read_records
from kafkalite.cli.record_json import NewRecord, parse_record


def test_a_line_is_a_value_without_its_end() -> None:
    file = io.BytesIO(b"a\nb\r\n\n \xff \nlast")
    assert [(number, record.value) for number, record in read_records(file, parse_text)] == [
        (1, b"a"),
        (2, b"b"),
        (3, b""),
        (4, b" \xff "),
        (5, b"last"),
    ]


def test_a_separator_parts_key_and_value_once() -> None:
    assert parse_keyed_text(b"k::v::w", separator=b"::") == NewRecord(b"k", b"v::w")
    assert parse_keyed_text(b":", separator=b":") == NewRecord(b"", b"")
    with pytest.raises(ValueError, match="there is no '::' after a key"):
        parse_keyed_text(b"k:v", separator=b"::")


def test_a_line_that_is_no_record_is_told_by_its_number() -> None:
    records = read_records(io.BytesIO(b'{"value": "a"}\n[]\n'), parse_record)
    assert next(records) == (1, NewRecord(None, b"a"))
    with pytest.raises(CommandError, match="line 2: a record is a JSON object"):
        next(records)


def test_a_line_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_lines, "MAX_LINE_BYTES", 3)
    records = read_records(io.BytesIO(b"ab\nabcd"), parse_text)
    assert next(records)[1].value == b"ab"
    with pytest.raises(CommandError, match="line 2 is longer than 3 bytes"):
        next(records)


@pytest.mark.parametrize("name", ["none", "."])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match="cannot read"), opened(str(tmp_path / name)):
        raise AssertionError("it is not there")
