"""What befalls the members of a group, for every client: they come and go, start anew, are held up,
and close amid a rebalance. A client's test class inherits these beside `GroupCases`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

from compat_tests.client_cases import Client
from compat_tests.group_cases import (
    SHORT_SESSION_MS,
    Member,
    fill,
    is_shared,
    places,
    poll_until,
)

AT_ONCE_S = 10
"""How long a close may take on a busy machine. A session that has to end takes longer."""


class MatrixCases:
    """See the module."""

    member: type[Member]

    def silence_s(self, bootstrap: str) -> float:
        """How long a member may be silent that asked for a short session."""
        raise NotImplementedError

    def test_one_two_three_one(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        wanted = places(topic, 6)
        client.create_topic(topic, 6)
        members = []
        for _ in range(3):
            members.append(join(group, topic))
            poll_until(lambda got: is_shared(wanted, *members), *members)
        assert [len(member.assignment()) for member in members] == [2, 2, 2]
        first, *others = members
        for member in others:
            member.leave()
        poll_until(lambda got: first.assignment() == wanted, first)
        fill(client, topic, 6, 5)
        got = poll_until(lambda got: len(got) >= 30, first)
        assert sorted((each.place, each.offset) for each in got) == sorted(
            (place, offset) for place in wanted for offset in range(5)
        )

    def test_a_static_member_starts_anew_and_nobody_notices(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        wanted = places(topic, 4)
        client.create_topic(topic, 4)
        first = join(group, topic, instance="one")
        poll_until(lambda got: first.assignment() == wanted, first)
        second = join(group, topic, instance="two")
        poll_until(lambda got: is_shared(wanted, first, second), first, second)
        before = first.assignment(), second.assignment()
        second.leave()
        again = join(group, topic, instance="two")
        poll_until(lambda got: bool(again.assignment()), first, again)
        assert (first.assignment(), again.assignment()) == before

    def test_a_member_that_was_held_up_for_longer_than_its_session_comes_back(
        self, client: Client, topic: str, group: str, join: Callable[..., Member], bootstrap: str
    ) -> None:
        wanted = places(topic, 2)
        client.create_topic(topic, 2)
        survivor = join(group, topic, session_ms=SHORT_SESSION_MS)
        poll_until(lambda got: survivor.assignment() == wanted, survivor)
        name = f"{self.member.__module__}:{self.member.__name__}"
        command = (sys.executable, "-m", "compat_tests.group_member", name)
        other = subprocess.Popen([*command, bootstrap, group, topic])
        try:
            poll_until(lambda got: len(survivor.assignment()) == 1, survivor)
            other.send_signal(signal.SIGSTOP)
            session_s = self.silence_s(bootstrap)
            poll_until(lambda got: survivor.assignment() == wanted, survivor, seconds=session_s * 3)
            other.send_signal(signal.SIGCONT)
            poll_until(lambda got: len(survivor.assignment()) == 1, survivor)
        finally:
            other.kill()
            other.wait()

    def test_members_close_amid_a_rebalance(
        self, client: Client, topic: str, group: str, join: Callable[..., Member]
    ) -> None:
        wanted = places(topic, 2)
        client.create_topic(topic, 2)
        first = join(group, topic)
        poll_until(lambda got: first.assignment() == wanted, first)
        second = join(group, topic)
        second.poll()
        began = time.perf_counter()
        second.leave()  # The first one has not joined again yet.
        assert time.perf_counter() - began < AT_ONCE_S
        poll_until(lambda got: first.assignment() == wanted, first)
        third = join(group, topic)
        third.poll()
        began = time.perf_counter()
        first.leave()  # The third one waits for it.
        assert time.perf_counter() - began < AT_ONCE_S
        poll_until(lambda got: third.assignment() == wanted, third)
