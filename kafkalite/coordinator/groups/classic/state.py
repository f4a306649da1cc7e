"""A classic group as it lives: members, votes, and who waits for what. Soft state.

A group that is stable or empty is as its last record says (`records.py` goes both ways), and one
that is rebalancing may be lost with its broker: members then join again. What is applied from the
log is in `groups/recorded.py`. Source: Kafka's `ClassicGroup`, `ClassicGroupMember`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum

from kafkalite.coordinator.groups.classic.events import GroupProtocol, JoinedMember
from kafkalite.coordinator.groups.classic.subscription import subscribed_topics
from kafkalite.coordinator.groups.classic.voting import select_protocol
from kafkalite.errors import ErrorCode
from kafkalite.types import NO_TIMESTAMP, TimestampMs

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of groups whose members subscribe to topics."""
DEAD = "Dead"
"""Kafka's word for a group that does not exist."""


class GroupState(Enum):
    """The values are Kafka's words.

    | state | leaves it |
    | --- | --- |
    | Empty | a member joins: PreparingRebalance; deleted or expired: gone |
    | PreparingRebalance | all have joined, or the rebalance timeout: CompletingRebalance, or Empty
    when nobody is left |
    | CompletingRebalance | the leader syncs: Stable; anybody joins anew, leaves, fails, or does not
    sync in time: PreparingRebalance |
    | Stable | as CompletingRebalance |
    """

    # Heartbeat, SyncGroup: UNKNOWN_MEMBER_ID. Commits without a generation are welcome.
    EMPTY = "Empty"
    # Heartbeat, SyncGroup: REBALANCE_IN_PROGRESS. JoinGroup waits. Commits of members are taken.
    PREPARING_REBALANCE = "PreparingRebalance"
    # SyncGroup waits for the leader's. Commits: REBALANCE_IN_PROGRESS.
    COMPLETING_REBALANCE = "CompletingRebalance"
    # SyncGroup is answered at once, JoinGroup too where it changes nothing.
    STABLE = "Stable"


