"""`kafkalite produce`: lines as records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

from cyclopts import Parameter

from kafkalite.cli.connection import Connection
from kafkalite.cli.deliveries import Delivered, Deliveries
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.input_lines import (
    MAX_LINE_BYTES,
    ParseLine,
    opened,
    parse_keyed_text,
    parse_text,
    read_records,
)
from kafkalite.cli.interrupts import interrupts_held_back
from kafkalite.cli.lost_broker import LostBroker
from kafkalite.cli.mistakes import from_to
from kafkalite.cli.names import TopicName
from kafkalite.cli.output import Output, counted, print_json
from kafkalite.cli.partitioning import Partitioning
from kafkalite.cli.progress import progress_of
from kafkalite.cli.record_json import NewRecord, parse_record
from kafkalite.cli.topic_wish import LAST_PARTITION
from kafkalite.cli.watched_input import watched
from kafkalite.metadata.topic_names import CLUSTER_METADATA, INTERNAL_TOPICS

if TYPE_CHECKING:
    from kafka import KafkaProducer

_TOPIC_WITHIN_MS = 10_000
_ANSWER_WITHIN_MS = 10_000
_DELIVER_WITHIN_MS = 30_000
_END_WITHIN_S = 60.0
"""More than that, so that each record tells its own end."""
_INTERRUPTED_WITHIN_S = 2.0
"""So long the answers to what was sent before a Ctrl-C are waited for."""
_LINGER_MS = 20
"""A file's lines gather for as long, so that they share batches; typed ones go at once."""


