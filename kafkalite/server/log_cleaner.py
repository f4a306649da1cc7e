"""Compacts logs, the filthiest first. What is done to one, `log.compaction` says; here is when, and
how fast: one step after the other goes to a worker, and between two of them the loop goes on.

A log with damaged records is not tried again until the next start; one that the disk refused is,
a while later.

Kafka differs: a disk that refuses takes the whole log folder offline. Here the log stays as it is,
and is told of once.

Kafka differs: the cleaners' threads, memory and rate are for all log folders together. Here each
folder has its own.

Source: Kafka's `LogCleaner` and `LogCleanerManager`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.workers import Workers
from kafkalite.server.partition import Partition
from kafkalite.types import Offset, TimestampMs, TopicPartition

if TYPE_CHECKING:  # Loaded when there is something to clean.
    from kafkalite.log.compaction import LogCleaning
    from kafkalite.log.compaction_pieces import Step
    from kafkalite.log.compaction_plan import LogToClean

_log = logging.getLogger(__name__)

PER_TURN = 64
"""Partitions measured in one turn of the loop. Few of them have anything to clean."""
PIECE_BYTES = 64 << 10
"""The most that a worker reads in one step, whatever `log.cleaner.io.buffer.size` allows: it holds
the interpreter up for about a millisecond with it, and so the loop."""
RETRY_MS = 60_000
"""After how long a log is tried again that the disk refused to have cleaned."""


class _Candidate(NamedTuple):
    key: TopicPartition
    to_clean: LogToClean


class _Refused(NamedTuple):
    """A log that could not be cleaned."""

    log: PartitionLog
    until_ms: TimestampMs | None
    """None: for good."""


class LogCleaner:
    """Looks, cleans, looks again at once; and after `log.cleaner.backoff.ms` when all is clean."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        directory: LogDirectory,
        config: BrokerConfig,
        *,
        remove_later: Callable[[RetiredFiles, int], None],
        write_offsets: Callable[[], None],
        sync_metadata: Callable[[], None],
    ) -> None:
        """`remove_later` is given files and after how many milliseconds they may go;
        `write_offsets` is called when there is something new in the checkpoint. `sync_metadata`:
        see `Storage`."""
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._directory = directory
        self._config = config
        self._remove_later = remove_later
        self._write_offsets = write_offsets
        self._sync_metadata = sync_metadata
        self._partitions: Callable[[], Iterable[Partition]] = tuple
        self._left: deque[Partition] = deque()
        self._filthiest: _Candidate | None = None
        self._cleaning: set[TopicPartition] = set()
        self._refused: dict[TopicPartition, _Refused] = {}
        self._told: dict[TopicPartition, str] = {}
        self._free_at_ms = 0.0
        """When what was read and written so far is within the rate."""
        self._timer: Timer | None = None
        self._stopping = asyncio.Event()

    def start(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Clean from now on. `partitions`: those that are in use at the moment."""
        self._partitions = partitions
        if self._config.log_cleaner_enable:
            self._look_after(self._config.log_cleaner_backoff_ms)

    def configure(self, config: BrokerConfig) -> None:
        """Follow new settings from the next step on; `log.cleaner.enable` is of the start."""
        self._config = config

    def stop(self) -> None:
        """Begin nothing more. What is being cleaned stays as it was once its step has ended; its
        task group waits for that."""
        self._stopping.set()
        self._left.clear()
        if self._timer is not None:
            self._timer.cancel()

    # Look.

    def _look_after(self, delay_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._stopping.is_set():
            self._timer = self._clock.call_at(self._clock.now_ms() + delay_ms, self._look)

    def _look(self) -> None:
        if not self._left:
            self._filthiest = None
            self._left.extend(self._partitions())
        for _ in range(min(PER_TURN, len(self._left))):
            self._measure(self._left.popleft())
        if self._left:
            self._look_after(0)
            return
        self._forget_those_gone()
        self._write_offsets()
        found = self._filthiest
        if found is not None and len(self._cleaning) < self._config.log_cleaner_threads:
            self._cleaning.add(found.key)
            self._tasks.create_task(self._clean(found))
            self._look_after(0)
        else:
            self._look_after(self._config.log_cleaner_backoff_ms)

    def _measure(self, partition: Partition) -> None:
        """See whether it is the filthiest so far."""
        log = partition.log
        segments = log.folder.segments
        if not log.config.is_compacted or segments.active.base_offset == segments.first_offset:
            return
        key = TopicPartition(partition.topic, partition.index)
        now = self._clock.now_ms()
        if key in self._cleaning or self._is_refused(key, log, now):
            return
        from kafkalite.log.compaction_plan import find_cleanable

        offsets = self._directory.checkpoints.cleaner_offsets
        try:
            found = find_cleanable(
                log,
                checkpoint=offsets.get(key),
                high_watermark=partition.high_watermark,
                now=now,
            )
        except (OSError, CorruptRecordError) as error:
            self._refuse(key, log, error)
            return
        if found.checkpoint_is_wrong:
            if not log.config.is_deleted_by_age:
                _log.warning(
                    "%s: it cannot have been cleaned up to offset %d; cleaning from %d on",
                    log.name,
                    offsets[key],
                    found.first_dirty_offset,
                )
            offsets[key] = found.first_dirty_offset
        best = self._filthiest
        if found.is_due and (best is None or found.dirty_ratio > best.to_clean.dirty_ratio):
            self._filthiest = _Candidate(key, found)

    def _is_refused(self, key: TopicPartition, log: PartitionLog, now: TimestampMs) -> bool:
        refused = self._refused.get(key)
        if refused is None or refused.log is not log:
            return False
        return refused.until_ms is None or now < refused.until_ms

    def _forget_those_gone(self) -> None:
        logs = self._directory.logs
        for key in [key for key, (log, _) in self._refused.items() if logs.get(key) is not log]:
            del self._refused[key]
            self._told.pop(key, None)

    # Clean.

    async def _clean(self, found: _Candidate) -> None:
        key, log = found.key, found.to_clean.log
        job = self._job(found.to_clean)
        offsets = self._directory.checkpoints.cleaner_offsets
        try:
            if found.to_clean.was_cut:
                return  # Since it was measured: it is measured again.
            if key not in offsets:
                offsets[key] = found.to_clean.first_dirty_offset
                self._write_offsets()  # From the swap on the log has holes, whatever comes of it.
            self._sync_metadata()
            with closing(job.steps()) as steps:
                for step in steps:
                    await self._run(step)
                    await self._throttle(step.size_bytes)
                    if self._stopping.is_set() or self._directory.logs.get(key) is not log:
                        return
            self._cleaned(key, found.to_clean, job)
        except Exception as error:  # noqa: BLE001  # One log must not end the cleaning of all.
            if not found.to_clean.was_cut:  # What a worker read there may be short.
                self._refuse(key, log, error)
        finally:
            self._cleaning.discard(key)
            if not self._left:
                self._look_after(0)

    def _job(self, to_clean: LogToClean) -> LogCleaning:
        from kafkalite.log.compaction import LogCleaning
        from kafkalite.log.compaction_records import OffsetMap

        config, topic = self._config, to_clean.log.config
        cleaners = max(config.log_cleaner_threads, 1)
        return LogCleaning(
            self._directory.files,
            to_clean,
            offsets=OffsetMap.within(
                config.log_cleaner_dedupe_buffer_size // cleaners,
                config.log_cleaner_io_buffer_load_factor,
            ),
            # As in Kafka, half of it is for reading.
            piece_bytes=min(config.log_cleaner_io_buffer_size // cleaners // 2, PIECE_BYTES),
            now=self._clock.now_ms(),
            on_retired=lambda retired: self._remove_later(retired, topic.file_delete_delay_ms),
        )

    async def _run(self, step: Step) -> None:
        """Its files are let go of only once the worker is done, whoever gives up waiting."""
        running = asyncio.ensure_future(self._workers.run(step.run))
        try:
            await asyncio.shield(running)
        finally:
            if not running.done():
                await asyncio.wait([running])

    async def _throttle(self, size_bytes: int) -> None:
        rate = max(self._config.log_cleaner_io_max_bytes_per_second, 1.0)
        now = self._clock.now_ms()
        self._free_at_ms = max(self._free_at_ms, now) + size_bytes / rate * 1000
        if self._free_at_ms > now + 1:
            with suppress(TimeoutError):
                await self._clock.wait(self._stopping.wait(), int(self._free_at_ms))

    def _cleaned(self, key: TopicPartition, to_clean: LogToClean, job: LogCleaning) -> None:
        self._directory.checkpoints.cleaner_offsets[key] = Offset(job.end_offset)
        self._told.pop(key, None)
        _log.info(
            "%s: compacted from offset %d up to %d, %d bytes became %d",
            to_clean.log.name,
            to_clean.first_dirty_offset,
            job.end_offset,
            job.read_bytes,
            job.written_bytes,
        )
        if job.keyless:
            _log.warning(
                "%s: %d records without a key were dropped", to_clean.log.name, job.keyless
            )
        if job.oversized:
            _log.warning(
                "%s: %d batches are too large to compact, and stay",
                to_clean.log.name,
                job.oversized,
            )

    def _refuse(self, key: TopicPartition, log: PartitionLog, error: Exception) -> None:
        from kafkalite.log.compaction import CleaningAbortedError

        if isinstance(error, CleaningAbortedError) or self._directory.logs.get(key) is not log:
            return
        is_disk = isinstance(error, OSError)
        until_ms = TimestampMs(self._clock.now_ms() + RETRY_MS) if is_disk else None
        self._refused[key] = _Refused(log, until_ms)
        if self._told.get(key) == str(error):
            return
        self._told[key] = str(error)
        if is_disk:
            _log.warning("%s is not compacted for now: %s", log.name, error)
        elif isinstance(error, CorruptRecordError):
            _log.warning("%s is not compacted until the next start: %s", log.name, error)
        else:
            _log.error(
                "%s is not compacted until the next start: %s", log.name, error, exc_info=error
            )
