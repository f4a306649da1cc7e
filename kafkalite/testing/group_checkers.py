"""Judges of consumer groups, as `testing.checkers`: owners, generations and commits.

When the power is lost, commits and generations may be those of before; from there on the promises
hold again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from kafkalite.testing.checkers import demand
from kafkalite.testing.observations import (
    CommitAnswered,
    CommitAsked,
    CommitSeen,
    CommitSent,
    Died,
    GroupAsked,
    MemberAccepted,
    MemberAssigned,
    MemberHolds,
    Observation,
    PowerLost,
    Stopped,
)
from kafkalite.types import TopicPartition


class EachPartitionHasOneOwner:
    """In one generation a partition belongs to one member, and a member's share does not change."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, int, TopicPartition], str] = {}
        self._shares: dict[tuple[str, int, str], tuple[TopicPartition, ...]] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case MemberAssigned():
                which = f"generation {seen.generation} of {seen.group}"
                for partition in seen.partitions:
                    key = (seen.group, seen.generation, partition)
                    owner = self._owners.setdefault(key, seen.member)
                    demand(
                        owner == seen.member,
                        f"in {which} {partition} belongs to {owner} and to {seen.member}",
                    )
                share = self._shares.setdefault(
                    (seen.group, seen.generation, seen.member), seen.partitions
                )
                demand(
                    share == seen.partitions,
                    f"in {which} {seen.member} was given {share} and {seen.partitions}",
                )
            case PowerLost():
                self._owners.clear()
                self._shares.clear()
            case _:
                pass


class NobodyReadsWhatAnotherHolds:
    """While a member may rely on its session, nobody else is given what it reads."""

    def __init__(self, *, forgives_deaths: bool = False) -> None:
        """`forgives_deaths`: what was held before the broker ended may be given to others."""
        self._forgives_deaths = forgives_deaths
        self._held: dict[tuple[str, TopicPartition], MemberHolds] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case MemberHolds():
                self._hold(seen)
            case PowerLost():
                self._held.clear()
            case Died() | Stopped() if self._forgives_deaths:
                self._held.clear()
            case _:
                pass

    def _hold(self, seen: MemberHolds) -> None:
        others = {
            key: holder
            for key, holder in self._held.items()
            if (holder.group, holder.member) != (seen.group, seen.member)
        }
        for partition in seen.partitions:
            holder = others.get((seen.group, partition), seen)
            demand(
                holder is seen or holder.until_ms <= seen.at_ms,
                f"{seen.member} of {seen.group} is given {partition}, which {holder.member} may "
                f"read for {holder.until_ms - seen.at_ms} ms more",
            )
        self._held = others | {(seen.group, each): seen for each in seen.partitions}


class OldGenerationsAreRefused:
    """Once a member has its share of a generation, nothing is taken from an older one."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = defaultdict(lambda: -1)
        self._asked: dict[int, int] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case GroupAsked():
                self._asked[seen.token] = self._latest[seen.group]
            case MemberAccepted():
                least = self._asked.pop(seen.token)
                demand(
                    seen.generation >= least,
                    f"{seen.group} was in generation {least} and took something of "
                    f"generation {seen.generation}",
                )
            case MemberAssigned():
                self._latest[seen.group] = max(self._latest[seen.group], seen.generation)
            case PowerLost():
                self._latest.clear()
                self._asked = dict.fromkeys(self._asked, -1)
            case _:
                pass


@dataclass(slots=True)
class _Commit:
    offset: int | None
    generation: int
    sent_at: int
    """Counts what was seen: an order of events, no time."""
    answered_at: int | None = None


class _Position:
    """What a group's position in one partition may be."""

    def __init__(self) -> None:
        nothing = _Commit(None, -1, 0, 0)
        self.possible = {_NOTHING: nothing}
        """By token: those that may count now."""
        self.since_stop = {_NOTHING: nothing}
        """Those that counted at some time since the last clean stop: a loss of power may leave any
        of them."""

    def kept(self, kept: _Commit) -> None:
        """What was answered before this was sent counts no more, nor does anything of an older
        generation, which the broker must have seen before."""
        self.possible = {
            token: other
            for token, other in self.possible.items()
            if other is kept
            or (
                other.generation >= kept.generation
                and (other.answered_at is None or other.answered_at > kept.sent_at)
            )
        }


_NOTHING = -1


class CommitsAreKept:
    """The last position that was kept is what a group gets, or one that was sent since and not
    answered: none is lost, and none comes back that another replaced."""

    def __init__(self) -> None:
        self._positions: dict[tuple[str, TopicPartition], _Position] = defaultdict(_Position)
        self._unanswered: dict[int, tuple[_Position, _Commit]] = {}
        self._asked: dict[int, tuple[CommitAsked, set[int | None]]] = {}
        """By token: a question, and what its answer may be."""
        self._now = 0

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        self._now += 1
        match seen:
            case CommitSent():
                self._send(seen)
            case CommitAnswered():
                self._answer(seen)
            case CommitAsked():
                possible = self._positions[seen.group, seen.partition].possible
                self._asked[seen.token] = (seen, {commit.offset for commit in possible.values()})
            case CommitSeen():
                self._compare(seen)
            case Stopped():
                for position in self._positions.values():
                    position.since_stop = dict(position.possible)
            case PowerLost():
                self._unanswered.clear()
                self._asked.clear()
                for position in self._positions.values():
                    for commit in position.since_stop.values():
                        commit.answered_at = 0  # Whatever is kept next replaces it.
                    position.possible = dict(position.since_stop)
            case _:
                pass

    def _send(self, seen: CommitSent) -> None:
        position = self._positions[seen.group, seen.partition]
        commit = _Commit(seen.offset, seen.generation, self._now)
        position.possible[seen.token] = position.since_stop[seen.token] = commit
        self._unanswered[seen.token] = (position, commit)
        for asked, allowed in self._asked.values():
            if (asked.group, asked.partition) == (seen.group, seen.partition):
                allowed.add(seen.offset)

    def _answer(self, seen: CommitAnswered) -> None:
        if seen.token not in self._unanswered:
            return  # Asked before a loss of power.
        position, commit = self._unanswered.pop(seen.token)
        commit.answered_at = self._now
        if seen.is_kept:
            if seen.token in position.possible:
                position.kept(commit)
        else:
            position.possible.pop(seen.token, None)
            position.since_stop.pop(seen.token, None)

    def _compare(self, seen: CommitSeen) -> None:
        if seen.token not in self._asked:
            return
        asked, allowed = self._asked.pop(seen.token)
        demand(
            seen.offset in allowed,
            f"{asked.group} has position {seen.offset} in {asked.partition}; possible were "
            f"{sorted(allowed, key=str)}",
        )
