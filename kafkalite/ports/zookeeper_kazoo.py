"""Sessions with a real ZooKeeper ensemble, through kazoo.

kazoo has threads of its own, which connect, and connect again. What they learn is handed to the
event loop through `deliver`, which must be safe to call from any thread
(`loop.call_soon_threadsafe`). kazoo is imported when the first session is opened.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, assert_never

from kafkalite.ports.zookeeper import (
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
from kafkalite.ports.zookeeper_memory import Deliver

_FAILURES = {
    "NoNodeError": Failure.NO_NODE,
    "NodeExistsError": Failure.NODE_EXISTS,
    "BadVersionError": Failure.BAD_VERSION,
    "NotEmptyError": Failure.NOT_EMPTY,
    "NoAuthError": Failure.NO_AUTH,
    "AuthFailedError": Failure.NO_AUTH,
    "ConnectionLoss": Failure.CONNECTION_LOST,
    "ConnectionClosedError": Failure.CONNECTION_LOST,
    "OperationTimeoutError": Failure.CONNECTION_LOST,
    "SessionExpiredError": Failure.SESSION_OVER,
}
"""By the names of kazoo's exceptions."""
_FOLLOW = ("RolledBackError", "RuntimeInconsistency")
CLOSED_WITHIN_S = 5.0
MOST_IN_A_TURN = 100
"""Callbacks, each of which takes some tens of microseconds."""

_kazoo_log = logging.getLogger("kafkalite.ports.kazoo")
_kazoo_log.setLevel(logging.ERROR)  # It warns of each connection that ends, those we end as well.


class Tls(NamedTuple):
    """How connections to ZooKeeper are encrypted. Files are in PEM."""

    keystore: str | None = None
    """The key and the certificates by which ZooKeeper knows us; None: it does not ask."""
    password: str | None = None
    """Of the key."""
    truststore: str | None = None
    """Whom we believe, besides whom the system believes."""
    checks_host: bool = True
    """Whether the certificate must be for the host that was named."""


class Ensemble(NamedTuple):
    """Where ZooKeeper is, and how to be let in."""

    hosts: str
    """`host:port,host:port/chroot`, as Kafka's `zookeeper.connect`. The chroot is made when it is
    missing."""
    session_timeout_ms: int = 18_000
    """Kafka's default `zookeeper.session.timeout.ms`; the ensemble may choose another."""
    digest: str | None = None
    """`user:password` for the scheme `digest`: znodes are then made for this user to write, and for
    all to read (`zookeeper.set.acl`)."""
    tls: Tls | None = None
    """None: connections are plain."""


