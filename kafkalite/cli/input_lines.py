"""Lines of a file or of standard input, as records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from kafkalite.cli.errors import CommandError
from kafkalite.cli.record_json import NewRecord

MAX_LINE_BYTES = 100 << 20
"""Far more than a broker takes in one record."""

ParseLine = Callable[[bytes], NewRecord]
"""`ValueError`, in words for a person, for a line that is no record."""


@contextmanager
def opened(path: str | None) -> Iterator[BinaryIO]:
    """A file; standard input for None and `-`."""
    if path is None or path == "-":
        yield sys.stdin.buffer
        return
    try:
        file = open(path, "rb")  # noqa: SIM115  # Closed below.
    except OSError as error:
        raise CommandError(f"cannot read {path} ({error.strerror})") from error
    with file:
        yield file


def read_records(file: BinaryIO, parse: ParseLine) -> Iterator[tuple[int, NewRecord]]:
    """Number of the line, from 1, and its record. `CommandError` for the first that is none."""
    number = 0
    while line := _next_line(file):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise CommandError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        try:
            yield number, parse(line.removesuffix(b"\n").removesuffix(b"\r"))
        except ValueError as error:
            raise CommandError(f"line {number}: {error}") from error


def _next_line(file: BinaryIO) -> bytes:
    try:
        return file.readline(MAX_LINE_BYTES + 1)
    except OSError as error:
        raise CommandError(f"cannot read on ({error.strerror})") from error


def parse_text(line: bytes) -> NewRecord:
    """All of the line is the value."""
    return NewRecord(None, line)


def parse_keyed_text(line: bytes, *, separator: bytes) -> NewRecord:
    """The value is what follows the first separator."""
    key, found, value = line.partition(separator)
    if not found:
        raise ValueError(f"there is no {separator.decode('utf-8', 'replace')!r} after a key")
    return NewRecord(key, value)
