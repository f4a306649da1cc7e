"""What a partition's group coordinator is asked and told about the offsets of groups of any kind,
and what it answers. See `classic/events.py` for tokens.

Replies carry their error codes, except that an event about a single group's offsets
(`CommitOffsets`, `FetchOffsets`, `DeleteOffsets`) may be refused as a whole, with a `KafkaError`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.errors import ErrorCode
from kafkalite.types import ZERO_UUID, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Uuid

NO_GENERATION = -1
"""Of a commit: the consumer is no member, it only keeps its offsets here."""


# Requests, and what is told.


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


class TopicsDeleted(NamedTuple):
    """Topics are gone, and so are the offsets that were committed for them."""

    topics: tuple[str, ...]
    token: None = None


class ExpireOffsets(NamedTuple):
    """Time to look for offsets and groups that nobody needs any more."""

    token: None = None


OffsetEvent = (
    CommitOffsets
    | CommitTransactionalOffsets
    | EndTransactionalOffsets
    | FetchOffsets
    | DeleteOffsets
    | TopicsDeleted
    | ExpireOffsets
)


# Replies.


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


OffsetBody = OffsetsCommitted | TransactionalOffsetsEnded | OffsetsFetched | OffsetsDeleted
