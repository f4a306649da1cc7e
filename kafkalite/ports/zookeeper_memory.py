"""A ZooKeeper ensemble in this process: the twin of `zookeeper_kazoo.py`.

What is asked is done at once, in the order of the calls, and told later: through `deliver`, which a
loop's `call_soon` is, or a queue of a test's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

from kafkalite.ports.zookeeper import (
    ANY_VERSION,
    Changed,
    Check,
    Children,
    ChildrenChanged,
    Connected,
    Create,
    Delete,
    Disconnected,
    Done,
    Expired,
    Failure,
    Node,
    Operation,
    Refused,
    SetData,
    Stat,
    ZooKeeperEvent,
)

Deliver = Callable[[Callable[[], None]], object]
"""Runs what it is given later, in the order in which it was given."""


class _Znode:
    __slots__ = ("children", "data", "made", "stat")

    def __init__(self, data: bytes | None, stat: Stat) -> None:
        self.data = data
        self.stat = stat
        self.children: set[str] = set()
        self.made = 0
        """How many children ever came or went: the next sequential one's number."""

    def copy(self) -> _Znode:
        """As it is now."""
        copy = _Znode(self.data, self.stat)
        copy.children, copy.made = set(self.children), self.made
        return copy


class MemoryZooKeeper:
    """The ensemble, without a chroot."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._zxid = 0
        self._sessions = 0
        self._nodes: dict[str, _Znode] = {"/": _Znode(None, Stat(0, 0, 0, 0, 0))}
        self._live: dict[int, _Session] = {}

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> _Session:
        """See `ZooKeeper`."""
        self._sessions += 1
        session = self._live[self._sessions] = _Session(self, self._sessions, listener)
        session.tell(Connected())
        return session

    # For tests that steer it.

    def expire(self, id: int) -> None:
        """End a session as an ensemble does that no longer hears of it."""
        session = self._live[id]
        session.tell(Expired())
        self.end(session)

    def disconnect(self, id: int) -> None:
        """Cut the connection: what is under way stays without a true answer. `reconnect` later."""
        self._live[id].disconnect()

    def reconnect(self, id: int) -> None:
        """In the same session, without its watches."""
        self._live[id].reconnect()

    # Of sessions.

    def later(self, callback: Callable[[], None]) -> None:
        """Deliver it."""
        self._deliver(callback)

    def find(self, path: str) -> _Znode | None:
        """None when there is no such znode."""
        return self._nodes.get(path)

    def multi(self, owner: int, operations: Sequence[Operation]) -> tuple[Done, ...] | Refused:
        """Do all or none; watches are told of what was done."""
        self._zxid += 1
        done: list[Done] = []
        told: list[tuple[str, bool]] = []
        saved: dict[str, _Znode | None] = {}
        for operation in operations:
            for path in (operation.path, parent_of(operation.path)):
                if path not in saved:
                    node = self._nodes.get(path)
                    saved[path] = None if node is None else node.copy()
            result = self._do(owner, operation, told, saved)
            if isinstance(result, Failure):
                self._restore(saved)
                return Refused(result, operation)
            done.append(result)
        for path, is_parent in told:
            for session in tuple(self._live.values()):
                session.touched(path, is_parent=is_parent)
        return tuple(done)

    def end(self, session: _Session) -> None:
        """The session is over."""
        if self._live.pop(session.id, None) is None:
            return
        session.is_over = True
        owned = [p for p, node in self._nodes.items() if node.stat.ephemeral_owner == session.id]
        for path in sorted(owned, reverse=True):
            self.multi(0, [Delete(path)])

    def _restore(self, saved: dict[str, _Znode | None]) -> None:
        for path, node in saved.items():
            if node is not None:
                self._nodes[path] = node
            else:
                self._nodes.pop(path, None)

    def _do(
        self,
        owner: int,
        operation: Operation,
        told: list[tuple[str, bool]],
        saved: dict[str, _Znode | None],
    ) -> Done | Failure:
        if isinstance(operation, Create):
            return self._create(owner, operation, told, saved)
        node = self._nodes.get(operation.path)
        if node is None:
            return Failure.NO_NODE
        if operation.version not in (ANY_VERSION, node.stat.version):
            return Failure.BAD_VERSION
        match operation:
            case Check():
                return None
            case SetData():
                node.data = operation.data
                node.stat = node.stat._replace(mzxid=self._zxid, version=node.stat.version + 1)
                told.append((operation.path, False))
                return node.stat
            case Delete():
                if node.children:
                    return Failure.NOT_EMPTY
                del self._nodes[operation.path]
                self._parent_changed(operation.path, told).children.discard(operation.path)
                return None
            case _:
                assert_never(operation)

    def _create(
        self,
        owner: int,
        operation: Create,
        told: list[tuple[str, bool]],
        saved: dict[str, _Znode | None],
    ) -> str | Failure:
        path = operation.path
        parent = self._nodes.get(parent_of(path))
        if parent is None:
            return Failure.NO_NODE
        if parent.stat.ephemeral_owner:
            return Failure.OTHER
        if operation.sequential:
            path = f"{path}{parent.made:010d}"
        if path in self._nodes:
            return Failure.NODE_EXISTS
        saved.setdefault(path, None)
        zxid = self._zxid
        stat = Stat(zxid, zxid, zxid, 0, owner if operation.ephemeral else 0)
        self._nodes[path] = _Znode(operation.data, stat)
        self._parent_changed(path, told).children.add(path)
        return path

    def _parent_changed(self, path: str, told: list[tuple[str, bool]]) -> _Znode:
        parent = self._nodes[parent_of(path)]
        parent.made += 1
        parent.stat = parent.stat._replace(pzxid=self._zxid)
        told += [(path, False), (parent_of(path), True)]
        return parent


class _Session:
    """See `ZooKeeperSession`."""

    def __init__(
        self, ensemble: MemoryZooKeeper, id: int, listener: Callable[[ZooKeeperEvent], None]
    ) -> None:
        self._ensemble = ensemble
        self._listener = listener
        self._watched: set[str] = set()
        self._children_watched: set[str] = set()
        self.id = id
        self._connected = True
        self.is_over = False
        self._closed = False

    def get(
        self, path: str, on_done: Callable[[Node | Failure], None], *, watch: bool = False
    ) -> None:
        """See `ZooKeeperSession`."""
        node = self._ensemble.find(path)
        failure = self._failure()
        if failure is not None or node is None:
            self._answer(partial(on_done, failure or Failure.NO_NODE))
            return
        if watch:
            self._watched.add(path)
        self._answer(partial(on_done, Node(node.data, node.stat)))

    def exists(
        self, path: str, on_done: Callable[[Stat | Failure | None], None], *, watch: bool = False
    ) -> None:
        """See `ZooKeeperSession`."""
        node = self._ensemble.find(path)
        failure = self._failure()
        if watch and failure is None:
            self._watched.add(path)
        self._answer(partial(on_done, failure or (None if node is None else node.stat)))

    def children(
        self, path: str, on_done: Callable[[Children | Failure], None], *, watch: bool = False
    ) -> None:
        """See `ZooKeeperSession`."""
        node = self._ensemble.find(path)
        failure = self._failure()
        if failure is not None or node is None:
            self._answer(partial(on_done, failure or Failure.NO_NODE))
            return
        if watch:
            self._children_watched.add(path)
        names = tuple(sorted(child.rpartition("/")[2] for child in node.children))
        self._answer(partial(on_done, Children(names, node.stat)))

    def multi(
        self,
        operations: Sequence[Operation],
        on_done: Callable[[tuple[Done, ...] | Refused], None],
    ) -> None:
        """See `ZooKeeperSession`."""
        failure = self._failure()
        if failure is not None:
            self._answer(partial(on_done, Refused(failure)))
        else:
            self._answer(partial(on_done, self._ensemble.multi(self.id, operations)))

    def close(self) -> None:
        """See `ZooKeeperSession`."""
        self._closed = True
        self._ensemble.end(self)

    async def wait_closed(self) -> None:
        """See `ZooKeeperSession`."""

    # Of the ensemble.

    def tell(self, event: ZooKeeperEvent) -> None:
        """The listener, later."""

        def told() -> None:
            if not self._closed:
                self._listener(event)

        self._ensemble.later(told)

    def touched(self, path: str, *, is_parent: bool) -> None:
        """A znode was made, set or removed; or, `is_parent`, a child of it was."""
        if is_parent:
            if path in self._children_watched:
                self._children_watched.discard(path)
                self.tell(ChildrenChanged(path))
            return
        if path in self._watched:
            self._watched.discard(path)
            self.tell(Changed(path))
        if path in self._children_watched and self._ensemble.find(path) is None:
            self._children_watched.discard(path)
            self.tell(ChildrenChanged(path))

    def disconnect(self) -> None:
        """See `MemoryZooKeeper`."""
        self._connected = False
        self._watched.clear()
        self._children_watched.clear()
        self.tell(Disconnected())

    def reconnect(self) -> None:
        """See `MemoryZooKeeper`."""
        self._connected = True
        self.tell(Connected())

    def _failure(self) -> Failure | None:
        if self.is_over:
            return Failure.SESSION_OVER
        return None if self._connected else Failure.CONNECTION_LOST

    def _answer(self, callback: Callable[[], None]) -> None:
        def answered() -> None:
            if not self._closed:
                callback()

        self._ensemble.later(answered)


def parent_of(path: str) -> str:
    """The path of the znode above."""
    return path.rpartition("/")[0] or "/"