class Handover:
    """Many callbacks through one call of the event loop: it is woken once for all that have come
    until it runs. `deliver` may be called in any thread."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver_to_loop = deliver
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def deliver(self, callback: Callable[[], None]) -> None:
        """See `Deliver`."""
        self._waiting.append(callback)
        if not self._is_woken:
            self._is_woken = True
            self._deliver_to_loop(self._run)

    def _run(self) -> None:
        """A share of them: others have a turn between."""
        self._is_woken = False  # What comes from here on may wake it again, though it is awake.
        try:
            for _ in range(min(len(self._waiting), MOST_IN_A_TURN)):
                self._waiting.popleft()()
        finally:
            if self._waiting and not self._is_woken:
                self._is_woken = True
                self._deliver_to_loop(self._run)


class KazooZooKeeper:
    """See `ZooKeeper`."""

    def __init__(self, ensemble: Ensemble, deliver: Deliver) -> None:
        self._ensemble = ensemble
        self._deliver = deliver

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> _Session:
        """See `ZooKeeper`."""
        return _Session(self._ensemble, self._deliver, listener)


class _Session:
    """See `ZooKeeperSession`. Methods that begin with `_on_` run in kazoo's threads."""

    def __init__(
        self, ensemble: Ensemble, deliver: Deliver, listener: Callable[[ZooKeeperEvent], None]
    ) -> None:
        from kazoo.client import KazooClient
        from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, make_acl

        from kafkalite.ports.kazoo_handler import Handler

        acl = OPEN_ACL_UNSAFE
        if ensemble.digest is not None:
            acl = [make_acl("auth", "", all=True), *READ_ACL_UNSAFE]
        hosts, slash, chroot = ensemble.hosts.partition("/")
        self._chroot = slash + chroot.rstrip("/") if chroot else ""
        self._client: Any = KazooClient(  # Any: kazoo has no types.
            hosts=hosts,
            timeout=ensemble.session_timeout_ms / 1000,
            auth_data=[] if ensemble.digest is None else [("digest", ensemble.digest)],
            default_acl=acl,
            handler=Handler(),
            connection_retry={"max_tries": -1, "max_delay": 1.0},
            logger=_kazoo_log,
            **({} if ensemble.tls is None else _options_of(ensemble.tls)),
        )
        self._handover = Handover(deliver)
        self._deliver = self._handover.deliver
        self._listener = listener
        self._was_connected = False
        self._closed = False
        self._ending: threading.Thread | None = None
        self._client.add_listener(self._on_state)
        self._client.start_async()

    @property
    def id(self) -> int:
        """See `ZooKeeperSession`."""
        client_id = self._client.client_id
        return 0 if client_id is None else int(client_id[0])

    def get(
        self, path: str, on_done: Callable[[Node | Failure], None], *, watch: bool = False
    ) -> None:
        """See `ZooKeeperSession`."""
        watcher = self._on_watched if watch else None
        self._ask(
            lambda: self._client.get_async(self._at(path), watch=watcher),
            lambda found: Node(found[0], _stat(found[1])),
            on_done,
        )

    def exists(
        self, path: str, on_done: Callable[[Stat | Failure | None], None], *, watch: bool = False
    ) -> None:
        """See `ZooKeeperSession`."""
        watcher = self._on_watched if watch else None
        self._ask(
            lambda: self._client.exists_async(self._at(path), watch=watcher),
            lambda found: None if found is None else _stat(found),
            on_done,
        )

    def children(
        self, path: str, on_done: Callable[[Children | Failure], None], *, watch: bool = False
    ) -> None:
        """See `ZooKeeperSession`."""
        watcher = self._on_watched if watch else None
        self._ask(
            lambda: self._client.get_children_async(
                self._at(path), watch=watcher, include_data=True
            ),
            lambda found: Children(tuple(sorted(found[0])), _stat(found[1])),
            on_done,
        )

    def multi(
        self,
        operations: Sequence[Operation],
        on_done: Callable[[tuple[Done, ...] | Refused], None],
    ) -> None:
        """See `ZooKeeperSession`."""

        def commit() -> Any:  # Any: as above.
            transaction = self._client.transaction()
            for operation in operations:
                _add(transaction, operation._replace(path=self._at(operation.path)))
            return transaction.commit_async()

        def answered(result: tuple[Done, ...] | Refused | Failure) -> None:
            on_done(Refused(result) if isinstance(result, Failure) else result)

        self._ask(commit, partial(self._outcome, operations), answered)

    def close(self) -> None:
        """See `ZooKeeperSession`."""
        self._closed = True
        self._end()

    async def wait_closed(self) -> None:
        """See `ZooKeeperSession`."""
        ending = self._ending
        if ending is not None:
            await asyncio.get_running_loop().run_in_executor(None, ending.join, CLOSED_WITHIN_S)

    def _outcome(
        self, operations: Sequence[Operation], results: list[Any]
    ) -> tuple[Done, ...] | Refused:
        """kazoo answers each operation by itself; those not to blame say that they follow."""
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, Exception) and type(result).__name__ not in _FOLLOW:
                return Refused(_failure(result), operation)
        if any(isinstance(result, Exception) for result in results):
            return Refused(Failure.OTHER)
        return tuple(
            self._below(result)
            if isinstance(operation, Create)
            else _stat(result)
            if isinstance(operation, SetData)
            else None
            for operation, result in zip(operations, results, strict=True)
        )

    def _at(self, path: str) -> str:
        return self._chroot + path if path != "/" else self._chroot or "/"

    def _below(self, path: str) -> str:
        return path.removeprefix(self._chroot) or "/"

    def _end(self) -> None:
        """kazoo waits for its threads when it stops, so it does that in one more."""
        if self._ending is None:
            self._ending = threading.Thread(
                target=self._on_end, name="kafkalite-zookeeper-end", daemon=True
            )
            self._ending.start()

    def _on_end(self) -> None:
        self._client.stop()
        self._client.close()

    def _ask(
        self,
        send: Callable[[], Any],  # Any: as above.
        read: Callable[[Any], Any],
        on_done: Callable[[Any], None],
    ) -> None:
        def answer(result: object) -> None:
            if not self._closed:
                on_done(result)

        def on_result(result: Any) -> None:
            if result.exception is None:
                self._deliver(partial(answer, read(result.value)))
            else:
                self._deliver(partial(answer, _failure(result.exception)))

        try:
            pending = send()
        except Exception as error:  # noqa: BLE001  # kazoo says so that it is closed, or expired.
            self._deliver(partial(answer, _failure(error)))
        else:
            pending.rawlink(on_result)

    def _on_watched(self, event: Any) -> None:
        if event.type == "CHILD":
            self._tell(ChildrenChanged(self._below(event.path)))
        elif event.type != "NONE":
            # kazoo does not say which of its watches a removed znode has ended.
            self._tell(Changed(self._below(event.path)))
            if event.type == "DELETED":
                self._tell(ChildrenChanged(self._below(event.path)))

    def _on_state(self, state: str) -> None:
        if state == "CONNECTED":
            self._was_connected = True
            if self._chroot:
                made = self._client.ensure_path_async(self._chroot)
                made.rawlink(lambda result: self._tell(Connected()))
            else:
                self._tell(Connected())
        elif state == "SUSPENDED":
            self._tell(Disconnected())
        elif self._was_connected:
            self._tell(Expired())
            self._deliver(self._end)  # kazoo would begin a new session by itself.

    def _tell(self, event: ZooKeeperEvent) -> None:
        def told() -> None:
            if not self._closed:
                self._listener(event)

        self._deliver(told)


