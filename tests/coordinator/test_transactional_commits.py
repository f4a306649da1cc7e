"""Offsets of a group in a transaction: who may commit them, and what its end does."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.log_record import (
    JournalRecord,
    Record,
    TransactionEnded,
)
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    EndTransactionalOffsets,
    OffsetsCommitted,
    OffsetToCommit,
    TransactionalOffsetsEnded,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs, TopicPartition

NOW = TimestampMs(1_000)
PRODUCER = ProducerId(7)
EPOCH = ProducerEpoch(3)
STABLE = GroupMetadataValue(
    protocol_type="consumer",
    generation=1,
    protocol="range",
    leader="a",
    members=[MemberMetadata(member_id="a", session_timeout=10_000)],
)
PARTITION = TopicPartition("t", 0)


def commit(
    core: GroupCoordinator,
    *,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    metadata: str = "",
) -> tuple[object, tuple[JournalRecord, ...]]:
    offset = OffsetToCommit("t", 0, Offset(5), metadata=metadata)
    wanted = CommitOffsets(None, "g", generation, member, instance, (offset,))
    event = CommitTransactionalOffsets(1, wanted, PRODUCER, EPOCH)
    try:
        outcome = core.decide(event, NOW)
    except KafkaError as error:
        return error.code, ()
    for record in outcome.records:
        core.apply(record)
    (reply,) = outcome.replies
    assert isinstance(reply.body, OffsetsCommitted)
    return reply.body.offsets[0].code, outcome.records


def end(core: GroupCoordinator, *, commits: bool) -> tuple[JournalRecord, ...]:
    outcome = core.decide(EndTransactionalOffsets(1, PRODUCER, EPOCH, commits, 9), NOW)
    assert [reply.body for reply in outcome.replies] == [TransactionalOffsetsEnded(PRODUCER)]
    for record in outcome.records:
        core.apply(record)
    return outcome.records


def committed(core: GroupCoordinator) -> list[int]:
    return [each.offset for each in core.recorded.offsets.of_group("g").values()]


@pytest.mark.parametrize("commits", [True, False])
def test_offsets_are_of_the_producer_and_count_once_it_commits(commits: bool) -> None:
    core = GroupCoordinator()
    code, (record,) = commit(core)
    assert code is ErrorCode.NONE
    assert isinstance(record, Record)
    assert (record.producer_id, record.producer_epoch) == (PRODUCER, EPOCH)
    assert committed(core) == []
    assert PARTITION in core.recorded.offsets.pending_of_group("g")
    assert end(core, commits=commits) == (
        TransactionEnded(PRODUCER, committed=commits, producer_epoch=EPOCH, coordinator_epoch=9),
    )
    assert committed(core) == ([5] if commits else [])
    assert core.recorded.offsets.pending_of_group("g") == {}


def test_a_group_that_there_is_not_has_no_generation() -> None:
    assert commit(GroupCoordinator(), generation=1)[0] is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("generation", "member", "instance", "code"),
    [
        (-1, "", None, ErrorCode.NONE),
        (1, "a", None, ErrorCode.NONE),
        (2, "a", None, ErrorCode.ILLEGAL_GENERATION),
        (1, "stranger", None, ErrorCode.UNKNOWN_MEMBER_ID),
        (-1, "stranger", None, ErrorCode.UNKNOWN_MEMBER_ID),
        (-1, "", "stranger", ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_of_a_group_with_members_one_of_them_or_whoever_says_nothing(
    generation: int, member: str, instance: str | None, code: ErrorCode
) -> None:
    core = GroupCoordinator()
    core.apply(Record(GroupMetadataKey(group="g"), STABLE))
    found, _ = commit(core, generation=generation, member=member, instance=instance)
    assert found is code


def test_metadata_has_the_same_limit_as_ever() -> None:
    code, records = commit(GroupCoordinator(), metadata="x" * 4097)
    assert code is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert records == ()
