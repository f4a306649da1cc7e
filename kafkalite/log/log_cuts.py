"""What takes records out of a log again: at its start what was deleted, at its end what its leader
does not have.

A start only moves: the segments below it stay until somebody lets go of them (`retention`). What is
cut at the end is gone from the disk at once, since other records get its offsets.

Source: Kafka's `UnifiedLog.maybeIncrementLogStartOffset`, `truncateTo`, `truncateFullyAndStartAt`.
"""

from __future__ import annotations

from kafkalite.errors import InvariantError
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producer_replay import read_producers
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
    checkpoint must tell of no recovery point above `offset` before.

    After an `OSError` the log is as it was, or as it is to be: trying again brings it to an end,
    and so does whatever writes to it next.
    """
    folder = log.folder
    folder.settle()
    if offset >= log.end_offset:
        # A leader without records has noted its epoch, of which another one knows nothing.
        log.epochs.truncate_from_end(log.end_offset)
        return
    folder.make()
    last = folder.segments.last_at(offset)
    left = None if last is None else last.read_until(offset)
    producers = read_producers(log, offset if left is None else left.end, now)
    # All is read. What follows cannot fail, up to the disk's part.
    if left is None:
        folder.begin_anew(offset, log.config, now)
    else:
        folder.cut(left, now)
    log.producers.become(producers)
    log.epochs.cut(offset)
    log.ends_at(offset)
    folder.settle()


def restart_at(log: PartitionLog, offset: Offset, now: TimestampMs) -> None:
    """Drop every record, and begin anew at `offset`. Durable when it returns. The checkpoint
    must tell of no recovery point before. `OSError` as above."""
    log.folder.make()
    producers = read_producers(log, Offset(-1), now)  # None, and no snapshots.
    log.folder.begin_anew(offset, log.config, now)
    log.producers.become(producers)
    log.epochs.cut(_ZERO)
    log.begins_at(offset)
    log.folder.settle()
    log.recovery_point = offset
