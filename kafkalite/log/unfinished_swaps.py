"""What a crash may leave of a cleaned segment, and how a start brings it to an end.

    00000000000000000000.log.cleaned     being written; goes
    00000000000000000000.log.swap        whole and synced; takes its place
    00000000000000000000.log.deleted     had this place before; goes

A segment of which one file is still called `.cleaned` was not all renamed, so the old ones are all
there. Otherwise they go as far as the swapped segment reaches. Where its last records went, it ends
before they did; then those behind its end stay, if the crash came before they were renamed. They
hold records that are superseded, and nothing is lost.

Source: Kafka's `LogLoader.load`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.log.files import Files
from kafkalite.log.folder_names import offset_of
from kafkalite.log.scan import scan_batches
from kafkalite.log.segment_indexes import LOG_SUFFIX
from kafkalite.types import Offset

CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"


def finish_swaps(files: Files, folder: str, names: list[str]) -> list[str]:
    """Of a folder that is being opened and has these `names`: put in place what was swapped in when
    the last run ended, and remove what was still being written. Which names it has then.

    `CorruptRecordError` for a swapped segment that cannot be read: nothing has changed then."""
    ours = [name for name in names if offset_of(name) is not None]
    cleaned = [name for name in ours if name.endswith(CLEANED_SUFFIX)]
    swapped = [name for name in ours if name.endswith(SWAP_SUFFIX)]
    if not (cleaned or swapped):
        return names
    # A segment of which a file is still called `.cleaned` was not all renamed, so its place is not
    # free yet.
    first_cleaned = min(map(_offset_of, cleaned), default=None)
    valid = [name for name in swapped if first_cleaned is None or _offset_of(name) < first_cleaned]
    replaced = _replaced_by(files, folder, valid)
    for name in (*(name for name in swapped if name not in valid), *cleaned):
        files.remove(f"{folder}/{name}")
    if replaced is not None:
        for name in sorted(set(ours).difference(cleaned, swapped)):
            if replaced[0] <= _offset_of(name) < replaced[1]:
                files.remove(f"{folder}/{name}")
    for name in valid:
        target = f"{folder}/{name.removesuffix(SWAP_SUFFIX)}"
        files.rename(f"{folder}/{name}", target, sync=False)
    files.sync_folder(folder)
    return files.list(folder)


def _replaced_by(files: Files, folder: str, swapped: Iterable[str]) -> tuple[Offset, Offset] | None:
    """The offsets (the second exclusive) that the swapped segments stand for."""
    first: Offset | None = None
    end = Offset(-1)
    for name in swapped:
        if not name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            continue
        base = _offset_of(name)
        first = base if first is None else min(first, base)
        file = files.open_read(f"{folder}/{name}")
        try:
            for batch in scan_batches(file, 0, file.size):
                end = max(end, batch.header.next_offset)
        finally:
            file.close()
    return None if first is None else (first, end)


def _offset_of(name: str) -> Offset:
    """Of one of `ours`."""
    offset = offset_of(name)
    assert offset is not None
    return offset
