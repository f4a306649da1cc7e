"""Opens the logs of one folder, each by what the folder's checkpoints say of it.

After a crash, what takes long of that can be done beforehand, the folders side by side: see
`LogOpener.check`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError, KafkaError
from kafkalite.log.claimed_folder import ClaimedFolder
from kafkalite.log.files import Files
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.offset_checkpoints import OffsetCheckpoints
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.recovery import Cut
from kafkalite.log.validation import RecordValidation
from kafkalite.types import Offset, TimestampMs, TopicPartition, Uuid

_ZERO = Offset(0)


class _Checked(NamedTuple):
    """What a check has left of a log."""

    end_offset: Offset
    cuts: tuple[Cut, ...]


class LogOpener:
    """For the folder at the root of `files`."""

    __slots__ = (
        "_checked",
        "_checkpoints",
        "_claimed",
        "_files",
        "_validation",
        "jitter_seed",
        "loaded_indexes",
        "producer_expiration_ms",
    )

    def __init__(
        self,
        files: Files,
        claimed: ClaimedFolder,
        checkpoints: OffsetCheckpoints,
        *,
        record_validation: RecordValidation,
        producer_expiration_ms: int,
    ) -> None:
        self._files = files
        self._claimed = claimed
        self._checkpoints = checkpoints
        self._validation = record_validation
        self._checked: dict[TopicPartition, _Checked] = {}
        """Not opened since."""
        self.producer_expiration_ms = producer_expiration_ms
        self.jitter_seed = 0
        """A random number: see `open_log`."""
        self.loaded_indexes = LoadedIndexes()
        """Of the logs that are open, and the loop's alone."""

    def open(
        self,
        partition: TopicPartition,
        *,
        topic_id: Uuid,
        config: TopicConfig,
        now: TimestampMs,
        is_clean: bool,
    ) -> PartitionLog:
        """See `open_log`. `is_clean`: it was closed cleanly, however the others were left."""
        self._checkpoints.open(partition)
        clean = is_clean or self._claimed.was_clean
        log = self._open(
            self._files, partition, topic_id, config, now, clean=clean, room=self.loaded_indexes
        )
        try:
            self._checkpoints.limit_cleaner_offset(partition, log.end_offset)
        except OSError:
            log.release_files()
            raise
        return log

    def check(
        self, partition: TopicPartition, *, topic_id: Uuid, config: TopicConfig, now: TimestampMs
    ) -> None:
        """After a crash, and before it is opened: scan it, cut it, and write what a clean stop
        writes. In a worker that has the folder's logs for itself meanwhile. What keeps this one
        from being opened is told when it is."""
        files = self._files.apart()
        with suppress(OSError, CorruptRecordError, InvariantError, KafkaError):
            log = self._open(files, partition, topic_id, config, now, clean=False)
            log.close()
            self._checked[partition] = _Checked(log.end_offset, log.cuts)

    def _open(
        self,
        files: Files,
        partition: TopicPartition,
        topic_id: Uuid,
        config: TopicConfig,
        now: TimestampMs,
        *,
        clean: bool,
        room: LoadedIndexes | None = None,
    ) -> PartitionLog:
        checkpoints = self._checkpoints
        recovery_point = checkpoints.recovery_points.get(partition, _ZERO)
        checked = self._checked.pop(partition, None)
        if checked is not None:
            recovery_point = min(recovery_point, checked.end_offset)
        log = open_log(
            files,
            str(partition),
            config=config,
            topic_id=topic_id,
            now=now,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=checkpoints.log_starts.get(partition, _ZERO),
            record_validation=self._validation,
            producer_expiration_ms=self.producer_expiration_ms,
            jitter_seed=self.jitter_seed,
            was_compacted=partition in checkpoints.cleaner_offsets,
            was_checked=checked is not None,
            room=room,
        )
        if checked is not None:
            log.cuts = (*checked.cuts, *log.cuts)
        return log
