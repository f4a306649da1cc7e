"""Keeps a view in step with ZooKeeper: reads all there is, watches it, reads again what changed.

Every znode that the image needs is watched, by every broker. It reads in this order: who decides,
what tools ask for, topics, deletions, brokers alive, and for each topic its assignment, its
settings and its states.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from kafkalite.ports.zookeeper import Children, Failure, Node, Stat, ZooKeeperSession
from kafkalite.stores import znodes, znodes_users
from kafkalite.stores.znodes_view import ZnodesView

_log = logging.getLogger(__name__)

_ALWAYS: Final = (
    znodes.CONTROLLER,
    znodes.CONTROLLER_EPOCH,
    znodes.REASSIGN,
    znodes.PREFERRED_ELECTION,
    znodes.PRODUCER_IDS,
)
"""Watched whether they are there or not."""
_LISTED: Final = (znodes.DELETE_TOPICS, znodes.BROKER_IDS, znodes.FOLDER_EVENTS)
"""Folders whose children are read, each."""
_CONFIG_FOLDERS: Final = (f"{znodes.CONFIG}/brokers",)
"""Read as a whole at first; then notifications tell what to read. A topic's are read with it, and
those of users are not watched, for they may be many."""
_OWN_FOLDERS: Final = (f"{znodes.CONFIG}/groups", f"{znodes.CONFIG}/client-metrics")
"""Of settings that a Kafka 3.9 does not know, and wants no notifications of: they are watched. They
are made with the first such setting."""


class ZnodesReader:
    """For one connection of one session: when it is lost, `read_all` again."""

    def __init__(
        self, zookeeper: ZooKeeperSession, view: ZnodesView, on_settled: Callable[[], None]
    ) -> None:
        """`on_settled` is called when nothing is under way any more."""
        self._zookeeper = zookeeper
        self._view = view
        self._on_settled = on_settled
        self._under_way = 0
        self._failed = False
        self._children: dict[str, frozenset[str]] = {}
        self._watched: dict[str, int] = {}
        """By topic: of how many partitions states are watched. A commit of this session's own puts
        topics into the view, so the view does not tell."""
        self._finding: set[str] = set()
        self._last_change = ""
        """The newest notification of settings that was acted on."""

    def read_all(self) -> None:
        """Everything anew."""
        self._failed = False
        self._children.clear()
        self._watched.clear()
        for path in _ALWAYS:
            self._read(path)
        self._list(znodes.TOPICS, self._topics_listed)
        for path in _LISTED:
            self._list(path, self._listed)
        for path in _CONFIG_FOLDERS:
            self._list(path, self._listed, watch=False)
        for path in _OWN_FOLDERS:
            self._list(path, self._listed)
        self._list(znodes_users.USERS, self._users_listed, watch=False)
        self._list(znodes.CONFIG_CHANGES, self._changes_listed)

    def changed(self, path: str) -> None:
        """A watch told of it."""
        if path in _OWN_FOLDERS:
            self._list(path, self._listed)
        elif path in _ALWAYS or self._is_expected(path):
            self._read(path)
        else:
            self._put(path, None)

    def children_changed(self, path: str) -> None:
        """A watch told of it."""
        if path == znodes.TOPICS:
            self._list(path, self._topics_listed)
        elif path == znodes.CONFIG_CHANGES:
            self._list(path, self._changes_listed)
        elif path in _LISTED or path in _OWN_FOLDERS:
            self._list(path, self._listed)

    @property
    def failed(self) -> bool:
        """Whether an answer is missing since the last `read_all`: the view is not whole."""
        return self._failed

    def _is_expected(self, path: str) -> bool:
        parts = path.split("/")
        if path.startswith(f"{znodes.TOPICS}/"):
            topic = self._view.topic_node(parts[3])
            if len(parts) == 4:
                return parts[3] in self._children.get(znodes.TOPICS, ())
            return topic is not None and int(parts[5]) < len(topic.partitions)
        return parts[-1] in self._children.get("/".join(parts[:-1]), ())

    # One znode.

    def _read(self, path: str) -> None:
        self._begin()
        self._zookeeper.get(path, partial(self._was_read, path), watch=True)

    def _was_read(self, path: str, found: Node | Failure) -> None:
        if isinstance(found, Node):
            self._put(path, found)
        elif found is Failure.NO_NODE:
            self._put(path, None)
            if path in _ALWAYS or self._is_expected(path):
                self._begin()
                self._zookeeper.exists(path, partial(self._was_looked_for, path), watch=True)
        else:
            self._failed = True
        self._end()

    def _was_looked_for(self, path: str, found: Stat | Failure | None) -> None:
        """It was made between the two looks, or will be and tell."""
        if isinstance(found, Stat):
            self._read(path)
        elif isinstance(found, Failure):
            self._failed = True
        elif path.endswith("/state"):
            self._find_folders(path.split("/")[3])
        self._end()

    def _put(self, path: str, node: Node | None) -> None:
        parts = path.split("/")
        is_topic = len(parts) == 4 and path.startswith(f"{znodes.TOPICS}/")
        if is_topic and node is None:
            self._drop_topic(parts[3])
            return
        self._view.put(path, node)
        if is_topic:
            self._watch_states(parts[3])

    def _watch_states(self, topic: str) -> None:
        """Of those partitions that have come since the last look."""
        node = self._view.topic_node(topic)
        if node is not None:
            for index in range(self._watched.get(topic, 0), len(node.partitions)):
                self._read(znodes.state_path(topic, index))
            self._watched[topic] = len(node.partitions)

    # Folders.

    def _list(
        self, path: str, on_listed: Callable[[str, Children], None], *, watch: bool = True
    ) -> None:
        def listed(found: Children | Failure) -> None:
            if isinstance(found, Children):
                self._view.saw(found.stat.pzxid)
                self._view.folders.add(path)
                on_listed(path, found)
            elif found is not Failure.NO_NODE:
                self._failed = True
            elif path in _OWN_FOLDERS:
                self._await_folder(path)
            self._end()

        self._begin()
        self._zookeeper.children(path, listed, watch=watch)

    def _await_folder(self, path: str) -> None:
        def looked(found: Stat | Failure | None) -> None:
            if isinstance(found, Stat):  # It was made between the two looks.
                self._list(path, self._listed)
            elif isinstance(found, Failure):
                self._failed = True
            self._end()

        self._begin()
        self._zookeeper.exists(path, looked, watch=True)

    def _news(self, path: str, found: Children) -> tuple[list[str], list[str]]:
        """Which names are new, and which are gone."""
        before = self._children.get(path, frozenset())
        self._children[path] = frozenset(found.names)
        new = [name for name in found.names if name not in before]
        return new, sorted(before.difference(found.names))

    def _listed(self, path: str, found: Children) -> None:
        new, gone = self._news(path, found)
        for name in gone:
            self._view.put(f"{path}/{name}", None)
        for name in new:
            self._read(f"{path}/{name}")
        self._drop_others(path, found)

    def _users_listed(self, path: str, found: Children) -> None:
        for name in found.names:
            self.read_config(f"{path}/{name}")
        self._drop_others(path, found)

    def _drop_others(self, path: str, found: Children) -> None:
        names = frozenset(found.names)
        for known in self._view.below(path):
            if known not in names:
                self._view.put(f"{path}/{known}", None)

    def _topics_listed(self, path: str, found: Children) -> None:
        new, _ = self._news(path, found)
        for name in self._view.topic_names():
            if name not in self._children[path]:
                self._drop_topic(name)
        for name in new:
            self._watch_states(name)
            self._read(f"{path}/{name}")
            self.read_config(f"{znodes.CONFIG}/topics/{name}")

    def _drop_topic(self, name: str) -> None:
        """Its settings may have been left behind."""
        self._watched.pop(name, None)
        if self._view.topic_node(name) is not None:
            self._view.drop_topic(name)
            self.read_config(f"{znodes.CONFIG}/topics/{name}")

    def read_config(self, path: str) -> None:
        """Settings are not watched: what others have made of these."""
        self._begin()
        self._zookeeper.get(path, partial(self._config_was_read, path))

    def _config_was_read(self, path: str, found: Node | Failure) -> None:
        if isinstance(found, Node) or found is Failure.NO_NODE:
            self._view.put(path, found if isinstance(found, Node) else None)
        else:
            self._failed = True
        self._end()

    def _changes_listed(self, path: str, found: Children) -> None:
        """What they name is read. Those from before the first look say nothing new."""
        self._view.config_changes = found.names
        is_first = path not in self._children
        self._news(path, found)
        fresh = [] if is_first else [name for name in found.names if name > self._last_change]
        self._last_change = max(found.names, default=self._last_change)
        for name in fresh:
            self._begin()
            self._zookeeper.get(f"{path}/{name}", self._change_was_read)

    def _change_was_read(self, found: Node | Failure) -> None:
        if isinstance(found, Node):
            try:
                path = znodes.read_config_change(found.data)
            except ValueError as error:
                _log.warning("A notification of settings is passed over: %s", error)
            else:
                self.read_config(path)
        self._end()

    def _find_folders(self, topic: str) -> None:
        """A state is missing: which of the folders above it are there? Asked once for all that are
        missing at a time."""
        if topic in self._finding:
            return

        def listed(found: Children | Failure) -> None:
            self._finding.discard(topic)
            if isinstance(found, Children):
                self._view.partition_folders[topic] = frozenset(found.names)
            else:
                self._view.partition_folders.pop(topic, None)
            self._end()

        self._finding.add(topic)
        self._begin()
        self._zookeeper.children(znodes.partitions_path(topic), listed)

    def _begin(self) -> None:
        self._under_way += 1

    def _end(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._on_settled()
