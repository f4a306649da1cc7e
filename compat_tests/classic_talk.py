"""A talk with classic groups, the same with every broker and in every version of JoinGroup: what
members of such a group are told in each of its states, and what becomes of static ones, of those
who never sync, and of those who go.

`classic-groups.jsonl` is the real Kafka 4.4.0's part of it, whose new groups wait for nobody
(`group.initial.rebalance.delay.ms` of 0):

    python -m compat_tests.record_consumer_groups HOST:PORT
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from compat_tests.classic_member import SESSION_MS, ClassicMember, Ids
from compat_tests.consumer_group_talk import Connection, Names, Step
from compat_tests.golden import turns
from kafkalite.protocol.messages import find_coordinator

JOIN_VERSIONS = range(10)
FIRST_STATIC = 5
BOTH = ("range", "roundrobin")
SHORT_MS = 500
"""A rebalance timeout that runs out."""
Steps = Iterator[tuple[str, Any]]


class Group:
    """One group, and all who have something to do with it."""

    def __init__(self, address: str, name: str, version: int) -> None:
        self._address, self._name, self._version = address, name, version
        self._ids = Ids()
        self._members: list[ClassicMember] = []

    def member(
        self, name: str, *, instance: str | None = None, rebalance_ms: int = SESSION_MS
    ) -> ClassicMember:
        self._members.append(
            ClassicMember(
                self._address,
                self._name,
                self._ids,
                name,
                self._version,
                instance=instance,
                rebalance_ms=rebalance_ms,
            )
        )
        return self._members[-1]

    def two(self, one: str, two: str) -> tuple[ClassicMember, ClassicMember]:
        """Two static ones who are in, of whom the first leads."""
        first, second = self.member("a", instance=one), self.member("b", instance=two)
        first.join(protocols=BOTH)
        first.sync({first: b"all"})
        second.ask_to_join(protocols=BOTH)
        until(first, 27)
        first.ask_to_join(protocols=BOTH)
        second.joined()
        first.joined()
        second.ask_to_sync()
        first.sync({first: b"one", second: b"two"})
        second.synced()
        return first, second

    def wait_for_coordinator(self) -> None:
        """It may have to load first, and its topic to be made."""
        with closing(Connection(self._address)) as connection:
            find = find_coordinator.FindCoordinatorRequest(coordinator_keys=[self._name])
            for _ in turns("a coordinator"):
                found = connection.ask(find, 4, find_coordinator.FindCoordinatorResponse)
                if not found.coordinators[0].error_code:
                    break
        # One that loads says of any heartbeat that all is well.
        until(self.member("probe"), 25)

    def close(self) -> None:
        for member in self._members:
            member.close()


def until(member: ClassicMember, code: int) -> None:
    """Its heartbeats are answered so."""
    for _ in turns(f"a heartbeat with error {code}"):
        if member.beat() == code:
            return


def _life(group: Group) -> Steps:
    """Of a group, from its first member to its last."""
    first = group.member("a")
    yield "its first member asks", first.join()
    if not first.generation > 0:
        yield "it asks again", first.join()
    yield "it beats before it syncs", first.beat()
    yield "it commits before it syncs", first.commit()
    yield "described while it is awaited", first.described()
    yield "it syncs", first.sync({first: b"all"})
    yield "it syncs again", first.sync({first: b"other"})
    yield "it beats", [first.beat(), first.beat(generation_id=7), first.beat(member_id="x")]
    yield (
        "it commits",
        [
            first.commit(),
            first.commit(generation_id_or_member_epoch=7),
            first.commit(member_id="x"),
            first.commit(member_id="", generation_id_or_member_epoch=-1),
        ],
    )
    yield "syncs of others", [first.sync(generation_id=7), first.sync(member_id="x")]
    yield "described", first.described()
    stranger = group.member("c")
    yield "who brings an id of its own", stranger.join(member_id="mine")
    yield "another type", stranger.join(member_id=first.id, type="connect")
    yield "another protocol", stranger.join(member_id=first.id, protocols=["roundrobin"])
    yield "no protocol", stranger.join(member_id=first.id, protocols=[])
    yield "no type", stranger.join(member_id=first.id, type="")
    yield from _rebalances(first, group.member("b"))


def _rebalances(first: ClassicMember, second: ClassicMember) -> Steps:
    second.enter(b"n")
    until(first, 27)
    yield "a second one waits, and the first syncs", first.sync({first: b"all"})
    yield "it may still commit", [first.commit(), first.commit(generation_id_or_member_epoch=7)]
    yield "described while all join", first.described()
    first.ask_to_join()
    yield "the second one is in", second.joined()
    yield "and the first one", first.joined()
    second.ask_to_sync({second: b"mine"})
    yield "the first one syncs", first.sync({first: b"one", second: b"two"})
    yield "and the second one", second.synced()
    yield "described with two", first.described()
    yield "a follower asks anew", second.join(b"n")
    yield "nobody noticed", [first.beat(), second.beat(), second.sync()]
    second.ask_to_join(b"o")
    until(first, 27)
    first.ask_to_join()
    yield "a follower that says something new", second.joined()
    yield "the leader of them", first.joined()
    yield "they beat", [first.beat(), second.beat(), second.commit()]
    first.sync({first: b"1", second: b"2"})
    yield "the follower syncs late", second.sync()
    first.ask_to_join()
    until(second, 27)
    second.ask_to_join(b"o")
    yield "the leader asked anew", first.joined()
    yield "and the follower joins", second.joined()
    second.ask_to_sync()
    first.sync({first: b"1"})
    yield "the leader has forgotten it", second.synced()
    yield from _departures(first, second)


def _departures(first: ClassicMember, second: ClassicMember) -> Steps:
    yield "one who is none leaves", first.leave(("x", None))
    yield "the second one leaves", second.leave()
    yield "and again", second.leave()
    yield "it beats, syncs, commits", [second.beat(), second.sync(), second.commit()]
    yield "it asks to join with that id", second.join()
    until(first, 27)
    yield "the first one is alone", first.join()
    yield "and syncs", first.sync({first: b"all"})
    yield "the first one leaves", first.leave()
    yield "described when it is empty", first.described()
    yield "it beats and syncs then", [first.beat(), first.sync({})]
    yield (
        "commits of an empty group",
        [
            first.commit(),
            first.commit(member_id="", generation_id_or_member_epoch=-1),
            first.commit(generation_id_or_member_epoch=-1),
        ],
    )


def _awaited(group: Group) -> Steps:
    """Members who are awaited, and do not come."""
    silent = group.member("a", rebalance_ms=SHORT_MS)
    silent.enter()
    silent.joined()
    until(silent, 25)
    yield "who never syncs is no member after its rebalance timeout", silent.described()
    first, second = group.member("b", rebalance_ms=SHORT_MS), group.member("c")
    first.enter()
    first.joined()
    first.sync({first: b"all"})
    second._rebalance_ms = SHORT_MS
    second.enter()
    yield "who does not join again in time is out", second.joined()
    yield "and told so", [first.beat(), first.commit(), first.join()]
    yield "the other one leads", second.sync({second: b"all"})
    third = group.member("d")
    third.enter()
    until(second, 27)
    other = group.member("e")
    yield "one leaves that waits to be in", other.leave((third.id, None)) if third.id else None
    if third.id:
        yield "it is told so", third.joined()


def _static(group: Group) -> Steps:
    """Static members, who come back to their places."""
    first, second = group.two("one", "two")
    yield "described", first.described()
    old = second.id
    again = group.member("b", instance="two")
    yield "the follower is back", again.join(protocols=BOTH)
    yield "nobody noticed", [first.beat(), again.beat()]
    yield "it syncs", again.sync()
    yield (
        "its old id",
        [
            second.beat(),
            second.commit(),
            second.sync(),
            second.join(),
            first.leave((old, "two")),
        ],
    )
    yield "it without its instance", again.beat(group_instance_id=None)
    yield (
        "it as another instance",
        [
            again.beat(group_instance_id="one"),
            again.beat(group_instance_id="three"),
        ],
    )
    leads = group.member("a", instance="one")
    yield "the leader is back", leads.join(protocols=BOTH)
    yield "nobody noticed that", [again.beat(), leads.beat()]
    yield "it syncs without a look", leads.sync({leads: b"new", again: b"new"})
    yield "the old leader", [first.beat(), first.commit()]
    yield from _returns(group, leads)


def _returns(group: Group, leads: ClassicMember) -> Steps:
    """A static follower comes back otherwise than it was."""
    changed = group.member("b", instance="two")
    yield "one is back that reads other topics", changed.join(b"changed", protocols=BOTH)
    yield "that is nobody's matter", [leads.beat(), changed.beat()]
    other = group.member("b", instance="two")
    other.ask_to_join(protocols=["roundrobin"])
    until(leads, 27)
    leads.ask_to_join(protocols=BOTH)
    yield "one that is back with fewer protocols waits for all", other.joined()
    yield "and so does the leader", leads.joined()
    late = group.member("b", instance="two")
    late.ask_to_join(protocols=["roundrobin"])
    until(leads, 27)
    leads.ask_to_join(protocols=BOTH)
    yield "so does one that is back while the leader assigns", late.joined()
    yield "and the leader again", leads.joined()
    late.ask_to_sync(protocol_name="roundrobin")
    leads.sync({leads: b"1", late: b"2"}, protocol_name="roundrobin")
    yield "it syncs late", late.synced()
    yield (
        "they leave by instance",
        leads.leave(("", "two"), ("", "nobody"), ("x", "one"), ("x", None), (leads.id, "one")),
    )
    yield "nobody is left", [leads.described(), leads.beat(), late.beat()]


PARTS = {"life": _life, "awaited": _awaited, "static": _static}
TALKS = (
    *((version, "life") for version in JOIN_VERSIONS),
    # Before version 1 the rebalance timeout is the session's, of 6 s at least.
    *((version, "awaited") for version in (1, 9)),
    *((version, "static") for version in range(FIRST_STATIC, 10)),
)
"""A version of JoinGroup, and a name of `PARTS`."""


def talk(address: str, version: int, part: str) -> Iterator[Step]:
    """The steps of one."""
    group = Group(address, Names().of_here(part), version)
    try:
        group.wait_for_coordinator()
        for step, answer in PARTS[part](group):
            yield Step(f"v{version} {part}: {step}", answer)
    finally:
        group.close()
