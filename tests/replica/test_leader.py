from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.replica.leader import PartitionLeader
from kafkalite.types import BrokerId, LeaderEpoch, Offset


def leader(*isr: int, end: int = 0, high_watermark: int = 0) -> PartitionLeader:
    return PartitionLeader(
        BrokerId(1),
        leader_epoch=LeaderEpoch(4),
        isr=frozenset(map(BrokerId, isr)),
        end_offset=Offset(end),
        high_watermark=Offset(high_watermark),
    )


def test_alone_in_sync_an_append_is_committed_at_once() -> None:
    alone = leader(1)
    assert alone.appended(Offset(10))
    assert (alone.end_offset, alone.high_watermark) == (10, 10)


def test_alone_in_sync_what_the_log_held_before_is_committed() -> None:
    assert leader(1, end=7, high_watermark=3).high_watermark == 7


def test_an_append_of_nothing_moves_nothing() -> None:
    assert not leader(1, end=7, high_watermark=7).appended(Offset(7))


def test_the_high_watermark_is_where_the_slowest_in_sync_replica_is() -> None:
    three = leader(1, 2, 3)
    assert not three.appended(Offset(10))
    assert not three.follower_at(BrokerId(2), Offset(8))
    assert three.follower_at(BrokerId(3), Offset(5))
    assert three.high_watermark == 5
    assert three.follower_at(BrokerId(3), Offset(10))
    assert three.high_watermark == 8


def test_a_replica_out_of_sync_holds_nothing_back() -> None:
    two = leader(1, 2)
    two.appended(Offset(10))
    two.follower_at(BrokerId(3), Offset(1))
    assert two.follower_at(BrokerId(2), Offset(10))
    assert two.high_watermark == 10


def test_the_high_watermark_never_falls() -> None:
    two = leader(1, 2, end=9, high_watermark=6)
    assert not two.follower_at(BrokerId(2), Offset(2))
    assert two.high_watermark == 6


def test_acks_all_needs_enough_replicas_in_sync() -> None:
    assert leader(1, 2).has_enough_replicas(2)
    assert not leader(1, 2).has_enough_replicas(3)


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        (-1, ErrorCode.NONE),
        (4, ErrorCode.NONE),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_claimed_epoch_is_checked(claimed: int, told: ErrorCode) -> None:
    assert leader(1).check_epoch(LeaderEpoch(claimed)) is told


@pytest.mark.parametrize(("offset", "end"), [(0, 0), (3, 3), (7, 7), (-1, 7)])
@pytest.mark.parametrize("policy", [("delete",), ("compact", "delete"), ()])
def test_records_are_deleted_up_to_the_high_watermark(
    offset: int, end: int, policy: tuple[str, ...]
) -> None:
    two = leader(1, 2, end=9, high_watermark=7)
    assert two.deletion_end(offset, policy) == end


@pytest.mark.parametrize("offset", [8, 9, 10, -2])
def test_records_above_the_high_watermark_are_not_deleted(offset: int) -> None:
    two = leader(1, 2, end=9, high_watermark=7)
    with pytest.raises(KafkaError) as refused:
        two.deletion_end(offset, ("delete",))
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_what_is_only_compacted_keeps_its_records() -> None:
    with pytest.raises(KafkaError) as refused:
        leader(1, end=9).deletion_end(100, ("compact",))
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


def test_followers_that_may_be_read_from_are_in_sync_and_have_what_is_asked_for() -> None:
    four = leader(1, 2, 3, end=10)
    for follower, end in ((2, 10), (3, 5), (4, 10)):
        four.follower_at(BrokerId(follower), Offset(end))
    assert four.followers_with(5) == {2: 10, 3: 5}
    assert four.followers_with(6) == {2: 10}
    assert four.followers_with(11) == {}