def produce(
    topic: TopicName,
    file: str | None = None,
    /,
    *,
    format: Literal["text", "json"] = "text",
    separator: str | None = None,
    key: str | None = None,
    header: tuple[str, ...] = (),
    partition: Annotated[int | None, Parameter(validator=from_to(0, LAST_PARTITION))] = None,
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none",
    acks: Literal["all", "1", "0"] = "all",
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Send each line of a file, or of standard input, as a record.

    A record without a partition goes where Java's producer sends its key, or, without a key, to
    each partition in turn.

    Args:
        topic: where to
        file: lines; without it, or with -, standard input
        format: of the lines; json: objects with key, value, headers, partition, timestamp
        separator: text between key and value, such as a colon
        key: the key of every record
        header: a header of every record; may be repeated
        partition: where every record goes that does not say it
        compression: of the batches
        acks: which replicas must have a record before it counts as sent
    """
    _check(topic)
    parse = _parser(format, separator, key)
    given = tuple(map(_parse_header, header))
    defaults = NewRecord(None if key is None else key.encode(), None, given, partition)
    is_typed = file in (None, "-") and sys.stdin.isatty()
    deliveries = Deliveries(has_offsets=acks != "0")
    with (
        opened(file) as lines,
        connection.producer(**_settings(acks, compression, is_typed=is_typed)) as producer,
    ):
        partitioning = _partitioning(connection, producer, topic)
        sender = _Sender(producer, topic, defaults, deliveries, partitioning)
        if is_typed:
            print("Each line is a record; Ctrl-D ends.", file=sys.stderr)
        try:
            lines = watched(lines, _looking(connection, producer, deliveries))
            problem = _send_all(sender, lines, parse)
            deliveries.wait(_END_WITHIN_S)
        except KeyboardInterrupt:
            deliveries.wait(_INTERRUPTED_WITHIN_S)
            _tell_partial(topic, deliveries, output)
            print(f"kafkalite: {_got_there(topic, deliveries)}", file=sys.stderr)
            raise
        problem = _failure(connection, deliveries) or problem
    if problem is not None:
        _tell_partial(topic, deliveries, output)
        raise CommandError(problem, _got_there(topic, deliveries))
    _tell(topic, deliveries, output)


def _send_all(sender: _Sender, lines: BinaryIO, parse: ParseLine) -> str | None:
    """Up to the first line that cannot be sent, or that is known to have failed; what is wrong with
    it, in the first case."""
    try:
        with progress_of(lines) as advanced:
            for number, record in read_records(lines, parse):
                with interrupts_held_back():
                    sender.send(number, record)
                advanced()
                if sender.deliveries.failure is not None:
                    break
    except CommandError as problem:
        return str(problem)
    except _FailedMeanwhileError:
        pass
    return None


class _FailedMeanwhileError(Exception):
    """A record turned out not to get there while the next was waited for."""


def _looking(
    connection: Connection, producer: KafkaProducer, deliveries: Deliveries
) -> Callable[[], None]:
    """What to do while no line comes."""

    def has_connection() -> bool:
        return bool(producer.metrics()["producer-metrics"]["connection-count"])

    broker = LostBroker(connection.bootstrap, has_connection, connection.is_there)

    def look() -> None:
        if deliveries.failure is not None:
            raise _FailedMeanwhileError
        broker.look()

    return look


def _check(topic: str) -> None:
    if topic in (*INTERNAL_TOPICS, CLUSTER_METADATA):
        raise WrongUseError(f"{topic} is a topic of the brokers, which no client writes to")


def _parser(format: str, separator: str | None, key: str | None) -> ParseLine:
    if separator is None:
        return parse_record if format == "json" else parse_text
    if format == "json":
        raise WrongUseError("--separator is for lines of text: in JSON the key has its field")
    if key is not None:
        raise WrongUseError("--key and --separator cannot go together; use one of them")
    if not separator:
        raise WrongUseError("--separator: the empty text separates nothing")
    return partial(parse_keyed_text, separator=separator.encode())


def _parse_header(text: str) -> tuple[str, bytes]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise WrongUseError(f"--header {text}: expected NAME=VALUE")
    return name, value.encode()


def _settings(acks: str, compression: str, *, is_typed: bool) -> dict[str, object]:
    return {
        "acks": acks if acks == "all" else int(acks),
        "enable_idempotence": acks == "all",
        "compression_type": None if compression == "none" else compression,
        "linger_ms": 0 if is_typed else _LINGER_MS,
        "max_block_ms": _TOPIC_WITHIN_MS,
        "request_timeout_ms": _ANSWER_WITHIN_MS,
        "delivery_timeout_ms": _DELIVER_WITHIN_MS,
        "max_request_size": MAX_LINE_BYTES,
    }


class _Sender:
    """Sends records to one topic."""

    def __init__(
        self,
        producer: KafkaProducer,
        topic: str,
        defaults: NewRecord,
        deliveries: Deliveries,
        partitioning: Partitioning,
    ) -> None:
        """`defaults` are for what a record does not have; its headers come in addition."""
        self._producer = producer
        self._topic = topic
        self._defaults = defaults
        self.deliveries = deliveries
        self._partitioning = partitioning

    def send(self, line: int, record: NewRecord) -> None:
        """`CommandError` when it cannot be sent at all."""
        defaults = self._defaults
        if record.key is None:
            record = record._replace(key=defaults.key)
        if record.partition is None:
            record = record._replace(partition=defaults.partition)
        try:
            future = self._producer.send(
                self._topic,
                key=record.key,
                value=record.value,
                headers=[*defaults.headers, *record.headers],
                partition=self._partitioning.choose(record),
                timestamp_ms=record.timestamp_ms,
            )
        except ValueError as error:  # No such partition, or neither key nor value.
            raise CommandError(f"line {line}: {error}") from error
        self.deliveries.follow(line, future)


def _partitioning(connection: Connection, producer: KafkaProducer, topic: str) -> Partitioning:
    """Over the partitions of a topic which the broker may have to create first."""
    from kafka.errors import KafkaTimeoutError

    try:
        partitions: Collection[int] = producer.partitions_for(topic)
    except ValueError as error:
        raise WrongUseError(str(error)) from error
    except KafkaTimeoutError as error:
        connection.check()
        raise CommandError(
            f"there is no topic {topic}, and the broker does not create it by itself; "
            f"`kafkalite topics create {topic}` does"
        ) from error
    return Partitioning(partitions)


def _failure(connection: Connection, deliveries: Deliveries) -> str | None:
    """In one line; None: there is none so far."""
    if deliveries.failure is None:
        return None
    line, failure = deliveries.failure
    return f"line {line}: {connection.words_for(failure)}"


def _got_there(topic: str, deliveries: Deliveries) -> str:
    return f"{counted(deliveries.records, 'record')} got to {topic}"


def _tell_partial(topic: str, deliveries: Deliveries, output: Output) -> None:
    """What a machine is told all the same when not all records got there."""
    if output.json:
        _tell(topic, deliveries, output)


def _tell(topic: str, deliveries: Deliveries, output: Output) -> None:
    partitions = sorted(deliveries.partitions.items())
    if output.json:
        print_json(
            {
                "topic": topic,
                "records": deliveries.records,
                "partitions": [
                    {
                        "partition": partition,
                        "records": each.records,
                        "first_offset": each.first_offset,
                        "last_offset": each.last_offset,
                    }
                    for partition, each in partitions
                ],
            }
        )
        return
    print(f"sent {counted(deliveries.records, 'record')} to {topic}{_where(partitions)}")


def _where(partitions: Sequence[tuple[int, Delivered]]) -> str:
    """Where the records are, as the end of a sentence."""
    match partitions:
        case []:
            return ""
        case [(partition, each)]:
            where = f", partition {partition}"
            if each.first_offset is None:
                return where
            last = "" if each.records == 1 else f" to {each.last_offset}"
            return f"{where}, offset {each.first_offset}{last}"
        case _:
            return f", {len(partitions)} partitions"
