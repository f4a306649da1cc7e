"""The ZooKeeper port: one session with an ensemble, as callbacks on the event loop.

Requests are sent at once and answered in their order; each answer comes as one call of `on_done`,
never from inside the call that asked. What happens meanwhile (znodes that were watched, the
connection, the end of the session) comes to one listener. A watch tells of one change and is gone;
it is gone as well when the connection is lost, so whoever watches reads anew on `Connected`.

Two homes: `zookeeper_kazoo.py` over a real ensemble, `zookeeper_memory.py` in this process. Both
pass `tests/ports/test_zookeeper.py`.

Source: ZooKeeper's `ZooDefs.OpCode`, `KeeperException.Code`, `Watcher.Event`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

ANY_VERSION = -1


class Failure(Enum):
    """Why ZooKeeper did not do as asked."""

    NO_NODE = "no such znode"
    NODE_EXISTS = "the znode exists"
    BAD_VERSION = "the znode has another version"
    NOT_EMPTY = "the znode has children"
    NO_AUTH = "not authorized"
    CONNECTION_LOST = "the connection was lost: it may have been done or not"
    SESSION_OVER = "the session is over"
    OTHER = "ZooKeeper refused"


class Stat(NamedTuple):
    """What ZooKeeper keeps of a znode beside its data."""

    czxid: int
    """The transaction that made it. A broker's epoch is that of its registration."""
    mzxid: int
    """The transaction that set its data last."""
    pzxid: int
    """The last transaction that made or removed a child."""
    version: int
    """0 when made, one more whenever data are set."""
    ephemeral_owner: int
    """The session that it goes with; 0 when it stays."""


class Node(NamedTuple):
    """A znode that was read."""

    data: bytes | None
    stat: Stat


class Children(NamedTuple):
    """The names below a znode, sorted, and its own stat."""

    names: tuple[str, ...]
    stat: Stat


class Create(NamedTuple):
    """Make a znode; its parent must be there and not be ephemeral."""

    path: str
    data: bytes | None = None
    """None, which is then found again, is not the empty text."""
    ephemeral: bool = False
    """It goes when this session ends."""
    sequential: bool = False
    """Ten digits that go up are added to its name."""


class SetData(NamedTuple):
    """Replace the data of a znode."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Remove a znode without children."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Fail all unless the znode is there, with that version."""

    path: str
    version: int = ANY_VERSION


Operation = Create | SetData | Delete | Check

Done = str | Stat | None
"""What became of an operation: the path that was made, the stat after data were set, nothing
else."""


class Refused(NamedTuple):
    """Of a multi nothing was done, since one of its operations could not be; or nobody knows
    (`CONNECTION_LOST`)."""

    failure: Failure
    operation: Operation | None = None
    """The first that could not be done, when one is to blame."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A server takes requests: for the first time, or again in the same session. No watch is left
    from before."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """No server is reached. Requests fail until `Connected`; the session may yet live."""


@dataclass(frozen=True, slots=True)
class Expired:
    """The session is over, and its ephemeral znodes are gone. Nothing follows."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A watched znode was made, set or removed."""

    path: str


@dataclass(frozen=True, slots=True)
class ChildrenChanged:
    """A child was made or removed below a watched znode, or that itself was removed."""

    path: str


ZooKeeperEvent = Connected | Disconnected | Expired | Changed | ChildrenChanged


class ZooKeeperSession(Protocol):
    """One session. Paths are absolute below its chroot."""

    @property
    def id(self) -> int:
        """ZooKeeper's number of the session; 0 before the first `Connected`."""
        ...

    def get(
        self, path: str, on_done: Callable[[Node | Failure], None], *, watch: bool = False
    ) -> None:
        """Data and stat. A znode that is not there is not watched: see `exists`."""
        ...

    def exists(
        self, path: str, on_done: Callable[[Stat | Failure | None], None], *, watch: bool = False
    ) -> None:
        """Its stat; None when it is not there, which can be watched as well."""
        ...

    def children(
        self, path: str, on_done: Callable[[Children | Failure], None], *, watch: bool = False
    ) -> None:
        """What stands directly below."""
        ...

    def multi(
        self,
        operations: Sequence[Operation],
        on_done: Callable[[tuple[Done, ...] | Refused], None],
    ) -> None:
        """All of them in one transaction, or none."""
        ...

    def close(self) -> None:
        """End the session: ephemeral znodes go, nothing is told any more, what was asked may stay
        without an answer. Returns at once. Twice does no harm."""
        ...

    async def wait_closed(self) -> None:
        """Return when the ensemble was told of the end, or could not be, some seconds later."""
        ...


class ZooKeeper(Protocol):
    """An ensemble."""

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
        """A new session; it connects in the background, for as long as that takes."""
        ...