@dataclass(slots=True)
class Member:
    """A member of a group, by the id that it was given."""

    member_id: str
    instance_id: str | None
    """Of a static member: it may be away for its session timeout without a rebalance."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[GroupProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    """It has not been told yet that it joined, so it cannot send heartbeats."""
    awaiting_join: Hashable | None = None
    """The token of its JoinGroup, while that waits."""
    awaiting_sync: Hashable | None = None

    def metadata(self, protocol: str) -> bytes:
        """What it says under that protocol, which it supports."""
        return next(mine.metadata for mine in self.protocols if mine.name == protocol)

    @property
    def must_heartbeat(self) -> bool:
        """Whether silence counts: not of one who waits for us, except that new ones may have given
        up."""
        return self.is_new or (self.awaiting_join is None and self.awaiting_sync is None)


@dataclass(slots=True)
class ClassicGroup:
    """One group. Methods keep its parts in step; the rules are elsewhere."""

    group_id: str
    state: GroupState = GroupState.EMPTY
    state_timestamp: TimestampMs = NO_TIMESTAMP
    """Since when it is in that state; unknown for the oldest records."""
    was_empty: bool = False
    """While preparing a rebalance: the group is new, and waits for more members to come."""
    generation: int = 0
    protocol_type: str | None = None
    """None of a group that never had members: a simple consumer's, or one just made."""
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id -> member id."""
    pending_members: set[str] = field(default_factory=set)
    """Ids that were given with MEMBER_ID_REQUIRED and have not come back yet."""
    pending_sync: dict[str, None] = field(default_factory=dict)
    """Members of this generation that have not synced yet; in their order."""
    new_member_added: bool = False
    """Since the initial delay began, so that it is drawn out."""
    subscribed_topics: frozenset[str] | None = None
    """None: not known."""
    _supporters: Counter[str] = field(default_factory=Counter)
    """Protocol -> how many members support it."""

    # Members.

    def add(self, member: Member) -> None:
        """A member joins whose protocols the group supports."""
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._supporters.update(_names(member.protocols))
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """A member, or one that is still to come, is out. The oldest one becomes the leader when it
        was that."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supporters.subtract(_names(member.protocols))
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.pending_sync.pop(member_id, None)

    def set_protocols(self, member: Member, protocols: tuple[GroupProtocol, ...]) -> None:
        """What a member supports from now on."""
        self._supporters.subtract(_names(member.protocols))
        member.protocols = protocols
        self._supporters.update(_names(protocols))

    def replace_static(self, old: Member, new_member_id: str) -> Member:
        """A static member is back under another id; it keeps its assignment and its place.

        Kafka differs: when a static member is back under another id, it goes on waiting for the
        SyncGroup of the old one, which cannot come, and rebalances when the time for it is
        over."""
        assert old.instance_id is not None, old
        new = Member(
            new_member_id,
            old.instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocols,
            old.assignment,
        )
        self.members = {member.member_id: member for member in self._with(old, new)}
        self.static_members[old.instance_id] = new_member_id
        if self.leader == old.member_id:
            self.leader = new_member_id
        if old.member_id in self.pending_sync:
            del self.pending_sync[old.member_id]
            self.pending_sync[new_member_id] = None
        return new

    def _with(self, old: Member, new: Member) -> list[Member]:
        return [new if member is old else member for member in self.members.values()]

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID for one whose place another has taken."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # Joining.

    @property
    def all_joined(self) -> bool:
        """Whether all members wait in JoinGroup, and nobody has been given an id and is not here
        yet."""
        return not self.pending_members and self.joined == len(self.members)

    @property
    def joined(self) -> int:
        """Members that wait in JoinGroup."""
        return sum(member.awaiting_join is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members'."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def supports(self, protocol_type: str, protocols: tuple[GroupProtocol, ...]) -> bool:
        """Whether someone with these could be a member: of an empty group with any, else one of
        them must be everybody's."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        return protocol_type == self.protocol_type and any(
            self._supporters[mine.name] == len(self.members) for mine in protocols
        )

    def elect_joined_leader(self) -> bool:
        """Have a leader that is here: the first one that waits in JoinGroup if the leader does not.
        False when nobody does."""
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join is None:
            joined = (m.member_id for m in self.members.values() if m.awaiting_join is not None)
            first = next(joined, None)
            if first is None:
                return False
            self.leader = first
        return True

    def select_protocol(self) -> str:
        """What the members vote for; there are some."""
        return select_protocol(
            [[mine.name for mine in member.protocols] for member in self.members.values()]
        )

    def start_generation(self, now: TimestampMs) -> None:
        """The next generation, of the members that are left."""
        self.generation += 1
        self.pending_sync.clear()
        self.protocol = self.select_protocol() if self.members else None
        self.update_subscribed_topics()
        if self.members:
            self.move_to(GroupState.COMPLETING_REBALANCE, now)
        else:
            self.move_to(GroupState.EMPTY, now)

    def move_to(self, state: GroupState, now: TimestampMs) -> None:
        """Enter a state."""
        self.was_empty = self.state is GroupState.EMPTY
        self.state = state
        self.state_timestamp = now

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """What the leader of this generation is told."""
        protocol = self.protocol
        assert protocol is not None, "no generation has started"
        return tuple(
            JoinedMember(m.member_id, m.instance_id, m.metadata(protocol))
            for m in self.members.values()
        )

    # Offsets; see `groups/commits.py`.

    @property
    def offsets_may_expire(self) -> bool:
        """Without members always; with members only what consumers surely do not read."""
        return self.state is GroupState.EMPTY or (
            self.state is GroupState.STABLE and self.subscribed_topics is not None
        )

    @property
    def may_forget_offsets(self) -> bool:
        """Whether offsets may be deleted: while it has members, only where it can be known what
        they read."""
        return self.state is GroupState.EMPTY or self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def unused_since(self, commit_timestamp: int) -> int:
        """Since when nobody needs an offset of that commit: not while the group had members."""
        had_members = self.protocol_type is not None
        if had_members and self.state is GroupState.EMPTY and self.state_timestamp != NO_TIMESTAMP:
            return self.state_timestamp
        return commit_timestamp

    # Subscriptions.

    def update_subscribed_topics(self) -> None:
        """Read what the members of this generation subscribe to."""
        self.subscribed_topics = None
        if self.protocol_type == CONSUMER_PROTOCOL_TYPE:
            protocol = self.protocol
            self.subscribed_topics = subscribed_topics(
                [m.metadata(protocol) for m in self.members.values() if protocol is not None]
            )

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic; where that cannot be known, of consumers it is
        assumed."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics


def _names(protocols: tuple[GroupProtocol, ...]) -> set[str]:
    return {mine.name for mine in protocols}
