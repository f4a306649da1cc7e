"""The metadata as its files have it, read without a change to them: the newest snapshot, then the
log behind it.

What a transaction without an end holds is dropped, as in Kafka's `MetadataBatchLoader` (KIP-868).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkalite.errors import InvariantError
from kafkalite.log.files import Files
from kafkalite.log.scan import scan_batches
from kafkalite.log.segment_indexes import LOG_SUFFIX
from kafkalite.metadata.changes import Change
from kafkalite.metadata.draft import MetadataDraft
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RemoveTopicRecord,
)
from kafkalite.stores.checkpoint import changes_in, newest_checkpoint, read_checkpoint
from kafkalite.stores.soundness import DIGITS, segment_bases
from kafkalite.stores.unheld import UnheldChanges
from kafkalite.types import BrokerId, ControllerEpoch, Offset, Uuid


class Replayed(NamedTuple):
    """What the log says up to its end."""

    image: MetadataImage
    from_offset: Offset
    """Where the snapshot ends, and the log was read from."""
    removed_topics: frozenset[Uuid]
    """Ids of topics that the log, as far as it was read, has seen go."""
    is_in_transaction: bool
    """It ends within a transaction that nobody will end."""
    unheld: UnheldChanges
    """What the image has not, and a snapshot of it needs."""
    size_bytes: int
    """Of the batches that were read behind the snapshot."""


def replay(
    files: Files,
    folder: str,
    *,
    end_offset: Offset,
    epoch: ControllerEpoch,
    controller_id: BrokerId,
) -> Replayed:
    """The metadata below `end_offset`, where the log is sound and ends. `epoch` and `controller_id`
    are what the image is to say of them.

    `CorruptRecordError` and `ProtocolError` for what cannot be read, `InvariantError` for a log
    that contradicts itself.
    """
    draft = MetadataDraft(MetadataImage())
    unheld = UnheldChanges()
    offset, newest = Offset(0), None
    if files.exists(folder):
        offset = next(segment_bases(files.list(folder)), offset)
        newest = newest_checkpoint(files, folder)
    if newest is not None:
        for change in read_checkpoint(files, f"{folder}/{newest.name}"):
            draft.apply(change)
            unheld.see(change)
        offset = newest.end_offset
        if offset > end_offset:
            raise InvariantError(f"{folder} ends before its snapshot {newest.name}")
    elif offset > 0:
        raise InvariantError(f"{folder} begins at offset {offset}, and has no snapshot")
    removed: set[Uuid] = set()
    pending: list[Change] | None = None
    read = _Read()
    for change in _changes(files, folder, offset, end_offset, read):
        settled: Iterable[Change] = ()
        match change:
            case BeginTransactionRecord():
                pending = []
            case EndTransactionRecord() | AbortTransactionRecord():
                if isinstance(change, EndTransactionRecord):
                    settled = pending or ()
                pending = None
            case _ if pending is not None:
                pending.append(change)
            case _:
                settled = (change,)
        for each in settled:
            draft.apply(each)
            unheld.see(each)
        if isinstance(change, RemoveTopicRecord):
            removed.add(Uuid(bytes(change.topic_id)))
    image = draft.finish(end_offset=end_offset, epoch=epoch, controller_id=controller_id).image
    return Replayed(
        image,
        offset,
        frozenset(removed - image.topics_by_id.keys()),
        pending is not None,
        unheld,
        read.size_bytes,
    )


class _Read:
    def __init__(self) -> None:
        self.size_bytes = 0


def _changes(
    files: Files, folder: str, start: Offset, end: Offset, read: _Read
) -> Iterator[Change]:
    """Those of the batches from `start` (inclusive) to `end` (exclusive), counted in `read`."""
    if start == end:
        return
    bases = list(segment_bases(files.list(folder)))
    due = start
    for base, next_base in zip(bases, [*bases[1:], end], strict=True):
        if next_base <= start or base >= end:
            continue
        file = files.open_read(f"{folder}/{base:0{DIGITS}d}{LOG_SUFFIX}")
        try:
            for batch in scan_batches(file, 0, file.size):
                header = batch.header
                if header.base_offset < due:
                    continue
                if header.base_offset != due:
                    raise InvariantError(f"{folder} has a hole at offset {due}")
                yield from changes_in(memoryview(batch.buffer), batch.at, header)
                read.size_bytes += header.size_bytes
                due = header.next_offset
                if due >= end:
                    break  # What follows is what a crash tore.
        finally:
            file.close()
    if due != end:
        raise InvariantError(f"{folder} ends at offset {due}, not at {end}")
