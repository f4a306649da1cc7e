"""`kafkalite consume`: the records of a topic, on standard output."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from cyclopts import Parameter

from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.log_ranges import LogRange, find_topics, log_ranges
from kafkalite.cli.mistakes import from_to
from kafkalite.cli.names import GroupName, TopicName
from kafkalite.cli.output import Output
from kafkalite.cli.positions import AtOffset, Edge, Position, parse_position, resolve
from kafkalite.cli.record_filter import TextFilter
from kafkalite.cli.record_reader import GroupReader, PartitionReader, RecordReader
from kafkalite.cli.record_view import Lines, Show, show_json, show_value
from kafkalite.cli.topic_wish import LAST_PARTITION
from kafkalite.cli.watched_reader import WatchedReader

_MOST_RECORDS = (1 << 63) - 1


def consume(
    topic: TopicName,
    /,
    *,
    from_: Annotated[str, Parameter(metavar="WHERE")] = Edge.EARLIEST.value,
    partition: Annotated[tuple[int, ...], Parameter(validator=from_to(0, LAST_PARTITION))] = (),
    group: GroupName | None = None,
    follow: Annotated[bool, Parameter(alias="-f")] = False,
    count: Annotated[int | None, Parameter(alias="-n", validator=from_to(1, _MOST_RECORDS))] = None,
    key: Annotated[str | None, Parameter(metavar="TEXT|/REGEX/")] = None,
    value: Annotated[str | None, Parameter(metavar="TEXT|/REGEX/")] = None,
    raw: bool = False,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Print the records of a topic, up to its end.

    A line has partition and offset, time, key and value, and the headers under it.

    Args:
        topic: which
        from_: earliest, latest, an offset, or a time: 2026-11-29T18:30, 10m (ago), @MILLISECONDS
        partition: only this one; may be repeated
        group: read as a member of it, and commit what was printed
        follow: go on at the end, until Ctrl-C
        count: end after so many
        key: only records whose key has this in it
        value: only records whose value has this in it
        raw: print values only, as they are
    """
    if raw and output.json:
        raise WrongUseError("--raw and --json cannot go together; use one of them")
    if group is not None and partition:
        raise WrongUseError("--group and --partition cannot go together: the group decides")
    position = parse_position(from_, "--from")
    wanted = _filters(key, value)
    show = show_json if output.json else show_value if raw else Lines().show
    if group is None:
        reading = _partitions(connection, topic, position, partition, follow=follow)
    else:
        reading = _group(connection, topic, position, group, follow=follow)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # A group is to be left.
    try:
        with reading as reader:
            _print(reader, wanted, show, count)
    except KeyboardInterrupt:
        if not follow:
            raise
    finally:
        signal.signal(signal.SIGTERM, before)


Matches = Callable[[Any], bool]  # `Any`: kafka-python's ConsumerRecord.


def _filters(key: str | None, value: str | None) -> Matches:
    of_key = None if key is None else TextFilter(key, "--key")
    of_value = None if value is None else TextFilter(value, "--value")

    def matches(record: Any) -> bool:
        return (of_key is None or of_key.matches(record.key)) and (
            of_value is None or of_value.matches(record.value)
        )

    return matches


@contextmanager
def _partitions(
    connection: Connection,
    topic: str,
    position: Position,
    numbers: Collection[int],
    *,
    follow: bool,
) -> Iterator[RecordReader]:
    with connection.admin() as admin:
        ranges = log_ranges(admin, find_topics(admin, [topic]))
        if numbers:
            known = {each.partition for each in ranges}
            for number in numbers:
                if number not in known:
                    raise CommandError(f"{topic} has no partition {number}, or nobody leads it")
            ranges = {each: log for each, log in ranges.items() if each.partition in numbers}
        starts = resolve(admin, position, ranges)
    _note_an_offset_beyond_the_end(topic, position, ranges.values())
    ends = None if follow else {each: log.end_offset for each, log in ranges.items()}
    with connection.consumer(group_id=None) as consumer:
        reader = PartitionReader(consumer, starts, ends)
        yield WatchedReader(reader, consumer, connection.bootstrap)


def _note_an_offset_beyond_the_end(
    topic: str, position: Position, ranges: Collection[LogRange]
) -> None:
    """Reading then begins at the end, and whoever asked for more should know."""
    last = max((log.end_offset for log in ranges), default=0)
    if isinstance(position, AtOffset) and position.offset > last:
        print(
            f"kafkalite: nothing of {topic} is at offset {position.offset}; its end is {last}",
            file=sys.stderr,
        )


@contextmanager
def _group(
    connection: Connection, topic: str, position: Position, group: str, *, follow: bool
) -> Iterator[RecordReader]:
    if not isinstance(position, Edge):
        raise WrongUseError(
            "--from with --group is for partitions that the group has not committed: earliest or "
            "latest; `kafkalite groups reset` moves a group"
        )
    with connection.admin() as admin:
        find_topics(admin, [topic])
    with connection.consumer(
        group_id=group, auto_offset_reset=position.value, enable_auto_commit=False
    ) as consumer:
        reader = GroupReader(consumer, topic, follow=follow)
        yield WatchedReader(reader, consumer, connection.bootstrap)


def _print(reader: RecordReader, matches: Matches, show: Show, count: int | None) -> None:
    from kafka import TopicPartition

    shown = 0
    for batch in reader.batches():
        done: dict[TopicPartition, int] = {}
        for record in batch:
            done[TopicPartition(record.topic, record.partition)] = record.offset + 1
            if matches(record):
                show(record)
                shown += 1
                if shown == count:
                    break
        sys.stdout.flush()
        reader.commit(done)
        if shown == count:
            return
