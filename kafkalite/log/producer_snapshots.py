"""`<offset>.snapshot`: what a log knew of its producers when it ended at that offset.

Written when a segment rolls and when the log closes. Big-endian (Kafka's `ProducerStateManager`):

    int16 version: 1    uint32 CRC-32C of all after it    int32 count    then, for each producer:
    int64 id    int16 epoch    int32 last sequence    int64 last offset    int32 offset delta
    int64 timestamp    int32 coordinator epoch    int64 first offset of its open transaction, or -1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files
from kafkalite.log.folder_names import offset_of
from kafkalite.log.producers import BatchMetadata, ProducerState, ProducerStates
from kafkalite.log.retired_files import retire
from kafkalite.protocol.records.crc import load_crc32c
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs

SNAPSHOT_SUFFIX = ".snapshot"

_VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_EMPTY = bytes.fromhex("000148674bc700000000")
"""Of no producers: known by heart, since the CRC library takes long to import at a start."""
_NO_BATCH = BatchMetadata(-1, Offset(-1), 0, TimestampMs(-1))


class ProducerSnapshots:
    """The snapshot files of one log."""

    __slots__ = ("_files", "_folder", "is_synced", "newest")

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder
        self.newest: Offset | None = None
        """Where the newest one stands; None when there is none (that `load` or `save` saw)."""
        self.is_synced = True
        """Whether the newest needs no sync: one without producers, which is made again for
        nothing, never does."""

    def _path(self, offset: Offset) -> str:
        return f"{self._folder}/{offset:020d}{SNAPSHOT_SUFFIX}"

    def offsets(self) -> list[Offset]:
        """The offsets of all files, ascending."""
        found = [
            offset_of(name)
            for name in self._files.list(self._folder)
            if name.endswith(SNAPSHOT_SUFFIX) and name.count(".") == 1
        ]
        return [offset for offset in found if offset is not None]

    def save(self, producers: ProducerStates, offset: Offset) -> None:
        """Write the snapshot of a log that ends at `offset`, unless it is there; not synced."""
        if offset != self.newest:
            states = producers.active()
            self._files.replace(self._path(offset), format_snapshot(states), sync=False)
            self.newest = offset
            self.is_synced = not states

    def load(
        self,
        producers: ProducerStates,
        *,
        end_offset: Offset,
        now: TimestampMs,
        kept: frozenset[Offset],
        limit: Offset | None = None,
    ) -> Offset | None:
        """Restore the newest sound snapshot at or below `end_offset`: its offset, None without one.
        With `limit` it is at or below that too; those between stay.

        Removes those above (of a log since cut), damaged ones, those that neither belong to a
        segment in `kept` nor are the newest, and those below the first segment: what came between
        is gone, so that what they tell of producers may be out of date.
        """
        first = min(kept, default=Offset(0))
        producers.restore([], now)
        self.newest = None
        is_newest = True
        for offset in reversed(self.offsets()):
            if not first <= offset <= end_offset or not (is_newest or offset in kept):
                self._files.remove(self._path(offset))
            elif limit is not None and offset > limit:
                is_newest = False
            elif self.newest is None:
                try:
                    states = parse_snapshot(read_file(self._files, self._path(offset)) or b"")
                except CorruptRecordError:
                    self._files.remove(self._path(offset))
                else:
                    producers.restore(states, now)
                    self.newest, is_newest = offset, False
                    self.is_synced = not states
        return self.newest

    def retire_below(self, offset: Offset) -> list[str]:
        """Rename those of segments that are gone, and tell their new names; the newest stays."""
        return self.retire_at(found for found in self.offsets() if found < offset)

    def retire_at(self, offsets: Iterable[Offset]) -> list[str]:
        """As `retire_below`, those at just these offsets."""
        newest = max(self.offsets(), default=None)
        gone = [offset for offset in offsets if offset != newest]
        return retire(self._files, map(self._path, gone))

    def unsynced(self) -> list[str]:
        """The newest one, while the disk may not have its bytes."""
        if self.is_synced or self.newest is None or not self._files.exists(self._path(self.newest)):
            return []
        return [self._path(self.newest)]


def format_snapshot(states: Sequence[ProducerState]) -> bytes:
    """The content of a snapshot file, in the order given."""
    if not states:
        return _EMPTY
    body = bytearray(_COUNT.pack(len(states)))
    for state in states:
        last = state.batches[-1] if state.batches else _NO_BATCH
        first = state.transaction_first_offset
        body += _ENTRY.pack(
            state.producer_id,
            state.epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            state.last_timestamp,
            state.coordinator_epoch,
            -1 if first is None else first,
        )
    return _HEAD.pack(_VERSION, load_crc32c()(body)) + bytes(body)


def parse_snapshot(data: bytes) -> list[ProducerState]:
    """The inverse of `format_snapshot`; `CorruptRecordError` for a damaged file."""
    if data == _EMPTY:
        return []
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptRecordError(f"a producer snapshot of {len(data)} bytes")
    version, crc = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptRecordError(f"a producer snapshot of version {version}")
    if load_crc32c()(memoryview(data)[_HEAD.size :]) != crc:
        raise CorruptRecordError("a producer snapshot whose CRC is wrong")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    start = _HEAD.size + _COUNT.size
    if count < 0 or start + count * _ENTRY.size != len(data):
        raise CorruptRecordError(f"a producer snapshot of {count} entries in {len(data)} bytes")
    return [_parse_entry(data, start + index * _ENTRY.size) for index in range(count)]


def _parse_entry(data: bytes, position: int) -> ProducerState:
    (
        producer_id,
        epoch,
        last_sequence,
        last_offset,
        delta,
        timestamp,
        coordinator_epoch,
        first_offset,
    ) = _ENTRY.unpack_from(data, position)
    state = ProducerState(ProducerId(producer_id))
    state.epoch = ProducerEpoch(epoch)
    state.coordinator_epoch = coordinator_epoch
    state.last_timestamp = TimestampMs(timestamp)
    state.transaction_first_offset = Offset(first_offset) if first_offset >= 0 else None
    if last_offset >= 0:
        state.batches.append(
            BatchMetadata(last_sequence, Offset(last_offset), delta, TimestampMs(timestamp))
        )
    return state
