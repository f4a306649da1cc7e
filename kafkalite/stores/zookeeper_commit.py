"""One commit on its way: transactions behind the fence, one after the other.

What was done is put into the view at once, so that the next commit knows the versions; that it was
done is found out again by watches, which then say nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkalite.ports.zookeeper import (
    Check,
    Create,
    Delete,
    Done,
    Failure,
    Node,
    Operation,
    Refused,
    SetData,
    Stat,
    ZooKeeperSession,
)
from kafkalite.stores import znodes
from kafkalite.stores.znodes_changes import chunks
from kafkalite.stores.znodes_view import ZnodesView


class ZnodesCommit:
    """`send` it once."""

    def __init__(
        self,
        zookeeper: ZooKeeperSession,
        view: ZnodesView,
        operations: Iterable[Operation],
        fence: Check,
        on_done: Callable[[Refused | None], None],
    ) -> None:
        """`on_done` gets what refused it, or None when all is done and in the view."""
        self._zookeeper = zookeeper
        self._view = view
        self._chunks = list(chunks(operations, fence))
        self._on_done = on_done

    def send(self) -> None:
        """The next transaction, if there is one."""
        if not self._chunks:
            self._on_done(None)
            return
        operations = self._chunks.pop(0)

        def done(result: tuple[Done, ...] | Refused) -> None:
            if isinstance(result, Refused):
                self._on_done(result)
            else:
                self._look(operations, result)

        self._zookeeper.multi(operations, done)

    def _look(self, operations: tuple[Operation, ...], results: tuple[Done, ...]) -> None:
        """What a transaction was numbered only stats tell, and to make or remove gives none."""
        stats = [result for result in results if isinstance(result, Stat)]
        if stats:
            self._put(operations, results, stats[-1].mzxid)
            return
        last = operations[-1]
        if isinstance(last, Check):  # Nothing was to be done.
            self._on_done(None)
            return
        made = isinstance(last, Create)
        path = results[-1] if made else last.path.rpartition("/")[0]
        assert isinstance(path, str)

        def looked(found: Stat | Failure | None) -> None:
            if isinstance(found, Failure):
                # It is done; but the view cannot say how far it has come, and is read anew.
                self._on_done(Refused(found))
            elif found is None:
                self._put(operations, results, zxid=0)  # Gone again, which a watch tells.
            else:
                self._put(operations, results, found.czxid if made else found.pzxid)

        self._zookeeper.exists(path, looked)

    def _put(self, operations: tuple[Operation, ...], results: tuple[Done, ...], zxid: int) -> None:
        view = self._view
        view.saw(zxid)
        for operation, result in zip(operations, results, strict=True):
            match operation:
                case Create() if operation.data is None:
                    if operation.path.startswith(f"{znodes.CONFIG}/"):
                        view.folders.add(operation.path)
                case Create() if not operation.sequential:
                    stat = Stat(zxid, zxid, zxid, 0, 0)
                    view.put(operation.path, Node(operation.data, stat), is_ours=True)
                case SetData() if isinstance(result, Stat):
                    view.put(operation.path, Node(operation.data, result), is_ours=True)
                case Delete():
                    self._removed(operation.path)
                case _:
                    pass
        self.send()

    def _removed(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        if parent == znodes.TOPICS:
            self._view.drop_topic(name)
        else:
            self._view.put(path, None)
