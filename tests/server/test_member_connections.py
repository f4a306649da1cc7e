"""Who is evicted when a connection drops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.server import member_connections
from kafkalite.server.member_connections import HeardMember, MemberConnections

A, B, C = HeardMember("g", "a"), HeardMember("g", "b"), HeardMember("g", "c")


class Connection:
    """One that a test drops."""

    def __init__(self) -> None:
        self._farewells: list[Callable[[], None]] = []

    def when_closed(self, call: Callable[[], None]) -> None:
        self._farewells.append(call)

    def drop(self) -> None:
        for farewell in self._farewells:
            farewell()


def test_all_that_were_heard_on_it_last() -> None:
    evicted: list[HeardMember] = []
    members = MemberConnections(evicted.append)
    dropped, other = Connection(), Connection()
    for member in (A, B, C):
        members.heard(dropped, member)
    members.heard(other, B)
    dropped.drop()
    assert evicted == [A, C]
    other.drop()
    assert evicted == [A, C, B]


def test_not_one_that_is_heard_or_leaves_elsewhere_upon_the_eviction_of_another() -> None:
    """What an eviction completes may be an answer to a member that has come back."""
    evicted: list[HeardMember] = []
    dropped, other = Connection(), Connection()

    def evict(member: HeardMember) -> None:
        evicted.append(member)
        if member == A:
            members.heard(other, B)
            members.left(C)

    members = MemberConnections(evict)
    for member in (A, B, C):
        members.heard(dropped, member)
    dropped.drop()
    assert evicted == [A]
    other.drop()
    assert evicted == [A, B]


def test_of_too_many_the_first_is_not_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_connections, "MAX_MEMBERS", 2)
    evicted: list[HeardMember] = []
    members, connection = MemberConnections(evicted.append), Connection()
    for member in (A, B, C):
        members.heard(connection, member)
    connection.drop()
    assert evicted == [B, C]
