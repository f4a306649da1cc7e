"""States of partitions that a controller's requests told of, for while ZooKeeper cannot be read.

Brokers read the states themselves, and what they are told is no news. But where ZooKeeper dies
right after a commit, some have read it and some have not, and who leads would be in doubt until it
is back. So then what was told holds, where it is newer than what was read, until it is read.

A topic of which nothing was read yet waits for ZooKeeper.

Source: Kafka's `ReplicaManager.becomeLeaderOrFollower`, by which its brokers always act.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafkalite.stores import znodes
from kafkalite.stores.znodes import StateNode
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.types import Uuid


class ToldState(NamedTuple):
    """Of one partition, as it was committed."""

    topic_id: Uuid
    partition: int
    state: StateNode
    partition_epoch: int
    """The version of its znode."""


class ToldStates:
    """What one broker was told and has not read."""

    def __init__(self, view: ZnodesView, fold: Callable[[], object]) -> None:
        """`fold` is called when something has been put into the view."""
        self._view = view
        self._fold = fold
        self._news: dict[str, ToldState] = {}
        """By the paths of the states: at most one of each partition."""
        self._holds = False

    def tell(self, states: Iterable[ToldState]) -> None:
        """By a controller that is not known to be deposed."""
        for told in states:
            topic = self._view.image.topics_by_id.get(told.topic_id)
            if topic is None:
                continue
            path = znodes.state_path(topic.name, told.partition)
            known = self._news.get(path)
            is_newest = known is None or known.partition_epoch < told.partition_epoch
            if is_newest and self._is_news(path, told):
                self._news[path] = told
        if self._holds:
            self._act()

    def disconnected(self) -> None:
        """ZooKeeper cannot be read from now on."""
        self._holds = True
        self._act()

    def read(self) -> None:
        """All there is was read, and will be folded. A server that lags behind the others may have
        shown older states than those that hold."""
        self._news = {path: told for path, told in self._news.items() if self._is_news(path, told)}
        self._holds = self._holds and bool(self._news)
        if self._holds:
            self._put()

    def _is_news(self, path: str, told: ToldState) -> bool:
        node = self._view.node(path)
        return node is not None and node.stat.version < told.partition_epoch

    def _act(self) -> None:
        if self._put():
            self._fold()

    def _put(self) -> bool:
        is_news = False
        for path, told in self._news.items():
            if self._is_news(path, told):
                self._view.put_told(path, told.state, told.partition_epoch)
                is_news = True
        return is_news
