"""What others write for the controller to act on: new topics and partitions, wishes of tools.

Kafka's old tools write these znodes and do not wait; brokers of Kafka make topics so. Each is told
to the controller once in its term.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from kafkalite.metadata.store import (
    ForeignEdit,
    LeadersWanted,
    ReplicasWanted,
    TopicAssigned,
    TopicUnwanted,
)
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.zookeeper import Delete, Operation, SetData
from kafkalite.stores import znodes
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.types import BrokerId, TopicPartition

_log = logging.getLogger(__name__)

MOST_NOTIFICATIONS: Final = 100
"""Of settings that changed. Kafka's brokers remove them after 15 minutes."""
_LEAST_CLEARED = 100


class ForeignEdits:
    """Of one term."""

    def __init__(self, view: ZnodesView, entropy: Entropy, *, deletes_topics: bool = True) -> None:
        self._view = view
        self._entropy = entropy
        self._deletes_topics = deletes_topics
        self._told: dict[str, int] = {}
        """Znodes by path: the transaction that wrote what was told. Those that are gone go when
        there may be as many of them as of others."""
        self._clears_at = _LEAST_CLEARED

    def news(self) -> Iterator[ForeignEdit]:
        """What was not told yet."""
        yield from self._topics()
        yield from self._deletions()
        yield from self._elections()
        yield from self._reassignments()

    def failures(self) -> tuple[BrokerId, ...]:
        """Brokers that have lost a log folder: each is to be asked what of its replicas is left."""
        brokers: dict[BrokerId, None] = {}
        for name in self._view.below(znodes.FOLDER_EVENTS):
            path = f"{znodes.FOLDER_EVENTS}/{name}"
            node = self._view.node(path)
            if node is not None and self._tell(path):
                try:
                    brokers[znodes.read_folder_event(node.data)] = None
                except ValueError as error:
                    _log.warning("%s is passed over: %s", path, error)
        return tuple(brokers)

    def done(self) -> Iterator[Operation]:
        """Wishes that are fulfilled, or can't be: their znodes go."""
        view = self._view
        for name in view.below(znodes.DELETE_TOPICS):
            if view.topic_node(name) is None or not self._deletes_topics:
                yield Delete(f"{znodes.DELETE_TOPICS}/{name}")
        if view.node(znodes.PREFERRED_ELECTION) is not None and not self._is_news(
            znodes.PREFERRED_ELECTION
        ):
            yield Delete(znodes.PREFERRED_ELECTION)
        for name in view.incomplete:
            topic, node = view.image.topics.get(name), view.topic_node(name)
            raw = view.node(znodes.topic_path(name))
            if topic is not None and node is not None and raw is not None and node.id is None:
                data = znodes.write_topic(node._replace(id=topic.id))
                yield SetData(znodes.topic_path(name), data, raw.stat.version)
        for name in view.config_changes[:-MOST_NOTIFICATIONS]:
            yield Delete(f"{znodes.CONFIG_CHANGES}/{name}")
        for name in view.below(znodes.FOLDER_EVENTS):
            if not self._is_news(f"{znodes.FOLDER_EVENTS}/{name}"):
                yield Delete(f"{znodes.FOLDER_EVENTS}/{name}")
        yield from self._reassigned()

    def _reassigned(self) -> Iterator[Operation]:
        wanted = self._wanted()
        node = self._view.node(znodes.REASSIGN)
        if node is None:
            return
        left = {each: to for each, to in wanted.items() if not self._is_there(each, to)}
        if not left:
            yield Delete(znodes.REASSIGN, node.stat.version)
        elif left != wanted:
            data = znodes.write_reassignments(left.items())
            yield SetData(znodes.REASSIGN, data, node.stat.version)

    def _topics(self) -> Iterator[TopicAssigned]:
        view = self._view
        for name in view.incomplete:
            node = view.topic_node(name)
            topic = view.image.topics.get(name)
            known = 0 if topic is None else len(topic.partitions)
            assert node is not None
            is_unwanted = view.node(f"{znodes.DELETE_TOPICS}/{name}") is not None
            if is_unwanted or len(node.partitions) <= known:
                continue
            if not self._tell(znodes.topic_path(name)):
                continue
            yield TopicAssigned(
                name,
                node.id or self._entropy.uuid(),
                tuple(each.replicas for each in node.partitions),
                known,
                tuple(view.config_of_topic(name).items()),
            )

    def _deletions(self) -> Iterator[TopicUnwanted]:
        if not self._deletes_topics:
            return
        for name in self._view.below(znodes.DELETE_TOPICS):
            if name in self._view.image.topics and self._tell(f"{znodes.DELETE_TOPICS}/{name}"):
                yield TopicUnwanted(name)

    def _elections(self) -> Iterator[LeadersWanted]:
        node = self._view.node(znodes.PREFERRED_ELECTION)
        if node is None or not self._tell(znodes.PREFERRED_ELECTION):
            return
        try:
            yield LeadersWanted(znodes.read_partitions(node.data))
        except ValueError as error:
            _log.warning("%s is passed over: %s", znodes.PREFERRED_ELECTION, error)

    def _reassignments(self) -> Iterator[ReplicasWanted]:
        wanted = self._wanted()
        if wanted and self._tell(znodes.REASSIGN):
            yield ReplicasWanted(tuple(wanted.items()))

    def _wanted(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        node = self._view.node(znodes.REASSIGN)
        if node is None:
            return {}
        try:
            return znodes.read_reassignments(node.data)
        except ValueError as error:
            _log.warning("%s is passed over: %s", znodes.REASSIGN, error)
            return {}

    def _is_there(self, wanted: TopicPartition, to: tuple[BrokerId, ...]) -> bool:
        """Nothing is left to do for it, since it was told."""
        if self._is_news(znodes.REASSIGN):
            return False
        partition = self._view.image.partition(wanted.topic, wanted.partition)
        return partition is None or (
            partition.replicas == to
            and not partition.adding_replicas
            and not partition.removing_replicas
        )

    def _tell(self, path: str) -> bool:
        """Whether it is news; not any more after this."""
        news = self._is_news(path)
        node = self._view.node(path)
        if node is not None:
            self._told[path] = node.stat.mzxid
            if len(self._told) > self._clears_at:
                self._told = {
                    each: zxid for each, zxid in self._told.items() if self._view.node(each)
                }
                self._clears_at = max(2 * len(self._told), _LEAST_CLEARED)
        return news

    def _is_news(self, path: str) -> bool:
        node = self._view.node(path)
        return node is not None and self._told.get(path) != node.stat.mzxid
