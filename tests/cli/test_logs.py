"""Lines of a log for machines."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from kafkalite.cli.logs import JsonLines, log_note


def test_an_event_is_an_object_on_one_line() -> None:
    record = logging.makeLogRecord(
        {
            "name": "kafkalite.x",
            "levelname": "WARNING",
            "msg": "%s\nis gone",
            "args": ("a",),
            "created": 1700000000.25,
            "topic": "t",
        }
    )
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARNING",
        "logger": "kafkalite.x",
        "message": "a\nis gone",
        "topic": "t",
    }


def test_an_exception_is_told_whole() -> None:
    try:
        raise ZeroDivisionError("why")
    except ZeroDivisionError:
        record = logging.makeLogRecord({"msg": "failed", "exc_info": sys.exc_info()})
    event = json.loads(JsonLines().format(record))
    assert event["exception"].endswith("ZeroDivisionError: why")


@pytest.mark.parametrize(
    ("note", "level"),
    [("info: a: b", logging.INFO), ("warning: a: b", logging.WARNING)],
)
def test_a_note_says_its_level(note: str, level: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        log_note(note)
    assert [(each.levelno, each.getMessage()) for each in caplog.records] == [(level, "a: b")]
