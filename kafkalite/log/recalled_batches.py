"""The batches of producers that a snapshot does not have: it holds the last one of each alone.

Who sends again what a crash has left without an answer begins with the oldest of up to five
batches. Those that stand close before the snapshot are looked up in the log, so that they are known
for what they are.

Kafka differs: it knows the last batch alone where a snapshot was read. The others count as out of
order then, and its clients write them a second time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from kafkalite.errors import CorruptRecordError
from kafkalite.log.producers import (
    BATCHES_RETAINED,
    BatchMetadata,
    ProducerState,
    ProducerStates,
)
from kafkalite.log.segment import Segment
from kafkalite.protocol.records.batch import HEADER_SIZE, MAX_SEQUENCE, BatchHeader, read_header
from kafkalite.types import NO_PRODUCER_ID, Offset, ProducerId

_ENTRIES = 32
"""Of the offset index: how far back it is looked. Each is of another batch."""
_SEGMENTS = 2
"""Those that an opening looks at anyway."""
_MOST_BYTES = 64 << 20
"""Beyond that, where an index has few entries, nothing is looked up."""
_PIECE_BYTES = 16 << 10
"""Of small batches it has many headers, of large ones not much else."""


def recall_batches(
    producers: ProducerStates, segments: Sequence[Segment], snapshot_offset: Offset
) -> None:
    """Have `producers`, as a snapshot at that offset tells of them, know their batches before the
    last. What cannot be read is not known."""
    if not len(producers):
        return
    before = [segment for segment in segments if segment.base_offset < snapshot_offset]
    found: dict[ProducerId, list[BatchHeader]] = {}
    with suppress(CorruptRecordError, OSError):
        for header in _last_headers(before[-_SEGMENTS:], snapshot_offset):
            if header.producer_id > NO_PRODUCER_ID and not header.is_control:
                found.setdefault(header.producer_id, []).append(header)
    for producer_id, headers in found.items():
        state = producers.get(producer_id)
        if state is not None:
            _recall(state, headers)


def _last_headers(segments: Sequence[Segment], end: Offset) -> Iterator[BatchHeader]:
    """Those of the batches below `end` that stand last in the segments, and of some more."""
    walks = []
    for segment in reversed(segments):
        position = segment.indexes.offsets.before(end - segment.base_offset, _ENTRIES)
        walks.append(_headers(segment, position, end))
        if position:
            break
    for walk in reversed(walks):
        yield from walk


def _headers(segment: Segment, position: int, end: Offset) -> Iterator[BatchHeader]:
    """Those of the batches from that position on, below `end`."""
    if segment.size - position > _MOST_BYTES:
        return
    while position < segment.size:
        buffer = segment.file.read(position, min(_PIECE_BYTES, segment.size - position))
        at = 0
        while len(buffer) - at >= HEADER_SIZE:
            header = read_header(buffer, at)
            if header.base_offset >= end:
                return
            yield header
            at += header.size_bytes
        if not at:
            return
        position += at


def _recall(state: ProducerState, headers: Sequence[BatchHeader]) -> None:
    batches = deque(state.batches, maxlen=BATCHES_RETAINED)
    for header in reversed(headers):
        if not batches or len(batches) == BATCHES_RETAINED:
            break
        if header.last_offset >= batches[0].first_offset:
            continue  # The one that the snapshot has.
        is_next = (header.last_sequence + 1) & MAX_SEQUENCE == batches[0].first_sequence
        if header.producer_epoch != state.epoch or not is_next:
            break
        batches.appendleft(
            BatchMetadata(
                header.last_sequence,
                header.last_offset,
                header.last_offset_delta,
                header.max_timestamp,
            )
        )
    state.batches = batches
