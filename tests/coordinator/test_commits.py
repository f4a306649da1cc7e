from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.administration_events import DeleteGroups
from kafkalite.coordinator.groups.log_record import Record, TransactionEnded
from kafkalite.coordinator.groups.offset_events import (
    CommittedOffset,
    DeletedOffset,
    DeleteOffsets,
    ExpireOffsets,
    FetchedOffset,
    FetchOffsets,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsFetched,
    OffsetToCommit,
    TopicPartitions,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.types import LeaderEpoch, Offset, ProducerId, Uuid
from tests.coordinator.sample_groups import GROUP, RANGE, Stage, subscription

FIVE = OffsetToCommit("t", 0, Offset(5))
TOPIC = Uuid(b"sixteen bytes id")
PRODUCER = ProducerId(9)
DAY_MS = 24 * 3_600_000


def test_a_simple_consumer_needs_no_group() -> None:
    stage = Stage()
    full = OffsetToCommit("t", 2, Offset(7), LeaderEpoch(3), "said", TOPIC)
    reply = stage.ask(stage.commit_event(FIVE, full))
    assert reply == OffsetsCommitted(
        (CommittedOffset("t", 0, ErrorCode.NONE), CommittedOffset("t", 2, ErrorCode.NONE))
    )
    assert stage.fetch() == (
        FetchedOffset("t", 0, Offset(5)),
        FetchedOffset("t", 2, Offset(7), LeaderEpoch(3), "said"),
    )
    assert stage.log[1] == Record(
        OffsetCommitKey(group=GROUP, topic="t", partition=2),
        OffsetCommitValue(
            offset=7,
            leader_epoch=3,
            metadata="said",
            commit_timestamp=stage.now,
            topic_id=TOPIC,
        ),
    )


def test_an_empty_group_id_is_as_good_as_any() -> None:
    stage = Stage()
    stage.feed(stage.commit_event(FIVE)._replace(group_id=""))
    assert stage.fetched("") == {"t-0": 5}


@pytest.mark.parametrize(
    ("metadata", "fits"),
    [
        (None, True),
        ("x" * 4096, True),
        ("x" * 4097, False),
        ("é" * 4096, True),
        ("\U0001f600" * 2048, True),
        ("\U0001f600" * 2049, False),
    ],
)
def test_metadata_has_a_size_in_javas_characters(metadata: str | None, fits: bool) -> None:
    stage = Stage()
    reply = stage.ask(stage.commit_event(FIVE, FIVE._replace(partition=1, metadata=metadata)))
    assert isinstance(reply, OffsetsCommitted)
    code = ErrorCode.NONE if fits else ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert [offset.code for offset in reply.offsets] == [ErrorCode.NONE, code]
    assert len(stage.fetch()) == 1 + fits


def test_a_generation_needs_a_group() -> None:
    stage = Stage()
    event = stage.commit_event(FIVE, generation=0)
    assert stage.refused(event) is ErrorCode.GROUP_ID_NOT_FOUND
    older = event._replace(knows_consumer_groups=False)
    assert stage.refused(older) is ErrorCode.ILLEGAL_GENERATION


def test_members_commit_in_their_generation() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.commit("t", 5, member_id=a, generation=1)
    assert stage.fetched() == {"t-0": 5}
    refused = [
        stage.refused(stage.commit_event(FIVE, member_id=member_id, generation=generation))
        for member_id, generation in ((a, 0), (a, 2), (a, -1), ("nobody", 1), ("", -1), ("", 1))
    ]
    assert refused == [
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


def test_a_fenced_member_commits_nothing() -> None:
    stage = Stage()
    id = stage.join(stage.join_event(instance="i")).member_id
    stage.sync(stage.sync_event(id, 1))
    stage.join(stage.join_event(instance="i"))
    event = stage.commit_event(FIVE, member_id=id, generation=1)._replace(instance_id="i")
    assert stage.refused(event) is ErrorCode.FENCED_INSTANCE_ID


def test_a_commit_shows_that_a_member_is_alive() -> None:
    stage = Stage()
    a, _ = stage.stable("a", "b")
    stage.advance(9_999)
    stage.commit("t", 5, member_id=a, generation=2)
    stage.advance(9_999)
    assert [member.member_id for member in stage.describe().members] == [a]


def test_members_commit_before_they_join_again_but_not_after() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    joins = stage.join_event()
    stage.feed(joins)
    stage.commit("t", 5, member_id=a, generation=1)
    stage.join(stage.join_event(a, RANGE._replace(metadata=b"x")))
    event = stage.commit_event(FIVE, member_id=a, generation=2)
    assert stage.refused(event) is ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.fetched() == {"t-0": 5}


def test_an_empty_group_takes_commits_of_anybody_without_a_generation() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.leave(a)
    stage.commit("t", 5, member_id="whoever")
    assert stage.fetched() == {"t-0": 5}
    event = stage.commit_event(FIVE, member_id="whoever", generation=2)
    assert stage.refused(event) is ErrorCode.UNKNOWN_MEMBER_ID


def test_fetching_what_was_never_committed() -> None:
    stage = Stage()
    topics = (TopicPartitions("t", (1, 0)), TopicPartitions("u", (0,)))
    nothing = OffsetsFetched((FetchedOffset("t", 1), FetchedOffset("t", 0), FetchedOffset("u", 0)))
    assert stage.ask(FetchOffsets("a", GROUP, topics)) == nothing
    assert stage.fetch() == ()
    stage.commit("t", 5)
    some = OffsetsFetched(
        (FetchedOffset("t", 1), FetchedOffset("t", 0, Offset(5)), FetchedOffset("u", 0))
    )
    assert stage.ask(FetchOffsets("b", GROUP, topics)) == some


def test_a_group_that_is_gone_has_no_offsets_whatever_the_log_says() -> None:
    stage = Stage()
    stage.commit("t", 5)
    stage.append(Record(GroupMetadataKey(group=GROUP), None))
    assert stage.fetch() == ()


def pending(stage: Stage, topic: str, offset: int) -> None:
    """An offset in an open transaction, in the log."""
    key = OffsetCommitKey(group=GROUP, topic=topic, partition=0)
    stage.append(Record(key, OffsetCommitValue(offset=offset), PRODUCER))


def test_stable_offsets_wait_for_transactions() -> None:
    stage = Stage()
    stage.commit("t", 5)
    pending(stage, "t", 6)
    assert stage.fetched() == {"t-0": 5}
    reply = stage.ask(FetchOffsets("stable", GROUP, None, require_stable=True))
    assert reply == OffsetsFetched((FetchedOffset("t", 0, code=ErrorCode.UNSTABLE_OFFSET_COMMIT),))
    stage.append(TransactionEnded(PRODUCER, committed=True))
    assert stage.fetched() == {"t-0": 6}


def delete(stage: Stage, *topics: str) -> list[ErrorCode]:
    event = DeleteOffsets(stage.token(), GROUP, tuple(TopicPartitions(t, (0,)) for t in topics))
    reply = stage.ask(event)
    assert isinstance(reply, OffsetsDeleted)
    return [offset.code for offset in reply.offsets]


def test_offsets_that_nobody_reads_can_be_deleted() -> None:
    stage = Stage()
    stage.stable("a", metadata=subscription("t"))
    for topic in ("t", "u"):
        stage.append(
            Record(
                OffsetCommitKey(group=GROUP, topic=topic, partition=0),
                OffsetCommitValue(offset=5),
            )
        )
    pending(stage, "v", 6)
    codes = delete(stage, "t", "u", "v", "absent")
    assert codes == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, *[ErrorCode.NONE] * 3]
    stage.append(TransactionEnded(PRODUCER, committed=True))
    assert stage.fetched() == {"t-0": 5}


def test_deleting_offsets_needs_a_group() -> None:
    stage = Stage()
    event = DeleteOffsets("t", "", ())
    assert stage.refused(event) is ErrorCode.INVALID_GROUP_ID
    assert stage.refused(event._replace(group_id=GROUP)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert delete_after_commit(stage) == [ErrorCode.NONE]


def delete_after_commit(stage: Stage) -> list[ErrorCode]:
    stage.commit("t", 5)
    return delete(stage, "t")


def test_members_that_are_no_consumers_may_need_any_offset() -> None:
    stage = Stage()
    (a,) = stage.stable("a", type="connect")
    event = DeleteOffsets("t", GROUP, (TopicPartitions("t", (0,)),))
    assert stage.refused(event) is ErrorCode.NON_EMPTY_GROUP
    stage.leave(a)
    assert stage.ask(event) == OffsetsDeleted((DeletedOffset("t", 0, ErrorCode.NONE),))


def test_topics_take_their_offsets_along() -> None:
    stage = Stage()
    stage.commit("t", 5)
    stage.commit("u", 6)
    stage.feed(stage.commit_event(FIVE)._replace(group_id="other"))
    pending(stage, "t", 7)
    pending(stage, "v", 8)
    stage.feed(TopicsDeleted(("t", "v")))
    stage.append(TransactionEnded(PRODUCER, committed=True))
    assert stage.fetched() == {"u-0": 6}
    assert stage.fetched("other") == {}


def test_a_deleted_group_takes_its_offsets_along() -> None:
    stage = Stage()
    stage.commit("t", 5)
    pending(stage, "u", 6)
    outcome = stage.feed(DeleteGroups("t", (GROUP,)))
    assert len(outcome.records) == 3
    stage.append(TransactionEnded(PRODUCER, committed=True))
    stage.commit("v", 1)
    assert stage.fetched() == {"v-0": 1}


# Expiry.

SETTINGS = GroupSettings(offsets_retention_ms=DAY_MS)


def expire(stage: Stage) -> int:
    """How many tombstones follow from a look now."""
    return len(stage.feed(ExpireOffsets()).records)


def test_a_simple_consumers_offsets_go_by_their_age() -> None:
    stage = Stage(SETTINGS)
    stage.commit("t", 5)
    stage.now += DAY_MS - 1
    stage.commit("u", 5)
    assert expire(stage) == 0
    stage.now += 1
    assert expire(stage) == 1
    assert stage.fetched() == {"u-0": 5}
    stage.now += DAY_MS
    assert expire(stage) == 2
    assert stage.state == "Dead"


def test_an_empty_groups_offsets_go_by_its_emptiness() -> None:
    stage = Stage(SETTINGS)
    (a,) = stage.stable("a")
    stage.commit("t", 5, member_id=a, generation=1)
    stage.now += DAY_MS
    stage.leave(a)
    stage.now += DAY_MS - 1
    stage.commit("u", 5)
    assert expire(stage) == 0
    stage.now += 1
    assert expire(stage) == 3
    assert stage.state == "Dead"


def test_a_group_of_the_oldest_records_does_not_know_since_when_it_is_empty() -> None:
    stage = Stage(SETTINGS)
    value = GroupMetadataValue(protocol_type="consumer", protocol=None, leader=None)
    stage.append(Record(GroupMetadataKey(group=GROUP), value))
    stage.commit("t", 5)
    stage.now += DAY_MS - 1
    assert expire(stage) == 0
    stage.now += 1
    assert expire(stage) == 2


def test_offsets_with_an_expiry_of_their_own() -> None:
    stage = Stage(SETTINGS)
    stage.feed(stage.commit_event(FIVE)._replace(retention_ms=1000))
    stage.now += 999
    assert expire(stage) == 0
    stage.now += 1
    assert expire(stage) == 2


def test_a_stable_group_keeps_what_it_reads() -> None:
    stage = Stage(SETTINGS)
    (a,) = stage.stable("a", metadata=subscription("t"))
    for topic in ("t", "u"):
        stage.commit(topic, 5, member_id=a, generation=1)
    stage.now += DAY_MS
    assert expire(stage) == 1
    assert stage.fetched() == {"t-0": 5}


def test_a_rebalancing_group_keeps_everything() -> None:
    stage = Stage(SETTINGS)
    (a,) = stage.stable("a", metadata=subscription("t"))
    stage.commit("u", 5, member_id=a, generation=1)
    stage.feed(stage.join_event())
    stage.now += DAY_MS
    assert expire(stage) == 0


def test_members_that_cannot_be_read_keep_everything() -> None:
    stage = Stage(SETTINGS)
    (a,) = stage.stable("a", metadata=b"?")
    stage.commit("u", 5, member_id=a, generation=1)
    stage.now += DAY_MS
    assert expire(stage) == 0


def test_open_transactions_keep_an_offset_and_the_group() -> None:
    stage = Stage(SETTINGS)
    stage.commit("t", 5)
    stage.commit("u", 5)
    pending(stage, "t", 6)
    stage.now += DAY_MS
    assert expire(stage) == 1
    stage.append(TransactionEnded(PRODUCER, committed=False))
    assert expire(stage) == 2


def test_a_group_without_offsets_goes_with_the_next_look() -> None:
    stage = Stage(SETTINGS)
    stage.join(stage.join_event(first=True))
    pending(stage, "t", 6)
    assert expire(stage) == 0
    stage.append(TransactionEnded(PRODUCER, committed=False))
    assert expire(stage) == 1
    assert stage.state == "Dead"


def test_members_hold_a_group_without_offsets() -> None:
    stage = Stage(SETTINGS)
    stage.stable("a")
    assert expire(stage) == 0
    assert stage.state == "Stable"
