"""Deletions that have begun are finished when all brokers with replicas have said that they keep
none: those that are away say it when they are back.

Source: Kafka's `TopicDeletionManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from kafkalite.metadata.image import TopicImage
from kafkalite.ports.zookeeper import Check, Refused, ZooKeeperSession
from kafkalite.stores import znodes_deletions
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_commit import ZnodesCommit

_log = logging.getLogger(__name__)

Stop = Callable[[TopicImage, Callable[[], None]], None]
"""Has brokers drop their replicas of a topic; calls back when all of them have."""


class Deletions:
    """Of one term."""

    def __init__(
        self,
        zookeeper: ZooKeeperSession,
        view: ZnodesView,
        fence: Check,
        stop: Stop,
        on_gone: Callable[[str], None],
    ) -> None:
        """`on_gone` gets the name of a topic of which nothing is left."""
        self._zookeeper = zookeeper
        self._view = view
        self._fence = fence
        self._stop = stop
        self._on_gone = on_gone
        self._asked: dict[str, None] = {}
        self._stopped: dict[str, None] = {}
        self._is_under_way = False

    def look(self) -> None:
        """Go on with all that have begun."""
        going = self._view.going
        for name in [name for name in self._asked if name not in going]:  # Whoever did it.
            self._forget(name)
        for name, topic in tuple(going.items()):
            if name not in self._asked:
                _log.info("Topic %s is deleted when all its brokers have dropped it", name)
                self._asked[name] = None
                self._stop(topic, partial(self._was_stopped, name))
        self._finish()

    def _was_stopped(self, name: str) -> None:
        self._stopped[name] = None
        self._finish()

    def _finish(self) -> None:
        """One after the other. What is refused is tried again with the next look."""
        view = self._view
        name = next((name for name in self._stopped if name in view.going), None)
        topic = None if name is None else view.topic_node(name)
        if name is None or topic is None or self._is_under_way:
            return  # One that somebody else has removed is still read, then comes the next look.

        def done(refused: Refused | None) -> None:
            self._is_under_way = False
            if refused is None:
                self._forget(name)
                self._finish()
            else:
                _log.debug("Topic %s is there still: %s", name, refused.failure.value)

        self._is_under_way = True
        folders = view.partition_folders.get(name)
        operations = znodes_deletions.finish(name, topic, view.nodes, folders)
        ZnodesCommit(self._zookeeper, view, operations, self._fence, done).send()

    def _forget(self, name: str) -> None:
        self._asked.pop(name, None)
        self._stopped.pop(name, None)
        self._on_gone(name)
