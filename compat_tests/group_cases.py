"""What the consumers of every client must be able to do in a group, written once; each client's
folder adapts its library to `Member`."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

import pytest

from compat_tests.client_cases import Client
from compat_tests.process import KafkaliteProcess
from compat_tests.sample import BASE_TIMESTAMP, Sample

SESSION_MS = 30_000
"""Longer than a broker needs to start again, and than a busy machine holds up a heartbeat. Members
whose session ends, and librdkafka's by their own clock, go back to what the group committed."""
SHORT_SESSION_MS = 6_000
"""The shortest that a broker takes."""
PATIENCE_S = 60
METADATA_MS = 500
"""How often a member looks for new topics."""

_group_numbers = itertools.count()


class Place(NamedTuple):
    """A partition."""

    topic: str
    partition: int


class Got(NamedTuple):
    """A record that a member was given."""

    place: Place
    offset: int
    value: bytes | None


class Member(Protocol):
    """A consumer in a group. It begins where the group has committed, else at the earliest offset,
    and commits only when it is told to."""

    @classmethod
    def join(
        cls,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        session_ms: int = SESSION_MS,
        instance: str | None = None,
    ) -> Self:
        """Subscribe. A topic that begins with `^` is a pattern of topics. `instance`: as a static
        member of that id."""
        ...

    def poll(self) -> list[Got]:
        """What has come, waiting a moment for it."""
        ...

    def assignment(self) -> set[Place]:
        """What the member has now."""
        ...

    def commit(self, offsets: Mapping[Place, int]) -> None:
        """Keep these for the group; returns when it is acknowledged."""
        ...

    def seek(self, place: Place, offset: int) -> None:
        """Go on from there."""
        ...

    def offset_for_time(self, place: Place, timestamp_ms: int) -> int:
        """Of the first record at or after that time."""
        ...

    def leave(self) -> None:
        """Leave the group, and close."""
        ...


def places(topic: str, partitions: int) -> set[Place]:
    return {Place(topic, partition) for partition in range(partitions)}


def poll_until(
    condition: Callable[[list[Got]], bool], *members: Member, seconds: float = PATIENCE_S
) -> list[Got]:
    """Let the members poll in turn until the condition holds of all that they got."""
    got: list[Got] = []
    deadline = time.perf_counter() + seconds
    while not condition(got):
        have = [member.assignment() for member in members]
        assert time.perf_counter() < deadline, f"{len(got)} records, assigned: {have}"
        for member in members:
            got += member.poll()
    return got


def is_shared(wanted: Collection[Place], *members: Member) -> bool:
    """Each of these places belongs to one member, and every member has one."""
    have = [member.assignment() for member in members]
    return all(have) and sum(map(len, have)) == len(wanted) and set().union(*have) == set(wanted)


def fill(client: Client, topic: str, partitions: int, each: int, *, first: int = 0) -> None:
    """Records `first`, `first` + 1 and so on, a second apart, in every partition."""
    for partition in range(partitions):
        sent = [
            Sample(None, b"%d" % n, timestamp_ms=BASE_TIMESTAMP + 1_000 * n)
            for n in range(first, first + each)
        ]
        client.produce(topic, sent, partition=partition)


