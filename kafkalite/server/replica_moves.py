"""Moves replicas from one log folder of this broker to another (KIP-113), while they are used.

One piece after the other is copied, of each replica in turn: a worker reads it, and the loop
appends it to the copy. When nothing is lacking any more the copy takes the replica's place, between
two requests. A stop leaves the folders of the copies; the next start sees by them what was to move,
and begins anew.

Kafka differs: it has a thread for each log folder, limited by
`replica.alter.log.dirs.io.max.bytes.per.second`. Here all copying takes turns, without that limit.

Source: Kafka's `ReplicaManager.alterReplicaLogDirs` and `ReplicaAlterLogDirsManager`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from kafkalite.errors import CorruptRecordError, ErrorCode, InvariantError, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import release_parts
from kafkalite.log.follower_log import append_as_follower
from kafkalite.log.future_log import FutureLog, SourceRefusedError
from kafkalite.log.partition_log import PartitionLog
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.server.partition import Partition
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.partition_homes import Settled
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.types import TopicPartition

_log = logging.getLogger(__name__)

PIECE_BYTES = 256 << 10
"""Copied in one step, or one batch: what the loop appends takes less than a millisecond."""
LEAST_SYNC_BYTES = 1 << 20
"""What is synced in a worker before the copy takes its place, and is not left to that moment."""
WAIT_MS = 10
"""Before it is tried again where somebody syncs the log just now."""


class ReplicaMove:
    """One replica on its way."""

    def __init__(self, partition: Partition, directory: LogDirectory, future: FutureLog) -> None:
        self.partition = partition
        self.directory = directory
        """Where it goes."""
        self.future = future
        """The copy: another one when the log changed under it."""
        self.unsynced_bytes = LEAST_SYNC_BYTES

    @property
    def key(self) -> TopicPartition:
        """Whose replica it is."""
        return self.partition.key

    @property
    def log(self) -> PartitionLog:
        """The copy."""
        return self.future.log


class ReplicaMoves:
    """Of one broker."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        entropy: Entropy,
        replicas: ReplicaManager,
        folders: Mapping[str, PartitionFolders],
        *,
        on_settled: Callable[[Settled], None],
        fail: Callable[[InvariantError], None],
    ) -> None:
        """`folders`: by the location of each log folder. `on_settled` is told of replicas that have
        arrived. `fail` ends the broker."""
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._entropy = entropy
        self._replicas = replicas
        self._folders = folders
        self._on_settled = on_settled
        self._fail = fail
        self._moves: dict[TopicPartition, ReplicaMove] = {}
        self._is_running = False
        self._stopped = asyncio.Event()

    def resume(self) -> None:
        """Go on with what the last run left; when the replicas can be asked for."""
        for key, (target, name) in self._replicas.homes.directories.undone_moves.items():
            if self._stopped.is_set():
                return
            try:
                self.begin(self._replicas.find(key.topic, key.partition), target)
            except KafkaError as error:
                _log.warning("%s does not move to %s: %s", key, target.location, error)
            self._remove(key, target, partial(target.doom, name))

    def stop(self) -> None:
        """Begin no more steps; the one under way is waited for by its task group."""
        self._stopped.set()

    @property
    def under_way(self) -> tuple[ReplicaMove, ...]:
        """All of them."""
        return tuple(self._moves.values())

    def begin(self, partition: Partition, target: LogDirectory) -> None:
        """Move it there. Whatever other folder it was on its way to, it does not go there; if it is
        in `target` it stays. `KafkaError(KAFKA_STORAGE_ERROR)` when a disk refuses."""
        key = partition.key
        under_way = self._moves.get(key)
        if under_way is not None:
            if under_way.directory is target:
                return
            del self._moves[key]
            self._discard(under_way)
        if partition.directory is target or self._stopped.is_set():
            return
        try:
            future = self._copy(partition, target)
        except (OSError, SourceRefusedError) as error:
            self._refused(partition, target, error, self._replicas.disk_refused)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        self._moves[key] = ReplicaMove(partition, target, future)
        if not self._is_running:
            self._is_running = True
            self._tasks.create_task(self._run())

    def _copy(self, partition: Partition, target: LogDirectory) -> FutureLog:
        unique, now = self._entropy.uuid(), self._clock.now_ms()
        return FutureLog(partition.key, partition.directory, target, unique, now)

    async def _run(self) -> None:
        try:
            while self._moves and not self._stopped.is_set():
                for key, move in list(self._moves.items()):
                    if self._stopped.is_set():
                        return
                    if self._moves.get(key) is move:
                        await self._step(move)
        finally:
            self._is_running = False
            for move in self._moves.values():  # Some are left when it was stopped.
                move.log.release_files()

    async def _step(self, move: ReplicaMove) -> None:
        try:
            if not self._is_wanted(move):
                self._give_up(move, None)
            elif not move.future.is_current:
                self._discard(move)
                move.future = self._copy(move.partition, move.directory)
            elif not move.future.offset_lag:
                await self._arrive(move)
            else:
                await self._copy_some(move)
        except (OSError, SourceRefusedError, CorruptRecordError, KafkaError) as error:
            self._give_up(move, error)
        except InvariantError as error:
            self.stop()
            self._fail(error)

    def _is_wanted(self, move: ReplicaMove) -> bool:
        """Whether the replica is still there, and where it is to go."""
        live = self._replicas.homes.directories.live
        partition = move.partition
        return (
            move.directory in live
            and partition.directory in live
            and partition.directory.logs.get(move.key) is partition.log
        )

    async def _copy_some(self, move: ReplicaMove) -> None:
        future = move.future
        part = future.read(PIECE_BYTES)
        if part is None:
            future.skip(self._clock.now_ms())
            return
        try:
            data = await self._workers.run(future.bytes_of, part)
        finally:
            release_parts((part,))
        if self._moves.get(move.key) is move and move.future is future and future.is_current:
            move.unsynced_bytes += append_as_follower(
                future.log,
                memoryview(data),
                leader_epoch=move.partition.log.epochs.latest,
                now=self._clock.now_ms(),
            )

    async def _arrive(self, move: ReplicaMove) -> None:
        """All is copied: have it synced, or take the replica's place."""
        log = move.future.log
        if move.unsynced_bytes >= LEAST_SYNC_BYTES:
            move.unsynced_bytes = 0
            sync = log.begin_sync()
            is_durable = False
            try:
                await self._workers.run(sync.run)
                is_durable = True
            finally:
                log.end_sync(sync, is_durable=is_durable)
        elif move.partition.log.is_syncing:
            await self._clock.wait_until(self._clock.now_ms() + WAIT_MS)
        else:
            self._switch(move)

    def _switch(self, move: ReplicaMove) -> None:
        partition, source = move.partition, move.partition.directory
        now = self._clock.now_ms()
        moved = move.future.switch(now)
        del self._moves[move.key]
        partition.moved(moved.log, move.directory, now)
        self._replicas.homes.directories.settle(move.key, move.directory)
        self._on_settled(Settled(partition.topic_id, partition.index, move.directory))
        self._folders[source.location].remove_later(moved.left_behind)
        _log.info("%s has moved from %s to %s", move.key, source.location, move.directory.location)

    def _give_up(self, move: ReplicaMove, error: Exception | None) -> None:
        if self._moves.get(move.key) is move:
            del self._moves[move.key]
        if error is not None:
            _log.error(
                "%s stays in %s: it cannot move to %s: %s",
                move.key,
                move.partition.directory.location,
                move.directory.location,
                error,
            )
        self._discard(move)
        self._refused(move.partition, move.directory, error, self._replicas.upkeep_refused)

    def _refused(
        self,
        partition: Partition,
        target: LogDirectory,
        error: Exception | None,
        tell: Callable[[LogDirectory, OSError], None],
    ) -> None:
        """`tell` which disk it was, if it was one."""
        if isinstance(error, OSError):
            tell(target, error)
        elif isinstance(error, SourceRefusedError) and isinstance(error.__cause__, OSError):
            tell(partition.directory, error.__cause__)

    def _discard(self, move: ReplicaMove) -> None:
        """Have the copy removed."""
        self._remove(move.key, move.directory, move.future.discard)

    def _remove(
        self, key: TopicPartition, directory: LogDirectory, doom: Callable[[], str]
    ) -> None:
        try:
            folder = doom()
        except OSError as error:
            _log.warning("the copy of %s stays until the next start: %s", key, error)
            return
        self._folders[directory.location].remove_later(folder)
