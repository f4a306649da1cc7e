"""What a leader knows of one follower."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.replica.followers import UNKNOWN, Follower, FollowerFetch
from kafkalite.types import NO_BROKER_EPOCH, BrokerEpoch, Offset, TimestampMs

LAG_MS = 100


def fetch(follower: Follower, offset: int, *, leader_end: int, now: int, epoch: int = 7) -> None:
    follower.fetched(
        FollowerFetch(Offset(offset), Offset(0), BrokerEpoch(epoch)),
        Offset(leader_end),
        BrokerEpoch(7),
        TimestampMs(now),
    )


def lags(follower: Follower, *, leader_end: int, now: int) -> bool:
    return not follower.is_caught_up(Offset(leader_end), TimestampMs(now), LAG_MS)


def test_one_that_never_fetched_is_nowhere() -> None:
    follower = Follower()
    assert (follower.end_offset, follower.broker_epoch) == (UNKNOWN, None)
    assert lags(follower, leader_end=0, now=1_000)


def test_with_all_there_is_it_is_caught_up_for_any_time() -> None:
    follower = Follower()
    fetch(follower, 5, leader_end=5, now=10)
    assert not lags(follower, leader_end=5, now=1_000_000)
    assert not lags(follower, leader_end=6, now=110)
    assert lags(follower, leader_end=6, now=111)


def test_one_that_comes_to_where_the_leader_was_at_the_fetch_before_was_caught_up_then() -> None:
    follower = Follower()
    fetch(follower, 0, leader_end=10, now=50)
    fetch(follower, 10, leader_end=20, now=90)
    assert follower.caught_up_ms == 50
    fetch(follower, 15, leader_end=30, now=130)
    assert follower.caught_up_ms == 50


def test_caught_up_is_never_taken_back() -> None:
    follower = Follower()
    fetch(follower, 10, leader_end=10, now=90)
    fetch(follower, 5, leader_end=10, now=95)
    assert follower.caught_up_ms == 90


def test_an_earlier_run_of_its_broker_is_refused() -> None:
    follower = Follower()
    with pytest.raises(KafkaError) as refused:
        fetch(follower, 5, leader_end=5, now=10, epoch=6)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert follower.end_offset == UNKNOWN


@pytest.mark.parametrize("epoch", [NO_BROKER_EPOCH, 7, 8])
def test_other_runs_are_taken(epoch: int) -> None:
    follower = Follower()
    fetch(follower, 5, leader_end=5, now=10, epoch=epoch)
    assert (follower.end_offset, follower.broker_epoch) == (5, epoch)


def test_a_broker_that_is_not_registered_is_taken_too() -> None:
    follower = Follower()
    told = FollowerFetch(Offset(3), Offset(1), BrokerEpoch(2))
    follower.fetched(told, Offset(3), None, TimestampMs(4))
    assert (follower.end_offset, follower.log_start_offset) == (3, 1)


@pytest.mark.parametrize(("is_in_sync", "caught_up_ms"), [(True, 500), (False, 0)])
@pytest.mark.parametrize(("is_new", "end"), [(True, UNKNOWN), (False, 5)])
def test_a_new_epoch_gives_those_in_sync_their_time(
    is_in_sync: bool, caught_up_ms: int, is_new: bool, end: int
) -> None:
    follower = Follower()
    fetch(follower, 5, leader_end=5, now=10)
    follower.begin(Offset(8), TimestampMs(500), is_in_sync=is_in_sync, is_new=is_new)
    assert (follower.caught_up_ms, follower.end_offset) == (caught_up_ms, end)


def test_a_leader_that_stays_knows_where_the_epoch_began() -> None:
    follower = Follower()
    fetch(follower, 5, leader_end=5, now=10)
    follower.begin(Offset(8), TimestampMs(500), is_in_sync=True, is_new=False)
    fetch(follower, 8, leader_end=12, now=550)
    assert follower.caught_up_ms == 500