class GroupCases:
    """A client's test class inherits these, names its `Member`, and has a fixture `client`."""

    member: type[Member]
    deletes_groups = True
    """Whether the library can."""
    rides_out_restarts = True
    """Whether members are left alone while their broker is started again."""

    @pytest.fixture
    def group(self) -> str:
        """A name that no other test and no earlier run used."""
        return f"compat-group-{os.getpid()}-{next(_group_numbers)}"

    @pytest.fixture
    def join(self, bootstrap: str) -> Iterator[Callable[..., Member]]:
        """Makes members, and has those leave that did not."""
        joined: list[Member] = []

        def join(
            group: str,
            *topics: str,
            at: str = bootstrap,
            session_ms: int = SESSION_MS,
            instance: str | None = None,
        ) -> Member:
            joined.append(self.member.join(at, group, topics, session_ms, instance))
            return joined[-1]

        yield join
        for member in joined:
            member.leave()

    def test_two_members_share_and_one_leaves(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        client.create_topic(topic, 4)
        fill(client, topic, 4, 50)
        first = join(group, topic)
        poll_until(lambda got: len(got) == 200, first)
        assert first.assignment() == places(topic, 4)
        first.commit(dict.fromkeys(places(topic, 4), 50))
        second = join(group, topic)
        poll_until(lambda got: is_shared(places(topic, 4), first, second), first, second)
        assert len(first.assignment()) == len(second.assignment()) == 2
        fill(client, topic, 4, 10, first=50)
        got = poll_until(lambda got: len(got) >= 40, first, second)
        assert {each.place for each in got} == places(topic, 4)
        assert sorted(each.offset for each in got) == sorted(list(range(50, 60)) * 4)
        second.leave()
        poll_until(lambda got: first.assignment() == places(topic, 4), first)

    def test_a_member_that_dies_silently_gives_its_partitions_back(
        self, client: Client, topic: str, group: str, join: Callable[..., Member], bootstrap: str
    ) -> None:
        client.create_topic(topic, 2)
        survivor = join(group, topic, session_ms=SHORT_SESSION_MS)
        poll_until(lambda got: survivor.assignment() == places(topic, 2), survivor)
        name = f"{self.member.__module__}:{self.member.__name__}"
        command = (sys.executable, "-m", "compat_tests.group_member", name)
        doomed = subprocess.Popen([*command, bootstrap, group, topic])
        try:
            poll_until(lambda got: len(survivor.assignment()) == 1, survivor)
            began = time.perf_counter()
        finally:
            doomed.kill()
            doomed.wait()
        session_s = self.silence_s(bootstrap)
        poll_until(
            lambda got: survivor.assignment() == places(topic, 2), survivor, seconds=session_s * 3
        )
        assert session_s * 0.5 < time.perf_counter() - began < session_s * 3

    def test_a_new_member_resumes_where_the_last_committed(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        client.create_topic(topic)
        fill(client, topic, 1, 30)
        first = join(group, topic)
        got = poll_until(lambda got: len(got) == 30, first)
        first.commit({Place(topic, 0): 20})
        first.leave()
        second = join(group, topic)
        got = poll_until(lambda got: len(got) == 10, second)
        assert [each.offset for each in got] == list(range(20, 30))
        second.leave()
        third = join(group, topic)
        got = poll_until(lambda got: len(got) == 10, third)
        assert [each.offset for each in got] == list(range(20, 30)), "nothing was committed since"

    def test_seeking_by_offset_and_by_time(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        client.create_topic(topic)
        fill(client, topic, 1, 40)
        member, place = join(group, topic), Place(topic, 0)
        poll_until(lambda got: len(got) == 40, member)
        member.seek(place, 35)
        got = poll_until(lambda got: len(got) == 5, member)
        assert [each.value for each in got] == [b"%d" % n for n in range(35, 40)]
        found = member.offset_for_time(place, BASE_TIMESTAMP + 1_000 * 10 - 1)
        assert found == 10
        member.seek(place, found)
        got = poll_until(lambda got: len(got) == 30, member)
        assert [each.offset for each in got] == list(range(10, 40))

    def test_a_pattern_sees_a_new_topic(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        other = f"{topic}-later"
        client.create_topic(topic)
        fill(client, topic, 1, 3)
        member = join(group, f"^{topic}.*")
        poll_until(lambda got: len(got) == 3, member)
        client.create_topic(other, 2)
        fill(client, other, 2, 5)
        got = poll_until(lambda got: sum(each.place.topic == other for each in got) == 10, member)
        assert {each.place for each in got if each.place.topic == other} == places(other, 2)
        assert member.assignment() == places(topic, 1) | places(other, 2)

    def test_groups_are_listed_described_and_deleted(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        client.create_topic(topic)
        fill(client, topic, 1, 5)
        member = join(group, topic)
        poll_until(lambda got: len(got) == 5, member)
        assert group in client.groups()
        assert client.members_of(group) == 1
        member.commit({Place(topic, 0): 5})
        if self.deletes_groups:
            with pytest.raises(Exception, match=r"(?i)non.?empty|not empty"):
                client.delete_group(group)
        member.leave()
        assert client.members_of(group) == 0
        if self.deletes_groups:
            client.delete_group(group)
            assert group not in client.groups()
            again = join(group, topic)
            poll_until(lambda got: len(got) == 5, again)

    @pytest.mark.needs_process
    @pytest.mark.parametrize("ends", ["stop", "kill"])
    def test_commits_survive_the_broker(
        self,
        topic: str,
        group: str,
        start_kafkalite: Callable[..., KafkaliteProcess],
        join: Callable[..., Member],
        ends: str,
    ) -> None:
        broker = start_kafkalite()
        client = self.client_at(broker.address)
        client.create_topic(topic)
        fill(client, topic, 1, 20)
        member = join(group, topic, at=broker.address)
        poll_until(lambda got: len(got) == 20, member)
        member.commit({Place(topic, 0): 12})
        if not self.rides_out_restarts:
            member.leave()
        if ends == "stop":
            assert broker.stop() == 0
        else:
            broker.kill()
        broker = start_kafkalite(port=broker.port)
        fill(client, topic, 1, 5, first=20)
        if self.rides_out_restarts:
            got = poll_until(lambda got: len(got) == 5, member)
            assert [each.offset for each in got] == list(range(20, 25)), "the member goes on"
            member.leave()
        successor = join(group, topic, at=broker.address)
        got = poll_until(lambda got: len(got) == 13, successor)
        assert [each.offset for each in got] == list(range(12, 25)), "what was committed counts"

    def silence_s(self, bootstrap: str) -> float:
        """How long a member may be silent that asked for a short session."""
        return SHORT_SESSION_MS / 1_000

    def client_at(self, bootstrap: str) -> Client:
        """The client, of another broker."""
        raise NotImplementedError
