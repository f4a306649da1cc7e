"""What takes records out of a log again: at its start what was deleted, at its end what its leader
does not have.

A start only moves: the segments below it stay until somebody lets go of them (`retention`). What is
cut at the end is gone from the disk at once, since other records get its offsets.

Source: Kafka's `UnifiedLog.maybeIncrementLogStartOffset`, `truncateTo`, `truncateFullyAndStartAt`.
"""

from __future__ import annotations

from kafkalite.errors import InvariantError
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producer_replay import load_producers
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs

_ZERO = Offset(0)


def delete_records(log: PartitionLog, offset: Offset) -> None:
    """Have it begin at `offset`, unless it does later already.

    Producers keep what is known of them, and segments stay until `retire_below`: the checkpoint of
    log starts tells where to begin in them.
    """
    if offset > log.end_offset:
        raise InvariantError(
            f"{log.folder.path}: a log of {log.end_offset} cannot begin at {offset}"
        )
    if offset > log.log_start_offset:
        log.log_start_offset = offset
        log.epochs.truncate_from_start(offset)


def retire_below(log: PartitionLog, offset: Offset) -> RetiredFiles:
    """Have it begin at `offset` or later, and let go of all segments below it but the active one.

    What the disk did not let go stays; `OSError` when that is all."""
    delete_records(log, offset)
    return log.folder.retire_below(offset)


def truncate_to(log: PartitionLog, offset: Offset, now: TimestampMs = NO_TIMESTAMP) -> None:
    """Drop every record at or above `offset`, and what else stands in the same batch.

    Durable when it returns: what was dropped does not come back, whatever is appended next. The
    recovery point may have fallen, which the checkpoint must tell before the next append. After an
    `OSError` memory and disk may disagree until the log is opened again.
    """
    if offset >= log.end_offset:
        # A leader without records has noted its epoch, of which another one knows nothing.
        log.epochs.truncate_from_end(log.end_offset)
        return
    folder = log.folder
    folder.make()
    if folder.segments.remove_above(offset):
        folder.segments.active.truncate_to(offset, now)
    else:
        folder.add_segment(offset, log.config, now)
    log.ends_at(offset)
    log.epochs.truncate_from_end(offset)
    log.epochs.save(sync=True)
    load_producers(log, now)
    folder.sync_names()


def restart_at(log: PartitionLog, offset: Offset, now: TimestampMs) -> None:
    """Drop every record, and begin anew at `offset`. Durable when it returns; the recovery point
    has changed, which the checkpoint must tell before the next append."""
    log.folder.make()
    truncate_to(log, _ZERO, now)
    segments = log.folder.segments
    if segments.first_offset != offset:
        segments.remove_above(Offset(-1))
        log.folder.add_segment(offset, log.config, now)
    log.begins_at(offset)
    load_producers(log, now)
    log.folder.sync_names()
