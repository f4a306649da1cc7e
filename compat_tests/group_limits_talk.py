"""A talk with a broker that takes few members into a group (`group.max.size`,
`group.consumer.max.size`), and with the same one started again with room for fewer: who is refused.

`group-limits.jsonl` is the real Kafka 4.4.0's part of it:

    python -m compat_tests.record_group_limits
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from typing import Any

from compat_tests.classic_member import SESSION_MS, ClassicMember
from compat_tests.classic_talk import Group, until
from compat_tests.consumer_group_talk import Connection, Names, Step, Talker
from kafkalite.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

MOST, FEWER = 3, 1
"""Members of a group, before and after the new start."""
JOIN_VERSION = 9
"""New members are given an id first."""
Steps = Iterator[tuple[str, Any]]
Part = Callable[[Group, Talker], Steps]
"""What is said of one group, by members of either protocol."""
Start = Callable[[Mapping[str, str]], AbstractContextManager[str]]
"""Starts a broker with these settings, on the folder that it had before; gives its address."""


def settings(most: int) -> dict[str, str]:
    return {
        "group.initial.rebalance.delay.ms": "0",
        "group.max.size": str(most),
        "group.consumer.max.size": str(most),
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "offsets.topic.num.partitions": "5",
    }


def talk(start: Start) -> list[Step]:
    """The steps before the new start, and those after it, where two groups go on."""
    names, stayed = Names(), Stayed()

    def told(address: str, of: str, part: Part) -> list[Step]:
        name = names.of_here(of)
        with (
            closing(Group(address, name, JOIN_VERSION)) as group,
            closing(Connection(address)) as connection,
        ):
            group.wait_for_coordinator()
            steps = part(group, Talker(connection, 1, name, names))
            return [Step(f"{part.__name__.strip('_')}: {what}", said) for what, said in steps]

    with start(settings(MOST)) as address:
        steps = told(address, "classic", stayed.fills)
        steps += told(address, "static", _statics)
        steps += told(address, "consumer", _consumers)
    with start(settings(FEWER)) as address:
        steps += told(address, "classic", stayed.shrinks)
        steps += told(address, "consumer", _consumers_after)
    return steps


def _enter(group: Group, *members: ClassicMember) -> None:
    """In this order: the broker has heard of each, before the next one asks to join."""
    probe = group.member("probe")
    for each in members:
        each.ask_to_join()
        until(probe, 25)


def _generation(group: Group, first: ClassicMember, *others: ClassicMember) -> Any:
    """Those who have asked to join are in, and sync; the first one leads."""
    told = [each.joined() for each in (first, *others)]
    for each in others:
        each.ask_to_sync()
    given = dict.fromkeys((first, *others), b"part")
    return [told, first.sync(given), [each.synced() for each in others]]


class Stayed:
    """A classic group that has more members than it may have after the new start."""

    def __init__(self) -> None:
        self._in: list[ClassicMember] = []

    def fills(self, group: Group, _: Talker) -> Steps:
        """Three are in, of six who come."""
        first, second, third, fourth, fifth, sixth = (group.member(each) for each in "abcdef")
        first.join()
        first.join()
        first.sync({first: b"all"})
        yield "two more are given ids", [each.join() for each in (second, third)]
        _enter(group, second, third, first)
        yield "three are in", _generation(group, first, second, third)
        yield "a fourth", fourth.join()
        _enter(group, first)
        yield "amid a rebalance all are given ids", [each.join() for each in (fourth, fifth, sixth)]
        _enter(group, fifth, second)
        yield "who comes back last finds its place taken", third.join()
        yield "and is none of them", third.beat()
        yield "who comes with its id finds none", fourth.join()
        yield "and has none then", fourth.beat()
        yield "who has not come gives up, so that nobody is waited for", sixth.leave()
        yield "the others are in", _generation(group, first, second, fifth)
        self._in = [first, second, fifth]

    def shrinks(self, group: Group, _: Talker) -> Steps:
        """One may stay, of three."""
        members = [group.member(each) for each in "abe"]
        for member, before in zip(members, self._in, strict=True):
            member.id, member.generation = before.id, before.generation
        first, second, third = members
        until(first, 27)
        yield "all are to join again", [each.beat() for each in members]
        _enter(group, first)
        yield "the second comes back", second.join()
        yield "a new one", group.member("g").join()
        yield "the third leaves, so that nobody is waited for", third.leave()
        yield "the first is in", _generation(group, first)
        yield "the others are not", [second.beat(), third.beat()]
        yield "a new one then", group.member("h").join()
        yield "the first again", first.join()


def _statics(group: Group, _: Talker) -> Steps:
    first, second, third = (group.member(each, instance=each) for each in "abc")
    first.join()
    first.sync({first: b"all"})
    _enter(group, second, third, first)
    yield "three are in", _generation(group, first, second, third)
    yield "one starts anew", group.member("d", instance="c").join()
    yield "another instance", group.member("e", instance="e").join()


def _consumers(group: Group, talker: Talker) -> Steps:
    yield "two join", [_said(talker.join(each)) for each in "ab"]
    yield "the third is static", _said(talker.join("c", instance="i"))
    yield "a fourth", _said(talker.join("d"))
    yield "the first once more", _said(talker.join("a"))
    yield "the third leaves for a while", _gone(talker, "c", -2, "i")
    yield "a fourth meanwhile", _said(talker.join("d"))
    yield "another one in its place", _said(talker.join("e", instance="i"))
    yield "the second leaves", _gone(talker, "b")
    yield "the fourth then", _said(talker.join("d"))


def _consumers_after(group: Group, talker: Talker) -> Steps:
    yield "a new one", _said(talker.join("f"))
    yield "who is in", _said(talker.join("a"))
    yield "two leave", [_gone(talker, "e", -1, "i"), _gone(talker, "d")]
    yield "a new one while one is in", _said(talker.join("f"))
    yield "the last leaves", _gone(talker, "a")
    yield "a new one then", _said(talker.join("f"))


def _gone(talker: Talker, member_id: str, epoch: int = -1, instance: str | None = None) -> Any:
    return _said(talker.beat(member_id, member_epoch=epoch, instance_id=instance))


def _said(answer: ConsumerGroupHeartbeatResponse) -> Any:
    return [answer.error_code, answer.error_message]
