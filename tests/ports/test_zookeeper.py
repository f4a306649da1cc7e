"""The contract of the ZooKeeper port. The real one runs it in `compat_tests`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import pytest

from kafkalite.ports.zookeeper import (
    Changed,
    Check,
    Children,
    ChildrenChanged,
    Connected,
    Create,
    Delete,
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
from tests.ports.zookeeper_kinds import Bench

T = TypeVar("T")


class Client:
    """A session, all that it heard, and answers as if they were waited for."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.heard: list[ZooKeeperEvent] = []
        self.session = bench.zookeeper.open_session(self.heard.append)
        bench.turns.until(lambda: Connected() in self.heard)

    def get(self, path: str, *, watch: bool = False) -> Node | Failure:
        answers: list[Node | Failure] = []
        self.session.get(path, answers.append, watch=watch)
        return self._first(answers)

    def node(self, path: str) -> Node:
        node = self.get(path)
        assert isinstance(node, Node)
        return node

    def exists(self, path: str, *, watch: bool = False) -> Stat | Failure | None:
        answers: list[Stat | Failure | None] = []
        self.session.exists(path, answers.append, watch=watch)
        return self._first(answers)

    def children(self, path: str, *, watch: bool = False) -> Children | Failure:
        answers: list[Children | Failure] = []
        self.session.children(path, answers.append, watch=watch)
        return self._first(answers)

    def names(self, path: str) -> tuple[str, ...]:
        children = self.children(path)
        assert isinstance(children, Children)
        return children.names

    def multi(self, *operations: Operation) -> tuple[Done, ...] | Refused:
        answers: list[tuple[Done, ...] | Refused] = []
        self.session.multi(operations, answers.append)
        return self._first(answers)

    def close(self) -> None:
        self.session.close()
        asyncio.run(self.session.wait_closed())

    def heard_soon(self, *events: ZooKeeperEvent) -> None:
        self.bench.turns.until(lambda: self.heard[-len(events) :] == list(events))

    def _first(self, answers: list[T]) -> T:
        self.bench.turns.until(lambda: bool(answers))
        return answers[0]


def made(client: Client, *paths: str) -> None:
    assert client.multi(*(Create(path) for path in paths)) == paths


def test_what_is_made_is_read(bench: Bench) -> None:
    one = Client(bench)
    assert one.multi(Create("/a"), Create("/a/b", b"text")) == ("/a", "/a/b")
    node = one.node("/a/b")
    assert node.data == b"text"
    stat = node.stat
    assert (stat.version, stat.ephemeral_owner) == (0, 0)
    assert stat.czxid == stat.mzxid == one.node("/a").stat.pzxid
    assert one.exists("/a/b") == stat
    assert one.names("/a") == ("b",)
    one.close()


def test_no_data_is_not_the_empty_text(bench: Bench) -> None:
    one = Client(bench)
    assert one.multi(Create("/none"), Create("/empty", b"")) == ("/none", "/empty")
    assert (one.node("/none").data, one.node("/empty").data) == (None, b"")
    assert isinstance(one.multi(SetData("/none", b""), SetData("/empty", None)), tuple)
    assert (one.node("/none").data, one.node("/empty").data) == (b"", None)
    one.close()


def test_what_is_not_there(bench: Bench) -> None:
    one = Client(bench)
    assert one.get("/none") is Failure.NO_NODE
    assert one.exists("/none") is None
    assert one.children("/none") is Failure.NO_NODE
    assert one.multi(Create("/none/b")) == Refused(Failure.NO_NODE, Create("/none/b"))
    assert one.multi(SetData("/none", b"")) == Refused(Failure.NO_NODE, SetData("/none", b""))
    assert one.multi(Delete("/none")) == Refused(Failure.NO_NODE, Delete("/none"))
    one.close()


def test_versions_and_transactions_go_up(bench: Bench) -> None:
    one = Client(bench)
    made(one, "/a")
    before = one.node("/a").stat
    done = one.multi(SetData("/a", b"1", 0), SetData("/a", b"2", 1))
    assert isinstance(done, tuple)
    stat = one.node("/a").stat
    assert done[1] == stat
    assert stat.version == 2
    assert stat.czxid == before.czxid < stat.mzxid
    one.close()


@pytest.mark.parametrize(
    ("operation", "failure"),
    [
        (SetData("/a", b"", 7), Failure.BAD_VERSION),
        (Check("/a", 1), Failure.BAD_VERSION),
        (Delete("/a", 5), Failure.BAD_VERSION),
        (Create("/a"), Failure.NODE_EXISTS),
        (Delete("/p"), Failure.NOT_EMPTY),
        (Create("/none/x"), Failure.NO_NODE),
    ],
)
def test_all_or_none(bench: Bench, operation: Operation, failure: Failure) -> None:
    one = Client(bench)
    made(one, "/a", "/p", "/p/c")
    before = {path: one.get(path) for path in ("/", "/a", "/p", "/p/c")}
    tried: Sequence[Operation] = [
        Create("/new"),
        SetData("/a", b"x"),
        Create("/new/child"),
        Create("/p/seq-", sequential=True),
    ]
    undone: Sequence[Operation] = [Delete("/p/c"), Create("/p/c")]
    if failure is Failure.NOT_EMPTY:
        undone = []
    last = operation._replace(version=9) if operation == SetData("/a", b"", 7) else operation
    if isinstance(last, Check | Delete) and last.path == "/a":
        tried = [each for each in tried if each.path != "/a"]
    assert one.multi(*tried, *undone, last) == Refused(failure, last)
    assert one.get("/new") is Failure.NO_NODE
    assert {path: one.get(path) for path in before} == before
    assert one.names("/p") == ("c",)
    one.close()


