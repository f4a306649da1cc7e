"""What a partition's group coordinator is asked and told, and what it answers: two closed unions.

A `token` names whoever waits for the reply; None where nobody does. Ids are drawn by whoever makes
the event, so that the same event gives the same decision. A reply to a JoinGroup or SyncGroup may
come with a later event's outcome: the request waits for the group.

Replies carry their error codes: none of these events is refused with a `KafkaError`, except that
an event about a single group's offsets (`CommitOffsets`, `DeleteOffsets`) is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.errors import ErrorCode
from kafkalite.types import ZERO_UUID, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Uuid

NO_MEMBER_ID = ""
"""What a member without an id sends."""
NO_GENERATION = -1
"""Of a commit: the consumer is no member, it only keeps its offsets here."""


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


class OffsetToCommit(NamedTuple):
    """A position in a partition that exists: the handler refuses others before."""

    topic: str
    partition: int
    offset: Offset
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)
    metadata: str | None = ""
    """None is kept as an empty text."""
    topic_id: Uuid = ZERO_UUID


class CommitOffsets(NamedTuple):
    """Answered by `OffsetsCommitted`. Refused as a whole with `KafkaError`: UNKNOWN_MEMBER_ID,
    ILLEGAL_GENERATION, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS, GROUP_ID_NOT_FOUND; by a consumer
    group also STALE_MEMBER_EPOCH and UNSUPPORTED_VERSION."""

    token: Hashable
    group_id: str
    generation: int
    """Or the member epoch."""
    member_id: str
    instance_id: str | None
    offsets: tuple[OffsetToCommit, ...]
    retention_ms: int = -1
    """How long they are kept whatever the group does (versions 2 to 4); -1: as the group says."""
    knows_consumer_groups: bool = True
    """From version 9; older ones are told ILLEGAL_GENERATION where there is no such group, and
    members of consumer groups may not use them."""


class TopicPartitions(NamedTuple):
    """Some partitions of a topic."""

    topic: str
    partitions: tuple[int, ...]


class CommitTransactionalOffsets(NamedTuple):
    """Answered by `OffsetsCommitted`: kept, and counted once the producer's transaction commits."""

    token: Hashable
    commit: CommitOffsets
    producer_id: ProducerId
    producer_epoch: ProducerEpoch

    @property
    def group_id(self) -> str:
        """Of whom the offsets are."""
        return self.commit.group_id


class EndTransactionalOffsets(NamedTuple):
    """A producer's transaction is over: its offsets count, or never did. Answered by
    `TransactionalOffsetsEnded`."""

    token: Hashable
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    commits: bool
    coordinator_epoch: int
    """Of the transaction's coordinator."""


class FetchOffsets(NamedTuple):
    """Answered by `OffsetsFetched`. Refused with `KafkaError` by a consumer group:
    UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH."""

    token: Hashable
    group_id: str
    topics: tuple[TopicPartitions, ...] | None
    """None: all that the group has committed."""
    require_stable: bool = False
    """Offsets that an open transaction may replace are refused with UNSTABLE_OFFSET_COMMIT."""
    member_id: str | None = None
    """Of who asks as a member of a consumer group."""
    member_epoch: int = -1


class DeleteOffsets(NamedTuple):
    """Answered by `OffsetsDeleted`. Refused as a whole with `KafkaError`: INVALID_GROUP_ID,
    GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP."""

    token: Hashable
    group_id: str
    topics: tuple[TopicPartitions, ...]


class ListGroups(NamedTuple):
    """Answered by `GroupsListed`: this partition's share of the answer."""

    token: Hashable
    states: tuple[str, ...] = ()
    """In any case, with spaces around or not; empty: all."""
    types: tuple[str, ...] = ()
    """In any case; empty: all. Types that do not exist match nothing."""


class DescribeGroups(NamedTuple):
    """Answered by `GroupsDescribed`."""

    token: Hashable
    group_ids: tuple[str, ...]


class DeleteGroups(NamedTuple):
    """Answered by `GroupsDeleted`."""

    token: Hashable
    group_ids: tuple[str, ...]


# What is told, by the driver and by timers.


class Loaded(NamedTuple):
    """The log is read: the first event that a core gets. Timers start."""

    token: None = None


class TopicsDeleted(NamedTuple):
    """Topics are gone, and so are the offsets that were committed for them."""

    topics: tuple[str, ...]
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


class ExpireOffsets(NamedTuple):
    """Time to look for offsets and groups that nobody needs any more."""

    token: None = None


ClassicEvent = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | CommitOffsets
    | CommitTransactionalOffsets
    | EndTransactionalOffsets
    | FetchOffsets
    | DeleteOffsets
    | ListGroups
    | DescribeGroups
    | DeleteGroups
    | Loaded
    | TopicsDeleted
    | InitialDelayOver
    | JoinTimedOut
    | SyncTimedOut
    | SessionTimedOut
    | MemberDisconnected
    | ExpireOffsets
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


class CommittedOffset(NamedTuple):
    """Whether one offset was kept: NONE or OFFSET_METADATA_TOO_LARGE."""

    topic: str
    partition: int
    code: ErrorCode


class OffsetsCommitted(NamedTuple):
    """In the order of the request."""

    offsets: tuple[CommittedOffset, ...]


class TransactionalOffsetsEnded(NamedTuple):
    """The marker stands in the log."""

    producer_id: ProducerId


class FetchedOffset(NamedTuple):
    """What was committed; -1 for both numbers where nothing was."""

    topic: str
    partition: int
    offset: Offset = Offset(-1)
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)
    metadata: str = ""
    code: ErrorCode = ErrorCode.NONE


class OffsetsFetched(NamedTuple):
    """In the order of the request; all of a group's, in the order of topics' first commits."""

    offsets: tuple[FetchedOffset, ...]


class DeletedOffset(NamedTuple):
    """NONE, also where there was no offset; GROUP_SUBSCRIBED_TO_TOPIC."""

    topic: str
    partition: int
    code: ErrorCode


class OffsetsDeleted(NamedTuple):
    """In the order of the request."""

    offsets: tuple[DeletedOffset, ...]


class ListedGroup(NamedTuple):
    """A group, in Kafka's words for states (`Stable`) and types (`classic`)."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupsListed(NamedTuple):
    """Those that pass the filters."""

    groups: tuple[ListedGroup, ...]


class DescribedMember(NamedTuple):
    """A member. Without `metadata` unless the group is stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    """A group; one that does not exist is `Dead`, with GROUP_ID_NOT_FOUND, which versions before 6
    are not told."""

    group_id: str
    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class GroupsDescribed(NamedTuple):
    """In the order of the request."""

    groups: tuple[DescribedGroup, ...]


class DeletedGroup(NamedTuple):
    """NONE, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP."""

    group_id: str
    code: ErrorCode
    message: str | None = None


class GroupsDeleted(NamedTuple):
    """In the order of the request; those named twice come once."""

    groups: tuple[DeletedGroup, ...]


ClassicBody = (
    Joined
    | Synced
    | HeartbeatSeen
    | Left
    | OffsetsCommitted
    | TransactionalOffsetsEnded
    | OffsetsFetched
    | OffsetsDeleted
    | GroupsListed
    | GroupsDescribed
    | GroupsDeleted
)
