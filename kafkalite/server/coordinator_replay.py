"""A coordinator's core as it is loaded: its log replayed into it, a slice a turn of the loop.

Source: Kafka's `CoordinatorLoaderImpl`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from kafkalite.core import Core
from kafkalite.errors import CorruptRecordError, ProtocolError
from kafkalite.log.files import read_part
from kafkalite.protocol.records import record as log_record
from kafkalite.protocol.records.batch import HEADER_SIZE, BatchHeader, crc_is_valid, read_header
from kafkalite.protocol.records.compression import Buffer
from kafkalite.protocol.records.record import read_records
from kafkalite.server.partition import Partition
from kafkalite.types import Offset, TimestampMs

_log = logging.getLogger(__name__)

SLICE_BYTES = 1 << 17
SLICE_RECORDS = 1_000
"""Read, or applied, in one turn of the loop: some milliseconds' worth."""
BATCH_BYTES = 1 << 26
"""Of records in one batch, before they are compressed: no more is written, and no more is read."""


Key = Buffer | None
"""Of a record."""
E = TypeVar("E")
R = TypeVar("R")


class RecordCodec(Protocol[R]):
    """How the records of one kind of core stand in its partition."""

    def batch(self, records: tuple[R, ...], now: TimestampMs) -> bytearray:
        """One batch. `KafkaError` and `ValueError` for what does not fit into records."""
        ...

    def read(self, record: log_record.Record, header: BatchHeader) -> R | None:
        """A record of the log, from a batch with that header; None: it tells nothing.
        `ProtocolError` for one that is none of ours."""
        ...

    def tells_all(self, record: log_record.Record) -> bool:
        """Whether it tells all of its key, so that no earlier record of that key need be read; and
        nothing of other keys of which this is so. It can be read, as far as one sees at once."""
        ...


class Replay(Generic[E, R]):
    """One core, and how far it is loaded."""

    def __init__(self, core: Core[E, R], codec: RecordCodec[R], partition: Partition) -> None:
        self.core = core
        self.offset: Offset = partition.log.log_start_offset
        """The end of the batches that are applied, exclusive."""
        self._codec = codec
        self._partition = partition
        self._applying: Iterator[None] = iter(())

    def step(self, max_bytes: int) -> bool:
        """Apply some records, of about `max_bytes` of batches and at least one. True at the end of
        the log."""
        left = SLICE_RECORDS
        while True:
            for _ in self._applying:
                left -= 1
                if not left:
                    return False
            log = self._partition.log  # Another one, once the replica has moved.
            end = log.end_offset
            if self.offset >= end:
                return True
            if max_bytes <= 0:
                return False
            read = log.read(
                self.offset, max_bytes=max_bytes, max_offset=end, first_batch_whole=True
            )
            if read.part is None:
                raise CorruptRecordError(f"nothing can be read at offset {self.offset}")
            self._applying = self._apply(read_part(read.part))
            max_bytes -= read.size_bytes

    def _apply(self, buffer: memoryview) -> Iterator[None]:
        """A record at each step."""
        position, end = 0, self.offset
        tells_all = self._codec.tells_all
        waiting: dict[Key, tuple[log_record.Record, BatchHeader]] = {}
        """Those that tell all, by their keys: the next of the same key makes one superfluous. None
        of compressed batches, which may be large, and would all be held."""
        while len(buffer) - position >= HEADER_SIZE:
            header = read_header(buffer, position)
            if len(buffer) - position < header.size_bytes:
                break  # Cut short; the next read begins with it.
            if not crc_is_valid(buffer, position, header):
                raise CorruptRecordError(
                    f"the batch at offset {header.base_offset} has a wrong CRC"
                )  # An offset that was never committed would skip records, or show them again.
            may_wait = not (header.is_transactional or header.is_control or header.compression)
            for record in read_records(buffer, position, header, BATCH_BYTES):
                yield
                if may_wait and tells_all(record):
                    waiting[record.key] = record, header
                    continue
                for each in waiting.values():
                    self._apply_one(*each)
                    yield
                waiting.clear()
                self._apply_one(record, header)
            end = header.next_offset
            position += header.size_bytes
        for each in waiting.values():
            self._apply_one(*each)
            yield
        self.offset = end

    def _apply_one(self, record: log_record.Record, header: BatchHeader) -> None:
        """Records that are none of ours, such as those of a later release, are passed by, as Kafka
        does."""
        try:
            decoded = self._codec.read(record, header)
        except ProtocolError as error:
            _log.warning("A record of offset %d is passed by: %s", record.offset, error)
        else:
            if decoded is not None:
                self.core.apply(decoded)
