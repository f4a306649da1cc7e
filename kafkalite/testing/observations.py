"""What clients of a broker sent and saw: the events that checkers judge (`testing.checkers`).

Whoever runs clients tells of each request before it goes out, and of each answer once it is there.
An answer that comes late may tell of an earlier time; so a question gets a token, and an answer is
judged by what was known when its question was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafkalite.errors import ErrorCode
from kafkalite.types import TopicPartition, Uuid


@dataclass(frozen=True, slots=True)
class RecordsSent:
    """Records go out, maybe not for the first time. Values are unique in the whole run."""

    partition: TopicPartition
    producer: str
    values: tuple[bytes, ...]
    is_idempotent: bool


@dataclass(frozen=True, slots=True)
class RecordsAcknowledged:
    """The broker promised to keep them."""

    partition: TopicPartition
    producer: str
    base_offset: int
    values: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PartitionAsked:
    """A question whose answer has the high watermark goes out."""

    token: int
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class HighWatermarkSeen:
    """An answer to that question."""

    token: int
    partition: TopicPartition
    high_watermark: int


@dataclass(frozen=True, slots=True)
class RecordsFetched:
    """The record bytes of an answer, if there were any."""

    partition: TopicPartition
    offset: int
    """What was asked for."""
    high_watermark: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PartitionInspected:
    """All of a partition, read while nobody wrote: records from `start_offset` (inclusive) to
    `end_offset` (exclusive)."""

    partition: TopicPartition
    start_offset: int
    end_offset: int
    records: Mapping[int, bytes]
    """Values by offset."""


@dataclass(frozen=True, slots=True)
class ProducerIdGiven:
    """To an idempotent producer."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """A topic is there: it was created, or listed. `topic_id` None: it is not there."""

    topic: str
    topic_id: Uuid | None


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """It is gone, with all that was in it, or may be; it may come again, as another one. Told
    before the request and after its answer, for whatever was answered in between."""

    topic: str


@dataclass(frozen=True, slots=True)
class DeletionSent:
    """Records below the offset are to be deleted."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class RecordsDeleted:
    """They are: the partition begins there, or later."""

    partition: TopicPartition
    start_offset: int


@dataclass(frozen=True, slots=True)
class MemberAssigned:
    """A member has its share of a generation."""

    group: str
    generation: int
    member: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class MemberHolds:
    """What a member reads from now on, and nothing else. Until its session may be over it is to be
    the only one."""

    group: str
    member: str
    partitions: tuple[TopicPartition, ...]
    at_ms: int
    until_ms: int
    """Exclusive: a session after the group was last asked something that it has taken."""


@dataclass(frozen=True, slots=True)
class MemberAccepted:
    """The group took something from a member as one of `generation`: a commit, a heartbeat. The
    token is of its `GroupAsked`."""

    token: int
    group: str
    generation: int


@dataclass(frozen=True, slots=True)
class GroupAsked:
    """A member asks its group for something."""

    token: int
    group: str


@dataclass(frozen=True, slots=True)
class CommitSent:
    """A position goes out to be kept. Until `CommitAnswered` it may count, or not."""

    token: int
    group: str
    generation: int
    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class CommitAnswered:
    """It was kept, or refused."""

    token: int
    is_kept: bool


@dataclass(frozen=True, slots=True)
class CommitAsked:
    """A member asks for the last position."""

    token: int
    group: str
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class CommitSeen:
    """The answer; None where there was none."""

    token: int
    offset: int | None


@dataclass(frozen=True, slots=True)
class TransactionSent:
    """A transaction is about to write one value to each of these partitions."""

    transaction: str
    values: Mapping[TopicPartition, bytes]


@dataclass(frozen=True, slots=True)
class TransactionEndAsked:
    """From now on it may end so, and not the other way."""

    transaction: str
    commits: bool


@dataclass(frozen=True, slots=True)
class TransactionEnded:
    """It has ended so: the broker said it."""

    transaction: str
    commits: bool


@dataclass(frozen=True, slots=True)
class TransactionalOffsetSent:
    """A transaction is about to commit an offset of a group, in which nobody else commits: it
    counts from the commit of the transaction on, or never."""

    transaction: str
    group: str
    offset: int


@dataclass(frozen=True, slots=True)
class StableOffsetSeen:
    """What a group has committed, and no transaction is about to change. Whoever asked knows how
    each of his transactions has ended, or that it was aborted."""

    group: str
    offset: int
    """-1: nothing."""


@dataclass(frozen=True, slots=True)
class CommittedSeen:
    """A reader of what is committed was shown this value."""

    partition: TopicPartition
    offset: int
    value: bytes


@dataclass(frozen=True, slots=True)
class StaleWriteAnswered:
    """What a producer was told that wrote after another of its transactional id had come."""

    transactional_id: str
    code: ErrorCode


@dataclass(frozen=True, slots=True)
class AllCommittedSeen:
    """No transaction is open or under way, and readers were shown everything up to the ends."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The broker stopped cleanly: what it promised survives a loss of power from now on."""


@dataclass(frozen=True, slots=True)
class Died:
    """The broker's process ended in the midst of things."""


@dataclass(frozen=True, slots=True)
class PowerLost:
    """The broker has lost power and is up again. What was acknowledged since the last clean stop
    may be gone, from some point of each partition on. Nobody but an inspector was served since."""

    end_offsets: Mapping[TopicPartition, int]
    """Where partitions end now; those of topics that are gone are not in it."""
    topics: Mapping[str, Uuid]
    """Those that are still there."""


Observation = (
    RecordsSent
    | RecordsAcknowledged
    | PartitionAsked
    | HighWatermarkSeen
    | RecordsFetched
    | PartitionInspected
    | ProducerIdGiven
    | TopicSeen
    | TopicDeleted
    | DeletionSent
    | RecordsDeleted
    | GroupAsked
    | MemberAssigned
    | MemberHolds
    | MemberAccepted
    | CommitSent
    | CommitAnswered
    | CommitAsked
    | CommitSeen
    | TransactionSent
    | TransactionEndAsked
    | TransactionEnded
    | TransactionalOffsetSent
    | StableOffsetSeen
    | CommittedSeen
    | StaleWriteAnswered
    | AllCommittedSeen
    | Stopped
    | Died
    | PowerLost
)