def test_a_check_that_holds_changes_nothing(bench: Bench) -> None:
    one = Client(bench)
    made(one, "/a")
    assert one.multi(Check("/a", 0), Create("/b")) == (None, "/b")
    assert one.node("/a").stat.version == 0
    assert one.multi(Delete("/b", 0)) == (None,)
    assert one.get("/b") is Failure.NO_NODE
    one.close()


def test_sequential_names_go_up(bench: Bench) -> None:
    one = Client(bench)
    made(one, "/q")
    first = one.multi(Create("/q/n-", b"1", sequential=True))
    second = one.multi(Create("/q/n-", b"2", sequential=True))
    assert first == ("/q/n-0000000000",)
    assert second == ("/q/n-0000000001",)
    assert one.names("/q") == ("n-0000000000", "n-0000000001")
    one.close()


def test_ephemeral_znodes_go_with_their_session(bench: Bench) -> None:
    one, two = Client(bench), Client(bench)
    made(one, "/ids")
    assert two.multi(Create("/ids/2", b"here", ephemeral=True)) == ("/ids/2",)
    assert one.node("/ids/2").stat.ephemeral_owner == two.session.id != 0
    child = Create("/ids/2/x")
    refused = one.multi(child)
    assert isinstance(refused, Refused)
    one.exists("/ids/2", watch=True)
    one.children("/ids", watch=True)
    two.close()
    bench.turns.until(lambda: Changed("/ids/2") in one.heard)
    bench.turns.until(lambda: ChildrenChanged("/ids") in one.heard)
    assert one.names("/ids") == ()
    one.close()


def test_a_watch_tells_once(bench: Bench) -> None:
    one, two = Client(bench), Client(bench)
    made(two, "/a", "/b")
    one.get("/a", watch=True)
    one.exists("/c", watch=True)
    two.multi(SetData("/a", b"1"))
    one.heard_soon(Changed("/a"))
    two.multi(SetData("/a", b"2"))
    two.multi(Create("/c"))
    one.heard_soon(Changed("/c"))
    assert one.heard == [Connected(), Changed("/a"), Changed("/c")]
    one.get("/a", watch=True)
    two.multi(Delete("/a"))
    bench.turns.until(lambda: one.heard.count(Changed("/a")) == 2)
    one.close()
    two.close()


def test_who_watches_children_hears_of_them_alone(bench: Bench) -> None:
    one, two = Client(bench), Client(bench)
    made(two, "/a", "/a/b")
    one.children("/a", watch=True)
    two.multi(SetData("/a", b"1"), SetData("/a/b", b"1"))
    made(two, "/a/c")
    one.heard_soon(ChildrenChanged("/a"))
    assert one.heard == [Connected(), ChildrenChanged("/a")]
    assert one.names("/a") == ("b", "c")
    one.close()
    two.close()


def test_a_read_shows_what_a_watch_told(bench: Bench) -> None:
    one, two = Client(bench), Client(bench)
    made(two, "/a")
    for round in range(20):
        text = str(round).encode()
        one.get("/a", watch=True)
        two.multi(SetData("/a", text))
        bench.turns.until(lambda: len(one.heard) == 2)
        assert one.heard.pop() == Changed("/a")
        assert one.node("/a").data == text
    one.close()
    two.close()


def test_a_session_that_expired_is_told_and_over(bench: Bench) -> None:
    one, two = Client(bench), Client(bench)
    made(one, "/a")
    two.multi(Create("/mine", ephemeral=True))
    one.exists("/mine", watch=True)
    bench.expire(two.session.id)
    bench.turns.until(lambda: Expired() in two.heard)
    bench.turns.until(lambda: Changed("/mine") in one.heard)
    assert two.get("/a") in (Failure.SESSION_OVER, Failure.CONNECTION_LOST)
    refused = two.multi(Create("/b"))
    assert isinstance(refused, Refused)
    assert refused.failure in (Failure.SESSION_OVER, Failure.CONNECTION_LOST)
    two.close()
    one.close()


def test_a_closed_session_hears_no_more(bench: Bench) -> None:
    one, two = Client(bench), Client(bench)
    made(one, "/a")
    two.get("/a", watch=True)
    two.session.get("/a", lambda answer: pytest.fail("was answered"))
    two.close()
    two.close()
    two.session.get("/a", lambda answer: pytest.fail("was answered"))
    one.multi(SetData("/a", b"1"))
    bench.turns.drain()
    assert two.heard == [Connected()]
    one.close()
