"""Takes out of a metadata log what snapshots have made needless: its segments and older snapshots.

While log and snapshots together are larger than `metadata.max.retention.bytes`, or the oldest
snapshot is older than `metadata.max.retention.ms`, that snapshot goes, and with it all segments
below the next one. The newest stays, whatever the limits, and what comes after it.

Source: Kafka's `KafkaRaftLog.maybeClean`, and its `recoverSnapshots` of a start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import pairwise

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import Files
from kafkalite.log.log_cuts import retire_below
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import RetiredFiles, retire, unless_some
from kafkalite.stores.checkpoint import Checkpoint, find_checkpoints, read_timestamp
from kafkalite.stores.metadata_limits import MetadataLogLimits
from kafkalite.stores.new_snapshot import PARTIAL_SUFFIX
from kafkalite.types import TimestampMs

_log = logging.getLogger(__name__)


_IsDue = Callable[[Checkpoint], bool]


def clean(
    files: Files, folder: str, log: PartitionLog, limits: MetadataLogLimits, now: TimestampMs
) -> list[RetiredFiles]:
    """Take out what is due. What the disk refuses stays until the next time; `OSError` when that is
    all."""
    retired: list[RetiredFiles] = []
    with unless_some(retired):
        # An error leaves in it what came before.
        retired.extend(filter(_has_some, _take_out(files, folder, log, limits, now)))
    return retired


def _has_some(retired: RetiredFiles) -> bool:
    return bool(retired.paths)


def _take_out(
    files: Files, folder: str, log: PartitionLog, limits: MetadataLogLimits, now: TimestampMs
) -> Iterator[RetiredFiles]:
    if limits.retention_bytes >= 0:
        found = find_checkpoints(files, folder)
        sizes = {each: files.size(f"{folder}/{each.name}") for each in found}

        def is_too_much(checkpoint: Checkpoint) -> bool:
            if log.size_bytes + sum(sizes.values()) <= limits.retention_bytes:
                return False
            del sizes[checkpoint]
            return True

        yield from _take_out_while(is_too_much, files, folder, log)
    if limits.retention_ms >= 0:

        def is_too_old(checkpoint: Checkpoint) -> bool:
            try:
                made_at = read_timestamp(files, f"{folder}/{checkpoint.name}")
            except CorruptRecordError as error:
                _log.warning("an old snapshot of the metadata stays: %s", error)
                return False
            return now - made_at > limits.retention_ms

        yield from _take_out_while(is_too_old, files, folder, log)


def _take_out_while(
    is_due: _IsDue, files: Files, folder: str, log: PartitionLog
) -> Iterator[RetiredFiles]:
    for oldest, following in pairwise(find_checkpoints(files, folder)):
        if not is_due(oldest):
            return
        _log.info("the metadata log begins at the snapshot %s now", following.name)
        yield retire_below(log, following.end_offset)
        yield RetiredFiles(files, tuple(retire(files, [f"{folder}/{oldest.name}"])))


def remove_leavings(files: Files, folder: str, log: PartitionLog) -> None:
    """What a stop has left of snapshots that were written, or were to go."""
    for name in files.list(folder):
        if name.endswith(PARTIAL_SUFFIX):
            files.remove(f"{folder}/{name}")
    for checkpoint in find_checkpoints(files, folder):
        if checkpoint.end_offset < log.log_start_offset:
            files.remove(f"{folder}/{checkpoint.name}")
