"""What a partition's group coordinator is asked by members of classic groups, and told about them,
and what it answers: two closed unions.

A `token` names whoever waits for the reply; None where nobody does. Ids are drawn by whoever makes
the event, so that the same event gives the same decision. A reply to a JoinGroup or SyncGroup may
come with a later event's outcome: the request waits for the group.

Replies carry their error codes: none of these events is refused with a `KafkaError`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.coordinator.groups.offset_events import NO_GENERATION
from kafkalite.errors import ErrorCode

NO_MEMBER_ID = ""
"""What a member without an id sends."""


# Requests.


class GroupProtocol(NamedTuple):
    """One way of assigning that a member supports, with what it tells the leader then."""

    name: str
    metadata: bytes


class JoinGroup(NamedTuple):
    """Answered by `Joined`, when the group is ready."""

    token: Hashable
    group_id: str
    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: tuple[GroupProtocol, ...]
    """In the order of preference."""
    session_timeout_ms: int
    rebalance_timeout_ms: int | None
    """None: like the session timeout, as in version 0."""
    client_id: str
    client_host: str
    """As Kafka shows it: `/127.0.0.1`."""
    new_member_uuid: str
    """The text of a fresh random UUID; made into a member id where one is needed."""
    requires_known_member_id: bool = True
    """A dynamic member must come back with the id that it is given (from version 4)."""
    supports_skipping_assignment: bool = True
    """A leader can be told not to assign anew (from version 9)."""
    new_member_id: str = ""
    """Drawn at random, for one who brings none to a consumer group."""
    reason: str = ""
    """Why it joins, in the client's words (KIP-800)."""


class MemberAssignment(NamedTuple):
    """What the leader gives to one member; opaque here."""

    member_id: str
    assignment: bytes


class SyncGroup(NamedTuple):
    """Answered by `Synced`, when the leader has assigned."""

    token: Hashable
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None
    """None where the version does not know it; then it is not checked. So is `protocol`."""
    protocol: str | None = None
    assignments: tuple[MemberAssignment, ...] = ()
    """The leader's alone count."""


class Heartbeat(NamedTuple):
    """Answered by `HeartbeatSeen`."""

    token: Hashable
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None


class LeavingMember(NamedTuple):
    """By member id, or with an empty one by instance id."""

    member_id: str
    instance_id: str | None = None
    reason: str = ""
    """In the client's words (KIP-800)."""


class LeaveGroup(NamedTuple):
    """Answered by `Left`. Versions before 3 name one member."""

    token: Hashable
    group_id: str
    members: tuple[LeavingMember, ...]


# What is told, by the driver and by timers.


class Loaded(NamedTuple):
    """The log is read: the first event that a core gets. Timers start."""

    token: None = None


class InitialDelayOver(NamedTuple):
    """A new group has waited `delay_ms` for more members; it may wait `remaining_ms` more."""

    group_id: str
    delay_ms: int
    remaining_ms: int
    token: None = None


class JoinTimedOut(NamedTuple):
    """Members had their rebalance timeout to come back."""

    group_id: str
    token: None = None


class SyncTimedOut(NamedTuple):
    """Members of that generation had their rebalance timeout to sync."""

    group_id: str
    generation: int
    token: None = None


class SessionTimedOut(NamedTuple):
    """A member was silent for its session timeout."""

    group_id: str
    member_id: str
    token: None = None


class MemberDisconnected(NamedTuple):
    """The connection of a member has dropped, of any kind of group, and the broker is to evict it
    for that."""

    group_id: str
    member_id: str
    token: None = None


ClassicEvent = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | Loaded
    | InitialDelayOver
    | JoinTimedOut
    | SyncTimedOut
    | SessionTimedOut
    | MemberDisconnected
)


# Replies.


class JoinedMember(NamedTuple):
    """A member as its leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class Joined(NamedTuple):
    """A member of a generation; or why not, with the defaults of a refusal."""

    code: ErrorCode
    member_id: str
    """Given anew with MEMBER_ID_REQUIRED."""
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()
    """For the leader: all; for others nobody."""


class Synced(NamedTuple):
    """What the member is to do."""

    code: ErrorCode
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


class HeartbeatSeen(NamedTuple):
    """NONE: go on. REBALANCE_IN_PROGRESS: join again."""

    code: ErrorCode


class LeftMember(NamedTuple):
    """What became of one who wanted to leave; ids as they were asked."""

    member_id: str
    instance_id: str | None
    code: ErrorCode


class Left(NamedTuple):
    """In the order of the request. Before version 3 the first member's code is the request's."""

    code: ErrorCode
    members: tuple[LeftMember, ...] = ()


ClassicBody = Joined | Synced | HeartbeatSeen | Left
