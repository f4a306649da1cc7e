"""A record as a line: for people, as JSON, or nothing but its value."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from kafkalite.cli.output import console
from kafkalite.cli.printable import printable, printable_bytes
from kafkalite.cli.record_json import bytes_to_json
from kafkalite.cli.record_reader import Record

Show = Callable[[Record], None]

_TIMESTAMP_TYPES = {0: "create", 1: "log_append"}
_DIM = "\x1b[2m"
_KEY = "\x1b[36m"
_PLAIN = "\x1b[0m"
_NULL = "(null)"
_EPOCH = datetime.fromtimestamp(0, UTC)


def show_json(record: Record) -> None:
    """See `record_json`."""
    document = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": _TIMESTAMP_TYPES.get(record.timestamp_type),
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": [[name, bytes_to_json(value)] for name, value in record.headers],
    }
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


def show_value(record: Record) -> None:
    """Its bytes as they are, and a newline; null is an empty line."""
    sys.stdout.buffer.write((record.value or b"") + b"\n")


class Lines:
    """For people: partition and offset, time, key, value; headers on a line of their own."""

    def __init__(self) -> None:
        screen = console()
        self._has_colours = (
            screen.is_terminal and not screen.no_color and not screen.is_dumb_terminal
        )

    def show(self, record: Record) -> None:
        """Print it."""
        place = f"{record.partition}:{record.offset}"
        head = self._styled(_DIM, f"{place:<10}  {_local_time(record.timestamp)}")
        key = self._styled(_DIM, "-")
        if record.key is not None:
            key = self._styled(_KEY, printable_bytes(record.key))
        value = self._styled(_DIM, _NULL)
        if record.value is not None:
            value = printable_bytes(record.value)
        sys.stdout.write(f"{head}  {key}  {value}\n")
        if record.headers:
            headers = "  ".join(
                f"{printable(name)}={_NULL if content is None else printable_bytes(content)}"
                for name, content in record.headers
            )
            sys.stdout.write(f"{'':<10}  {self._styled(_DIM, headers)}\n")

    def _styled(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._has_colours else text


def _local_time(timestamp_ms: int) -> str:
    """To the millisecond; what no calendar has, as the number."""
    try:
        time = (_EPOCH + timedelta(milliseconds=timestamp_ms)).astimezone()
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return time.strftime("%Y-%m-%d %H:%M:%S.") + f"{time.microsecond // 1000:03}"
