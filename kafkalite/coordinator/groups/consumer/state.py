"""A consumer group as its records say. Only `replay.py` writes it.

Source: Kafka's `ConsumerGroup`, `ModernGroup`, `ConsumerGroupMember`, `MemberState`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from kafkalite.coordinator.groups.assignors.subject import Partitions
from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import TimestampMs, Uuid

T = TypeVar("T")

Owned = Mapping[Uuid, Mapping[int, int]]
"""Topic -> partition -> the epoch that it was assigned in. No topic without a partition."""

NOTHING: Mapping[Any, Any] = MappingProxyType({})  # Any: it holds nothing of any kind.
FIRST_EPOCH = 1
"""Of a group that nobody has subscribed in."""
JOINING_EPOCH = 0
"""What a member sends who joins, or joins again."""
LEAVING_EPOCH = -1
NEVER = TimestampMs(0)
"""When there was an assignment, if there was none."""
STATIC_LEAVING_EPOCH = -2
"""A static member leaves and will be back: its place is kept for its session timeout."""


class MemberState(IntEnum):
    """How far a member is with its target assignment; the numbers are in the records.

    | state | leaves it |
    | --- | --- |
    | STABLE | a newer target assignment |
    | UNREVOKED_PARTITIONS | the member says that it owns nothing any more of what it is to give up;
    the rebalance timeout: it is out |
    | UNRELEASED_PARTITIONS | others have given up what it is to get |
    """

    # Has all that it is to have.
    STABLE = 0
    # Stays in its epoch, and keeps the others waiting.
    UNREVOKED_PARTITIONS = 1
    # Is in the target's epoch, with what is free of it.
    UNRELEASED_PARTITIONS = 2
    # Of a later release. It is fenced unless it says that it owns nothing.
    UNKNOWN = 127


class GroupState(Enum):
    """The values are Kafka's words.

    | state | leaves it |
    | --- | --- |
    | Empty | a member joins; deleted, or expired: gone |
    | Assigning | a target assignment for the group's epoch |
    | Reconciling | every member has come to the target |
    | Stable | the group's epoch rises: Assigning |
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ClassicUse(NamedTuple):
    """How a member joined that still speaks the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[GroupProtocol, ...]
    """At least one; the first is the one that it uses here."""


class Subscription(NamedTuple):
    """What members read; many of a group are alike in that."""

    topics: tuple[str, ...]
    """By name, sorted."""
    regex: str
    """Topics whose names match it, beside `topics`; empty: none."""


class Member(NamedTuple):
    """A member: what it said of itself, and what it has. A tuple, for one is made anew with every
    heartbeat."""

    member_id: str
    instance_id: str | None = None
    """Of a static member."""
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """Those that it subscribes to by name, sorted."""
    regex: str = ""
    """Topics whose names match it, beside `topics`; empty: none."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    """The one that it prefers."""
    epoch: int = JOINING_EPOCH
    previous_epoch: int = JOINING_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING
    """What it is to give up and may still use."""
    classic: ClassicUse | None = None
    """None: it speaks the consumer protocol."""

    @property
    def subscription(self) -> Subscription:
        """What it reads."""
        return Subscription(self.topics, self.regex)

    @property
    def classic_protocols(self) -> frozenset[str] | None:
        """By name; None: it speaks the consumer protocol."""
        return self.classic and frozenset(mine.name for mine in self.classic.protocols)

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it has come to the target assignment of that epoch."""
        return self.state is MemberState.STABLE and self.epoch == epoch


class ResolvedRegex(NamedTuple):
    """What a regular expression stands for."""

    topics: frozenset[str]
    version: int
    """Of the metadata that it was held against."""
    timestamp: TimestampMs


def names_of(said: Member | Subscription, regexes: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """The topics of a subscription, by name or by a regular expression of those."""
    resolved = regexes.get(said.regex) if said.regex else None
    names = frozenset(said.topics)
    return names if resolved is None else names | resolved.topics


def names_of_all(
    subscriptions: Iterable[Subscription], regexes: Mapping[str, ResolvedRegex]
) -> frozenset[str]:
    """The topics that any of them names."""
    return frozenset().union(*(names_of(each, regexes) for each in subscriptions))


def recount(counts: Counter[T], before: T | None, after: T | None) -> None:
    """A member is counted under `after` from now on, and under `before` no more; None: it is not
    in."""
    if before is not None:
        counts[before] -= 1
        if not counts[before]:
            del counts[before]
    if after is not None:
        counts[after] += 1


def recounted(counts: Counter[T], before: T | None, after: T | None) -> Counter[T]:
    """As `recount`, and `counts` stay as they are."""
    if before == after:
        return counts
    copy = counts.copy()
    recount(copy, before, after)
    return copy


@dataclass(slots=True)
class ConsumerGroup:
    """One group."""

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    """Of all topics that members subscribe to; 0: none of them exists."""
    assignment_epoch: int = FIRST_EPOCH
    assignment_timestamp: TimestampMs = NEVER
    """0: the next assignment need not wait for the assignment interval."""
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id -> member id."""
    targets: dict[str, Partitions] = field(default_factory=dict)
    """Member id -> what it is to have."""
    owner_epochs: dict[tuple[Uuid, int], int] = field(default_factory=dict)
    """Partition that a member has or still gives up -> the epoch that it has it from."""
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    subscriptions: Counter[Subscription] = field(init=False)
    """How many members have each; none that nobody has."""
    assignors: Counter[str] = field(init=False)
    """How many members ask for each; none that nobody asks for."""
    classic: Counter[frozenset[str]] = field(init=False)
    """How many members that speak the classic protocol can use these protocols of it."""

    def __post_init__(self) -> None:
        self.subscriptions, self.assignors, self.classic = Counter(), Counter(), Counter()
        for member in self.members.values():
            self.count(None, member)

    def count(self, before: Member | None, after: Member | None) -> None:
        """A member is now as `after`; None: it is not in."""
        recount(self.subscriptions, before and before.subscription, after and after.subscription)
        recount(self.assignors, before and before.assignor, after and after.assignor)
        recount(
            self.classic, before and before.classic_protocols, after and after.classic_protocols
        )

    @property
    def state(self) -> GroupState:
        """Follows from the epochs."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        at_target = all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values())
        return GroupState.STABLE if at_target else GroupState.RECONCILING

    def member(self, member_id: str) -> Member:
        """`KafkaError(UNKNOWN_MEMBER_ID)` where there is none."""
        found = self.members.get(member_id)
        if found is None:
            message = f"Member {member_id} is not a member of group {self.group_id}."
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, message)
        return found

    def static_member(self, instance_id: str) -> Member | None:
        """The one that has the place of that instance now."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def all_are_classic_but(self, others: Iterable[Member]) -> bool:
        """Whether all members but these speak the classic protocol."""
        here = len(self.members) - self.classic.total()
        return here == sum(other.classic is None for other in others)

    def supports(self, protocols: Iterable[GroupProtocol]) -> bool:
        """Whether a classic member with these could be one: all that are in have one of them."""
        return any(all(mine.name in names for names in self.classic) for mine in protocols)

    def names_of(self, member: Member) -> frozenset[str]:
        """The topics that it subscribes to, as far as is recorded."""
        return names_of(member, self.regexes)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return any(topic in names_of(each, self.regexes) for each in self.subscriptions)

    # What the offsets of any kind of group are asked; see `groups/commits.py`.

    @property
    def offsets_may_expire(self) -> bool:
        """Always: those of topics that nobody reads."""
        return True

    def unused_since(self, commit_timestamp: int) -> int:
        """An offset is as old as its commit."""
        return commit_timestamp
