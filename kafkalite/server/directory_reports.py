"""Tells the controller which log folder each replica is in, and which folders have failed.

Source: Kafka's `AssignmentsManager`, and the heartbeats' `offlineLogDirs`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalite.errors import KafkaError
from kafkalite.metadata.image import BrokerImage
from kafkalite.ports.clock import Clock, Timer
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.server.partition_homes import Settled
from kafkalite.types import Uuid

if TYPE_CHECKING:
    from kafkalite.controller.events import DirectoriesKnown, ReplicaDirectory

_log = logging.getLogger(__name__)

RETRY_MS = 1_000
"""After the controller refused, or was not there."""
MOST_AT_ONCE = 2_250
"""Replicas in one report, as Kafka has it."""


class DirectoryReports:
    """Of one broker. What it has been told is reported in the next turn of the loop, together."""

    def __init__(
        self, controller: ControllerDriver, me: Callable[[], BrokerImage | None], clock: Clock
    ) -> None:
        """`me`: this broker as the metadata has it; None until it has registered."""
        self._controller = controller
        self._me = me
        self._clock = clock
        self._settled: dict[tuple[Uuid, int], Uuid] = {}
        self._failed: dict[Uuid, None] = {}
        self._timer: Timer | None = None

    def settled(self, settled: Settled) -> None:
        """A replica is in another folder than the metadata has it in."""
        self._settled[settled.topic_id, settled.partition] = settled.directory.id
        self._report_later(0)

    def failed(self, id: Uuid) -> None:
        """A folder is of no use any more."""
        self._failed[id] = None
        self._report_later(0)

    def stop(self) -> None:
        """Report no more; the next start does."""
        if self._timer is not None:
            self._timer.cancel()
        self._settled.clear()
        self._failed.clear()

    def _report_later(self, wait_ms: int) -> None:
        if self._timer is None:
            self._timer = self._clock.call_at(self._clock.now_ms() + wait_ms, self._report)

    def _report(self) -> None:
        # Nothing that a start needs.
        from kafkalite.controller.events import (
            AssignDirectories,
            FailDirectories,
            ReplicaDirectory,
        )

        self._timer = None
        me = self._me()
        if me is None:
            self._report_later(RETRY_MS)
            return
        if not me.log_dirs:  # ZooKeeper has no place for folders: see `folder_failed` of its store.
            self._settled.clear()
            self._failed.clear()
        if self._failed:
            gone = tuple(self._failed)
            self._controller.submit(
                FailDirectories(None, me.id, me.epoch, gone),
                lambda reply: self._answered(reply, lambda: self._forget_failed(gone)),
            )
        if self._settled:
            replicas = tuple(
                ReplicaDirectory(topic_id, partition, directory)
                for (topic_id, partition), directory in list(self._settled.items())[:MOST_AT_ONCE]
            )
            self._controller.submit(
                AssignDirectories(None, me.id, me.epoch, replicas),
                lambda reply: self._answered(reply, lambda: self._forget_settled(replicas)),
            )

    def _answered(self, reply: DirectoriesKnown | KafkaError, forget: Callable[[], None]) -> None:
        if isinstance(reply, KafkaError):
            _log.debug("the controller does not know of log folders yet: %s", reply)
            wait_ms = RETRY_MS
        else:
            forget()
            wait_ms = 0
        if self._failed or self._settled:
            self._report_later(wait_ms)

    def _forget_failed(self, gone: tuple[Uuid, ...]) -> None:
        for id in gone:
            self._failed.pop(id, None)

    def _forget_settled(self, replicas: tuple[ReplicaDirectory, ...]) -> None:
        for each in replicas:
            if self._settled.get((each.topic_id, each.partition)) == each.directory:
                del self._settled[each.topic_id, each.partition]
