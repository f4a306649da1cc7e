"""What `dump-log` finds in files, fact by fact, before anybody puts it into words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from kafkalite.cli.errors import CommandError
from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files_os import OsFiles
from kafkalite.log.index import OffsetIndex
from kafkalite.log.index_checks import (
    OffsetMismatch,
    TimeComplaint,
    check_offset_entries,
    check_time_entries,
)
from kafkalite.log.inspection import (
    FileKind,
    LogFact,
    NamedFile,
    OffsetEntry,
    TimeIndexEntry,
    parse_name,
    read_offset_entries,
    read_time_entries,
    walk_log,
)
from kafkalite.log.producer_snapshots import parse_snapshot
from kafkalite.log.producers import ProducerState
from kafkalite.log.time_index import TimeIndex
from kafkalite.log.transaction_index import AbortedTransaction, parse_transaction_index


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is to be told."""

    records: bool
    max_bytes: int | None = None
    sanity_only: bool = False
    """Of indexes: whether they may be believed."""
    verify_only: bool = False
    """Of indexes: where they disagree with the log."""


class FileBegins(NamedTuple):
    """A file that is known by its name; None: it is none of a partition's."""

    named: NamedFile | None


class Sanity(NamedTuple):
    """Whether an index may be believed; None: it may."""

    refusal: str | None


Fact = (
    FileBegins
    | Sanity
    | LogFact
    | OffsetEntry
    | TimeIndexEntry
    | AbortedTransaction
    | ProducerState
    | OffsetMismatch
    | TimeComplaint
)


def facts_of(path: Path, wish: Wish) -> Iterator[Fact]:
    """`CommandError` for a file that cannot be read."""
    named = parse_name(path.name)
    _check_is_file(path)
    yield FileBegins(named)
    if named is None:
        return
    files = OsFiles(str(path.parent))
    try:
        yield from _facts(files, path, named, wish)
    except (CorruptRecordError, OSError) as error:
        raise CommandError(f"{path}: {_reason(error)}") from error


def _check_is_file(path: Path) -> None:
    try:
        is_file = S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_file = False
    except OSError as error:  # As of a folder that may not be looked into.
        raise CommandError(f"{path}: {error.strerror}") from error
    if not is_file:
        raise CommandError(f"{path}: no such file")


def _facts(files: OsFiles, path: Path, named: NamedFile, wish: Wish) -> Iterator[Fact]:
    match named.kind:
        case FileKind.LOG | FileKind.METADATA_SNAPSHOT:
            file = files.open_read(path.name)
            try:
                yield from walk_log(file, records=wish.records, max_bytes=wish.max_bytes)
            finally:
                file.close()
        case FileKind.OFFSET_INDEX | FileKind.TIME_INDEX:
            if wish.sanity_only:
                yield _sanity(_content(files, path.name), named.kind)
            else:
                yield from _index_facts(files, path, named, wish)
        case FileKind.TRANSACTION_INDEX:
            yield from parse_transaction_index(_content(files, path.name))
        case FileKind.PRODUCER_SNAPSHOT:
            yield from parse_snapshot(_content(files, path.name))


def _index_facts(files: OsFiles, path: Path, named: NamedFile, wish: Wish) -> Iterator[Fact]:
    log_path = path.with_suffix(FileKind.LOG.value)
    if not log_path.is_file():
        raise CommandError(f"{path}: its log {log_path.name} is not beside it")
    is_time = named.kind is FileKind.TIME_INDEX
    index_name = path.with_suffix(FileKind.OFFSET_INDEX.value).name
    offsets = read_offset_entries(_content(files, index_name), named.offset)
    times = read_time_entries(_content(files, path.name), named.offset) if is_time else []
    if not wish.verify_only:
        yield from times if is_time else offsets
    log = files.open_read(log_path.name)
    try:
        if is_time:
            yield from check_time_entries(log, offsets, times)
        else:
            yield from check_offset_entries(log, offsets)
    finally:
        log.close()


def _sanity(content: bytes, kind: FileKind) -> Sanity:
    """As a start of the broker looks at it."""
    index = OffsetIndex if kind is FileKind.OFFSET_INDEX else TimeIndex
    try:
        index.from_bytes(content)
    except CorruptRecordError as error:
        return Sanity(str(error))
    return Sanity(None)


def _content(files: OsFiles, name: str) -> bytes:
    return read_file(files, name) or b""


def _reason(error: CorruptRecordError | OSError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