def _stat(raw: Any) -> Stat:  # Any: as above.
    return Stat(raw.czxid, raw.mzxid, raw.pzxid, raw.version, raw.ephemeralOwner)


def _failure(error: BaseException) -> Failure:
    return _FAILURES.get(type(error).__name__, Failure.OTHER)


def _add(transaction: Any, operation: Operation) -> None:
    match operation:
        case Create():
            transaction.create(
                operation.path,
                operation.data or b"",
                ephemeral=operation.ephemeral,
                sequence=operation.sequential,
            )
            _without_data(transaction, operation)
        case SetData():
            transaction.set_data(operation.path, operation.data or b"", operation.version)
            _without_data(transaction, operation)
        case Delete():
            transaction.delete(operation.path, operation.version)
        case Check():
            transaction.check(operation.path, operation.version)
        case _:
            assert_never(operation)


def _without_data(transaction: Any, operation: Create | SetData) -> None:
    """kazoo takes bytes alone; ZooKeeper tells none from empty ones, and so does Kafka, which finds
    no block of producer ids in no data, and a broken one in empty data."""
    if operation.data is None:
        transaction.operations[-1] = transaction.operations[-1]._replace(data=None)


def _options_of(tls: Tls) -> dict[str, object]:
    return {
        "use_ssl": True,
        "certfile": tls.keystore,
        "keyfile": tls.keystore,
        "keyfile_password": tls.password,
        "ca": tls.truststore,
        "verify_certs": True,
        "check_hostname": tls.checks_host,
    }
