"""Who may commit and fetch offsets of a consumer group."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.offset_events import (
    CommitTransactionalOffsets,
    FetchOffsets,
    OffsetToCommit,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Offset, ProducerEpoch, ProducerId
from tests.coordinator.sample_consumers import ConsumerStage, id_of
from tests.coordinator.sample_groups import GROUP
from tests.coordinator.sample_migrations import mixed


def two_members() -> ConsumerStage:
    """`a` has partitions 0 and 1 since epoch 2, `b` 2 and 3 since epoch 3, in which both are."""
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.settle("a", "b")
    return stage


def commit(
    stage: ConsumerStage, member_id: str, epoch: int, partition: int = 0, *, knows: bool = True
) -> KafkaError | None:
    """Why not."""
    offset = OffsetToCommit("t", partition, Offset(5), topic_id=id_of("t"))
    event = stage.commit_event(offset, member_id=member_id, generation=epoch)
    try:
        stage.feed(event._replace(knows_consumer_groups=knows))
    except KafkaError as error:
        return error
    return None


def test_a_member_commits_with_its_epoch() -> None:
    stage = two_members()
    assert commit(stage, "a", 3) is None
    assert stage.fetched() == {"t-0": 5}


def test_a_member_may_commit_for_what_it_has_since_an_older_epoch() -> None:
    stage = two_members()
    assert commit(stage, "a", 2) is None
    older = commit(stage, "a", 1)
    assert older is not None
    assert (older.code, older.message) == (
        ErrorCode.STALE_MEMBER_EPOCH,
        "Received member epoch 1 is older than assignment epoch 2 for partition t-0.",
    )
    foreign = commit(stage, "a", 2, partition=2)
    assert foreign is not None
    assert (foreign.code, foreign.message) == (
        ErrorCode.STALE_MEMBER_EPOCH,
        "Partition t-2 is not assigned or pending revocation for member.",
    )


def test_what_is_being_given_up_may_be_committed() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.beat(stage.event("a", 2))
    assert commit(stage, "a", 2, partition=3) is None


def test_a_newer_epoch_is_nobodys() -> None:
    error = commit(two_members(), "a", 4)
    assert error is not None
    assert (error.code, error.message) == (
        ErrorCode.STALE_MEMBER_EPOCH,
        "Received member epoch 4 is newer than current member epoch 3.",
    )


@pytest.mark.parametrize("member_id", ["", "x"])
def test_who_is_no_member(member_id: str) -> None:
    error = commit(two_members(), member_id, -1)
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_takes_simple_commits() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.beat(stage.event("a", -1))
    assert commit(stage, "", -1) is None
    error = commit(stage, "", 3)
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_versions_that_do_not_know_epochs() -> None:
    error = commit(two_members(), "a", 3, knows=False)
    assert error is not None
    assert error.code is ErrorCode.UNSUPPORTED_VERSION


def commit_in_transaction(
    stage: ConsumerStage, member_id: str, epoch: int, *, instance: str | None = None
) -> ErrorCode:
    offset = OffsetToCommit("t", 0, Offset(5), topic_id=id_of("t"))
    wanted = stage.commit_event(offset, member_id=member_id, generation=epoch)
    event = CommitTransactionalOffsets(
        None,
        wanted._replace(instance_id=instance, knows_consumer_groups=False),
        ProducerId(7),
        ProducerEpoch(0),
    )
    try:
        stage.feed(event)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "instance", "code"),
    [
        ("", -1, None, ErrorCode.NONE),
        ("a", 3, None, ErrorCode.NONE),
        ("a", 2, None, ErrorCode.NONE),
        ("a", 1, None, ErrorCode.ILLEGAL_GENERATION),
        ("a", 4, None, ErrorCode.ILLEGAL_GENERATION),
        ("x", 3, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("x", -1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, "x", ErrorCode.UNKNOWN_MEMBER_ID),
        ("", 0, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -2, None, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_in_a_transaction_whoever_says_nothing_may_commit_and_epochs_are_generations(
    member_id: str, epoch: int, instance: str | None, code: ErrorCode
) -> None:
    stage = two_members()
    assert commit_in_transaction(stage, member_id, epoch, instance=instance) is code
    assert stage.fetched() == {}, "not before it ends"


def test_an_empty_group_takes_transactional_commits_of_anybody() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.beat(stage.event("a", -1))
    assert commit_in_transaction(stage, "x", -1) is ErrorCode.NONE


def test_fetches_of_members_and_of_others() -> None:
    stage = two_members()
    fetch = FetchOffsets(None, GROUP, None, member_id="a", member_epoch=3)
    stage.feed(fetch)
    stage.feed(fetch._replace(member_id=None, member_epoch=-1))
    for epoch in (-1, 2, 4):
        stale = stage.refused(fetch._replace(member_epoch=epoch))
        assert stale is ErrorCode.STALE_MEMBER_EPOCH
    assert stage.refused(fetch._replace(member_id="x")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.refused(fetch._replace(member_id=None)) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_members_of_the_classic_protocol_are_told_what_they_understand() -> None:
    stage = mixed()
    old = stage.classics["old"]
    assert commit(stage, old.member_id, old.generation, knows=False) is None
    newer = commit(stage, old.member_id, 99)
    assert newer is not None
    assert newer.code is ErrorCode.ILLEGAL_GENERATION
    not_its_own = commit(stage, old.member_id, old.generation - 1, 3)
    assert not_its_own is not None
    assert not_its_own.code is ErrorCode.ILLEGAL_GENERATION
    fetch = FetchOffsets(None, GROUP, None, member_id=old.member_id, member_epoch=99)
    assert stage.refused(fetch) is ErrorCode.ILLEGAL_GENERATION
