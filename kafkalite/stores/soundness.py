"""Where a metadata log ends that can be believed, told before anything is cut off it.

What a crash tears is the end of the log. A bad batch with a sound one behind it was damaged after
it was written: cut there, the log would be of an older cluster, and its partitions of no topic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File, Files
from kafkalite.log.scan import scan_batches
from kafkalite.log.segment_indexes import LOG_SUFFIX, SegmentIndexes
from kafkalite.protocol.records.batch import crc_is_valid, read_header
from kafkalite.types import Offset

_MAGIC = b"\x02"
_MAGIC_AT = 16
DIGITS = 20


class Damage(NamedTuple):
    """Bytes that are no batch of the log."""

    file: str
    position: int
    is_end: bool
    """Nothing sound follows."""


class Ending(NamedTuple):
    """How far a log is sound."""

    end_offset: Offset
    damage: Damage | None


def examine(files: Files, folder: str, *, clean: bool, since: Offset) -> Ending:
    """Look at every batch of the segment with `since` and of those behind it; after a clean stop
    only at those behind the last entry of the index."""
    if not files.exists(folder):
        return Ending(Offset(0), None)
    bases = list(segment_bases(files.list(folder)))
    end = Offset(0)
    first = -1 if clean else max(bisect_right(bases, since) - 1, 0)
    for base in bases[first:]:
        path = f"{folder}/{base:0{DIGITS}d}"
        file = files.open_read(path + LOG_SUFFIX)
        try:
            end, position = _sound_end(file, base, _last_indexed(files, path, file) if clean else 0)
            if position < file.size:
                is_end = base == bases[-1] and not _goes_on(file, position, end)
                return Ending(end, Damage(path + LOG_SUFFIX, position, is_end))
        finally:
            file.close()
    return Ending(end, None)


def segment_bases(names: list[str]) -> Iterator[Offset]:
    """The first offsets of the segments among the files of a folder, in the order of `names`."""
    for name in names:
        stem = name.removesuffix(LOG_SUFFIX)
        if stem != name and len(stem) == DIGITS and stem.isascii() and stem.isdecimal():
            yield Offset(int(stem))


def _last_indexed(files: Files, path: str, file: File) -> int:
    indexes = SegmentIndexes.load(files, path, file.size)
    return 0 if indexes is None else indexes.offsets.last_position


def _sound_end(file: File, base: Offset, position: int) -> tuple[Offset, int]:
    """The offset after the last sound batch, and where its bytes end: from `position` on."""
    end = base
    is_due = not position  # A look that begins amidst cannot know the first batch's offset.
    try:
        for batch in scan_batches(file, position, file.size):
            header = batch.header
            if is_due and header.base_offset != end:
                break  # No CRC covers it; and a metadata log has no holes.
            if not crc_is_valid(batch.buffer, batch.at, header):
                break
            is_due = True
            end = header.next_offset
            position = batch.position + header.size_bytes
    except CorruptRecordError:
        pass  # At `position`, which is what is asked.
    return end, position


def _goes_on(file: File, position: int, end: Offset) -> bool:
    """Whether a sound batch of later records stands anywhere behind `position`."""
    data = file.read(position, file.size - position)
    magic_at = data.find(_MAGIC, _MAGIC_AT + 1)
    while magic_at >= 0:
        at = magic_at - _MAGIC_AT
        try:
            header = read_header(data, at)
        except CorruptRecordError:
            pass
        else:
            fits = header.size_bytes <= len(data) - at
            if fits and header.base_offset >= end and crc_is_valid(data, at, header):
                return True
        magic_at = data.find(_MAGIC, magic_at + 1)
    return False
