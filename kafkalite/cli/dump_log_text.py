"""`dump-log` for people: the lines that Kafka's own tool prints, word for word.

Complaints of all files come at the end. What is no visible character in a key or a value is spelt
out, so that a record stays on its line.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

from kafkalite.cli.dump_log_decoders import Decoder, ToldControl, compact_json, control
from kafkalite.cli.dump_log_facts import Fact, FileBegins, Sanity
from kafkalite.cli.printable import printable, printable_bytes
from kafkalite.errors import CorruptRecordError, ProtocolError
from kafkalite.log.index_checks import (
    OffsetMismatch,
    OffsetNotFound,
    TimestampMismatch,
    TimestampOutOfOrder,
)
from kafkalite.log.inspection import (
    AbortedTransaction,
    BatchFact,
    FileKind,
    InvalidEnd,
    OffsetEntry,
    RecordFact,
    TimeIndexEntry,
    UnreadableRecords,
)
from kafkalite.log.producers import ProducerState
from kafkalite.protocol.records.batch import BatchHeader, TimestampType

_NO_RECORD = -1


class TextLines:
    """The lines of one run."""

    def __init__(self, decoder: Decoder | None, *, with_metadata: bool) -> None:
        """`decoder`: of keys and values; None: they are not told. `with_metadata`: what else a
        record has is."""
        self._decoder = decoder
        self._with_metadata = with_metadata
        self._path = Path()
        self._previous = _NO_RECORD
        self._gaps: dict[Path, array[int]] = {}
        self._mismatches: dict[Path, list[OffsetMismatch]] = {}
        self._times: dict[type, dict[Path, list[str]]] = {
            TimestampMismatch: {},
            TimestampOutOfOrder: {},
            OffsetNotFound: {},
        }

    def begin(self, path: Path) -> None:
        """What comes now is of this file."""
        self._path = path
        self._previous = _NO_RECORD

    def lines(self, fact: Fact) -> Iterator[str]:
        """Those of one fact; complaints wait for `complaints`."""
        match fact:
            case FileBegins():
                yield from self._head(fact)
            case BatchFact():
                yield _batch_line(fact)
            case RecordFact():
                self._note_gap(fact)
                yield self._record_line(fact)
            case UnreadableRecords():
                yield f"| The rest of the batch cannot be read: {fact.reason}"
            case InvalidEnd():
                yield f"Found {fact.size_bytes} invalid bytes at the end of {self._path.name}"
            case OffsetEntry():
                yield f"offset: {fact.offset} position: {fact.position}"
            case TimeIndexEntry():
                yield f"timestamp: {fact.timestamp} offset: {fact.offset}"
            case AbortedTransaction():
                yield (
                    f"version: {fact.version} producerId: {fact.producer_id} "
                    f"firstOffset: {fact.first_offset} lastOffset: {fact.last_offset} "
                    f"lastStableOffset: {fact.last_stable_offset}"
                )
            case ProducerState():
                yield _producer_line(fact)
            case Sanity():
                how = "passed" if fact.refusal is None else "did not pass"
                why = "" if fact.refusal is None else f" It is {fact.refusal}."
                yield f"{self._path} {how} sanity check.{why}"
            case OffsetMismatch():
                self._mismatches.setdefault(self._path.absolute(), []).append(fact)
            case TimestampMismatch() | TimestampOutOfOrder() | OffsetNotFound():
                known = self._times[type(fact)].setdefault(self._path.absolute(), [])
                known.append(_time_complaint(fact))
            case _:
                assert_never(fact)

    def complaints(self) -> Iterator[str]:
        """What did not fit, of all files."""
        for path, mismatches in self._mismatches.items():
            yield f"Mismatches in :{path}"
            for entry, found in reversed(mismatches):
                yield f"  Index offset: {entry.offset}, log offset: {found}"
        heads = {
            TimestampMismatch: "Found timestamp mismatch in",
            TimestampOutOfOrder: "Found out of order timestamp in",
            OffsetNotFound: "The following indexed offsets are not found in",
        }
        for kind, by_path in self._times.items():
            for path, told in by_path.items():
                yield f"{heads[kind]} :{path}"
                yield from told
        for path, gaps in self._gaps.items():
            yield f"Non-consecutive offsets in {path}"
            for at in range(0, len(gaps), 2):
                yield f"  {gaps[at]} is followed by {gaps[at + 1]}"

    def _head(self, fact: FileBegins) -> Iterator[str]:
        yield f"Dumping {self._path}"
        named = fact.named
        if named is None:
            yield f"Ignoring unknown file {self._path}"
        elif named.kind is FileKind.LOG:
            yield f"Log starting offset: {named.offset}"
        elif named.kind is FileKind.METADATA_SNAPSHOT:
            yield f"Snapshot end offset: {named.offset}, epoch: {named.epoch}"

    def _note_gap(self, fact: RecordFact) -> None:
        offset = fact.record.offset
        if offset != self._previous + 1:
            gaps = self._gaps.setdefault(self._path.absolute(), array("q"))
            gaps.extend((self._previous, offset))
        self._previous = offset

    def _record_line(self, fact: RecordFact) -> str:
        header, record = fact.header, fact.record
        words: list[str] = []
        if self._with_metadata:
            keys = ",".join(printable(each.key) for each in record.headers)
            words.append(
                f"offset: {record.offset} {_time_of(header)}: {record.timestamp} "
                f"keySize: {_size(record.key)} valueSize: {_size(record.value)} "
                f"sequence: {fact.sequence} headerKeys: [{keys}]"
            )
            if header.is_control:
                words.append(_control(fact))
        if self._decoder is not None and not header.is_control:
            told = self._decoder(record)
            for label, value in (("key", told.key), ("payload", told.payload)):
                if value is not None:
                    words.append(f"{label}: {_text(value)}")
        return f"| {' '.join(words)}" if words else ""


def _batch_line(fact: BatchFact) -> str:
    header = fact.header
    horizon = header.delete_horizon_ms
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} "
        f"count: {header.records_count} baseSequence: {header.base_sequence} "
        f"lastSequence: {header.last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_yes(header.is_transactional)} isControl: {_yes(header.is_control)} "
        f"deleteHorizonMs: {_optional(horizon)} position: {fact.position} "
        f"{_time_of(header)}: {header.max_timestamp} size: {header.size_bytes} "
        f"magic: {header.magic} compresscodec: {codec_name(header)} crc: {header.crc} "
        f"isvalid: {_yes(fact.is_valid)}"
    )


def codec_name(header: BatchHeader) -> str:
    """In small letters; `unknown` where the number names none."""
    try:
        return header.compression.name.lower()
    except CorruptRecordError:
        return "unknown"


def _control(fact: RecordFact) -> str:
    told = told_control(fact)
    return f"unreadable: {told}" if isinstance(told, str) else told.line


def told_control(fact: RecordFact) -> ToldControl | str:
    """What a control record says, or why it cannot be read."""
    try:
        return control(fact.record)
    except (CorruptRecordError, ProtocolError) as error:
        return str(error)


def _producer_line(state: ProducerState) -> str:
    line = (
        f"producerId: {state.producer_id} producerEpoch: {state.epoch} "
        f"coordinatorEpoch: {state.coordinator_epoch} "
        f"currentTxnFirstOffset: {_optional(state.transaction_first_offset)} "
        f"lastTimestamp: {state.last_timestamp} "
    )
    if state.batches:
        last = state.batches[-1]
        line += (
            f"firstSequence: {last.first_sequence} lastSequence: {last.last_sequence} "
            f"lastOffset: {last.last_offset} offsetDelta: {last.offset_delta} "
            f"timestamp: {last.timestamp}"
        )
    return line


def _time_complaint(fact: TimestampMismatch | TimestampOutOfOrder | OffsetNotFound) -> str:
    match fact:
        case TimestampMismatch(entry, found):
            return f"  Index timestamp: {entry.timestamp}, log timestamp: {found}"
        case TimestampOutOfOrder(entry, previous):
            return f"  Index timestamp: {entry.timestamp}, Previously indexed timestamp: {previous}"
        case OffsetNotFound(entry, found_offset):
            return f"Indexed offset: {entry.offset}, found log offset: {found_offset}"


def _text(value: bytes | str | dict[str, object]) -> str:
    if isinstance(value, bytes):
        return printable_bytes(value)
    return printable(value if isinstance(value, str) else compact_json(value))


def _time_of(header: BatchHeader) -> str:
    is_append = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return "LogAppendTime" if is_append else "CreateTime"


def _size(data: bytes | bytearray | memoryview | None) -> int:
    return -1 if data is None else len(data)


def _yes(value: bool) -> str:
    return "true" if value else "false"


def _optional(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"
