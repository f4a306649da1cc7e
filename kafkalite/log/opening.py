"""From a folder to a log that can be used: whose it is, what of it is sound, what producers did."""

from __future__ import annotations

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.checkpoints import (
    PARTITION_METADATA,
    format_partition_metadata,
    read_topic_id,
)
from kafkalite.log.epochs import LeaderEpochs
from kafkalite.log.files import Files
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.log_folder import LogFolder
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producer_replay import load_producers
from kafkalite.log.producers import PRODUCER_EXPIRATION_MS, ProducerStates
from kafkalite.log.recovery import LoadedSegments, LogLoader
from kafkalite.log.segment import Segment
from kafkalite.log.segments import SegmentList
from kafkalite.log.validation import RecordValidation
from kafkalite.types import ZERO_UUID, Offset, TimestampMs, Uuid

_ZERO = Offset(0)


def open_log(
    files: Files,
    folder: str,
    *,
    config: TopicConfig,
    topic_id: Uuid,
    now: TimestampMs,
    clean: bool,
    recovery_point: Offset = _ZERO,
    log_start_offset: Offset = _ZERO,
    record_validation: RecordValidation = "header",
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
    jitter_seed: int = 0,
    was_compacted: bool = False,
    was_checked: bool = False,
    room: LoadedIndexes | None = None,
) -> PartitionLog:
    """The log in `folder`; without a folder an empty one, that has none until its first append.

    `clean` says that the last stop was a clean one; else all from `recovery_point` on is checked,
    and cut where it is not sound. INCONSISTENT_TOPIC_ID when the folder belongs to another topic of
    the same name; nothing has changed then. A zero `topic_id` takes what the folder has. Only a log
    that is compacted by `config`, or `was_compacted` before, may have holes. `jitter_seed` is any
    number: by it segments roll sooner, each at another time (`segment.jitter.ms`). `was_checked`:
    since an unclean stop it was opened and closed, but not synced. `room` is for indexes.
    """
    exists = files.exists(folder)
    found_id = _claim(files, folder, topic_id) if exists else None
    was_synced = clean and found_id is not None and recovery_point > 0
    if exists:
        epochs = LeaderEpochs.load(files, folder)
        epochs.is_synced = epochs.is_synced and was_synced
        loader = LogLoader(files, folder, config, now, epochs, was_compacted)
        loaded = loader.load(recovery_point, log_start_offset, clean=clean or was_checked)
    else:
        epochs = LeaderEpochs(files, folder, is_kept=False)
        first = Segment.planned(files, folder, log_start_offset, config, now)
        loaded = LoadedSegments([first], log_start_offset, ())
    log_folder = LogFolder(
        files,
        folder,
        found_id or topic_id,
        segments=SegmentList(loaded.segments, room or LoadedIndexes()),
        epochs=epochs,
        exists=exists,
        is_durable=was_synced,
        jitter_seed=jitter_seed,
    )
    log = PartitionLog(
        log_folder,
        config=config,
        end_offset=loaded.end_offset,
        cuts=loaded.cuts,
        producers=ProducerStates(folder.rpartition("/")[2], producer_expiration_ms),
        record_validation=record_validation,
    )
    if exists:
        _begin_at(log, log_start_offset, recovery_point, now)
        log_folder.snapshots.is_synced |= was_synced
    return log


def _begin_at(
    log: PartitionLog, log_start_offset: Offset, recovery_point: Offset, now: TimestampMs
) -> None:
    log.recovery_point = min(recovery_point, log.end_offset)
    log_start_offset = max(log.log_start_offset, log_start_offset)
    log.log_start_offset = log_start_offset
    log.epochs.truncate_from_start(log_start_offset)
    load_producers(log, now)
    log.release_files()  # Of a thousand few are used, and the first use opens again.
    # Those made again after a crash stay until they are written: with them it is in use.
    log.folder.segments.active.held.count()


def _claim(files: Files, folder: str, topic_id: Uuid) -> Uuid | None:
    """Whose the folder was before; None: nobody's, and now it is that topic's."""
    found_id = read_topic_id(files, folder)
    if found_id is None and topic_id != ZERO_UUID:
        content = format_partition_metadata(topic_id)
        files.replace(f"{folder}/{PARTITION_METADATA}", content, sync=False)
    elif found_id is not None and topic_id not in (ZERO_UUID, found_id):
        raise KafkaError(
            ErrorCode.INCONSISTENT_TOPIC_ID, f"{folder} belongs to another topic of that name"
        )
    return found_id
