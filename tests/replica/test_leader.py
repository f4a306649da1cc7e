"""The leader of one partition: where records are committed, and who is in sync."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.replica.followers import FollowerFetch
from kafkalite.replica.leader import PartitionLeader
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, LeaderEpoch, Offset, TimestampMs

LAG_MS = 100


def brokers(*ids: int) -> frozenset[BrokerId]:
    return frozenset(map(BrokerId, ids))


def leader(
    *isr: int,
    end: int = 0,
    high_watermark: int = 0,
    others: tuple[int, ...] = (),
    min_in_sync: int = 1,
    epochs: dict[int, int] | None = None,
    now: int = 1_000,
) -> PartitionLeader:
    """Broker 1's; each broker is active in the epoch of a hundred times its id, or as `epochs`
    says."""
    if epochs is None:
        epochs = {broker: 100 * broker for broker in (*isr, *others)}
    return PartitionLeader(
        BrokerId(1),
        leader_epoch=LeaderEpoch(4),
        partition_epoch=20,
        replicas=brokers(*others),
        isr=brokers(*isr),
        end_offset=Offset(end),
        high_watermark=Offset(high_watermark),
        min_in_sync=min_in_sync,
        active={BrokerId(broker): BrokerEpoch(epoch) for broker, epoch in epochs.items()},
        lag_time_max_ms=LAG_MS,
        now=TimestampMs(now),
    )


def fetched(
    of: PartitionLeader, broker: int, offset: int, *, now: int = 1_000, epoch: int | None = None
) -> bool:
    fetch = FollowerFetch(
        Offset(offset), Offset(0), BrokerEpoch(100 * broker if epoch is None else epoch)
    )
    return of.follower_fetched(BrokerId(broker), fetch, TimestampMs(now))


def appended(of: PartitionLeader, end: int, *, now: int = 1_000) -> bool:
    return of.appended(Offset(end), TimestampMs(now))


def altered(of: PartitionLeader, *isr: int, partition_epoch: int = 21, now: int = 1_000) -> bool:
    """As the controller answers the open proposal."""
    assert of.proposal is not None
    return of.altered(of.proposal, brokers(*isr), partition_epoch, TimestampMs(now))


# Where records are committed.


def test_alone_an_append_is_committed_at_once() -> None:
    alone = leader(1)
    assert appended(alone, 10)
    assert (alone.end_offset, alone.high_watermark) == (10, 10)


def test_alone_what_the_log_held_before_is_committed() -> None:
    assert leader(1, end=7, high_watermark=3).high_watermark == 7


@pytest.mark.parametrize("isr", [(1,), (1, 2)])
def test_an_append_of_nothing_moves_nothing(isr: tuple[int, ...]) -> None:
    assert not appended(leader(*isr, end=7, high_watermark=7), 7)


def test_the_high_watermark_is_where_the_slowest_in_sync_replica_is() -> None:
    three = leader(1, 2, 3)
    assert not appended(three, 10)
    assert not fetched(three, 2, 8)
    assert fetched(three, 3, 5)
    assert three.high_watermark == 5
    assert fetched(three, 3, 10)
    assert three.high_watermark == 8


def test_a_replica_that_lags_holds_nothing_back() -> None:
    two = leader(1, 2, others=(3,))
    appended(two, 10)
    fetched(two, 3, 1)
    assert fetched(two, 2, 10)
    assert two.high_watermark == 10


def test_a_replica_that_has_caught_up_is_waited_for_before_it_has_joined() -> None:
    two = leader(1, 2, others=(3,))
    fetched(two, 3, 0)
    appended(two, 10)
    assert not fetched(two, 2, 10)
    assert fetched(two, 3, 4)
    assert two.high_watermark == 4


@pytest.mark.parametrize("epochs", [{1: 100, 2: 200}, {1: 100, 2: 200, 3: 301}])
def test_one_that_may_not_join_is_not_waited_for(epochs: dict[int, int]) -> None:
    """It is fenced, or its broker has started anew since."""
    two = leader(1, 2, others=(3,), epochs={1: 100, 2: 200, 3: 300})
    fetched(two, 3, 0)
    appended(two, 10)
    two._active = {BrokerId(b): BrokerEpoch(e) for b, e in epochs.items()}
    assert fetched(two, 2, 10)


def test_the_high_watermark_never_falls() -> None:
    two = leader(1, 2, end=9, high_watermark=6)
    assert not fetched(two, 2, 2)
    assert two.high_watermark == 6


def test_the_high_watermark_rests_while_too_few_are_in_sync() -> None:
    one = leader(1, others=(2, 3), min_in_sync=2)
    assert not appended(one, 10)
    assert (
        one.change(partition_epoch=21, replicas=(), isr=brokers(1, 2), now=TimestampMs(5_000))
        is False
    )
    assert fetched(one, 2, 10)
    assert one.high_watermark == 10


def test_acks_all_needs_enough_replicas_in_sync() -> None:
    assert leader(1, 2, others=(3,), min_in_sync=2).has_enough_replicas
    assert not leader(1, 2, others=(3,), min_in_sync=3).has_enough_replicas


def test_how_many_are_required_may_change() -> None:
    two = leader(1, 2, others=(3,), end=5)
    two.require(3)
    enough = [two.has_enough_replicas]
    assert not fetched(two, 2, 5)
    two.require(2)
    enough.append(two.has_enough_replicas)
    assert enough == [False, True]


def test_no_more_are_needed_than_there_are() -> None:
    assert leader(1, 2, min_in_sync=3).has_enough_replicas
    assert leader(1, min_in_sync=2).has_enough_replicas


def test_who_is_no_replica_is_not_heard() -> None:
    two = leader(1, 2)
    assert (two.has_follower(BrokerId(2)), two.has_follower(BrokerId(3))) == (True, False)
    assert (two.has_followers, leader(1).has_followers) == (True, False)
    with pytest.raises(KafkaError) as refused:
        fetched(two, 3, 0)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


# Who is in sync.


def test_who_has_all_that_may_be_committed_is_to_join() -> None:
    one = leader(1, others=(2,), end=10, high_watermark=10)
    fetched(one, 2, 10)
    proposal = one.expand(BrokerId(2))
    assert proposal is not None
    assert (proposal.leader_epoch, proposal.partition_epoch) == (4, 20)
    assert proposal.isr == (
        IsrMember(BrokerId(1), BrokerEpoch(100)),
        IsrMember(BrokerId(2), BrokerEpoch(200)),
    )
    assert one.maximal_isr == brokers(1, 2)
    assert one.isr == brokers(1)


def test_the_isr_keeps_its_order_and_grows_at_its_end() -> None:
    three = leader(1, others=(2, 3), end=10)
    isr = (BrokerId(3), BrokerId(1))
    three.change(partition_epoch=21, replicas=brokers(1, 2, 3), isr=isr, now=TimestampMs(1_000))
    fetched(three, 2, 10, now=1_050)
    proposal = three.expand(BrokerId(2))
    assert proposal is not None
    assert [member.broker_id for member in proposal.isr] == [3, 1, 2]
    three.altered(proposal, tuple(each.broker_id for each in proposal.isr), 22, TimestampMs(1_060))
    appended(three, 11, now=1_060)
    fetched(three, 3, 11, now=1_065)
    shrunk = three.shrink(TimestampMs(1_161))
    assert shrunk is not None
    assert [member.broker_id for member in shrunk.isr] == [3, 1]


def test_the_high_watermark_waits_for_one_that_is_proposed_to_join() -> None:
    one = leader(1, others=(2,), end=10, high_watermark=10)
    fetched(one, 2, 10)
    one.expand(BrokerId(2))
    assert not appended(one, 11, now=900_000)
    assert altered(one, 1, 2) is False
    assert (one.isr, one.partition_epoch, one.proposal) == (brokers(1, 2), 21, None)
    assert fetched(one, 2, 11)


def test_one_below_the_high_watermark_does_not_join() -> None:
    one = leader(1, others=(2,), end=10, high_watermark=10)
    fetched(one, 2, 9)
    assert one.expand(BrokerId(2)) is None


def test_one_without_all_from_before_the_epoch_does_not_join() -> None:
    two = leader(1, 3, others=(2,), end=10, high_watermark=4)
    fetched(two, 2, 9)
    assert two.expand(BrokerId(2)) is None
    fetched(two, 2, 10)
    assert two.expand(BrokerId(2)) is not None


@pytest.mark.parametrize(
    ("seen", "epochs"), [(200, {1: 100}), (200, {1: 100, 2: 201}), (None, {1: 100, 2: 200})]
)
def test_only_the_present_run_of_an_active_broker_joins(
    seen: int | None, epochs: dict[int, int]
) -> None:
    one = leader(1, others=(2,), epochs={1: 100, 2: 200})
    if seen is not None:
        fetched(one, 2, 0, epoch=seen)
    one._active = {BrokerId(b): BrokerEpoch(e) for b, e in epochs.items()}
    assert one.expand(BrokerId(2)) is None


def test_a_broker_that_tells_no_epoch_joins_without() -> None:
    one = leader(1, others=(2,), epochs={2: 200})
    fetched(one, 2, 0, epoch=-1)
    proposal = one.expand(BrokerId(2))
    assert proposal is not None
    assert proposal.isr == (
        IsrMember(BrokerId(1), BrokerEpoch(-1)),
        IsrMember(BrokerId(2), BrokerEpoch(-1)),
    )


def test_who_is_in_sync_or_is_no_replica_does_not_join() -> None:
    two = leader(1, 2)
    fetched(two, 2, 0)
    assert two.expand(BrokerId(2)) is None
    assert two.expand(BrokerId(9)) is None


def test_one_proposal_at_a_time() -> None:
    one = leader(1, others=(2, 3))
    for broker in (2, 3):
        fetched(one, broker, 0)
    assert one.expand(BrokerId(2)) is not None
    assert one.expand(BrokerId(3)) is None
    assert one.shrink(TimestampMs(900_000)) is None


def test_who_does_not_catch_up_is_to_leave() -> None:
    three = leader(1, 2, 3, end=10)
    fetched(three, 2, 10, now=1_050)
    assert three.shrink(TimestampMs(1_100)) is None
    proposal = three.shrink(TimestampMs(1_101))
    assert proposal is not None
    assert [member.broker_id for member in proposal.isr] == [1, 2]
    assert three.maximal_isr == brokers(1, 2, 3)
    assert altered(three, 1, 2)
    assert three.high_watermark == 10


def test_who_has_all_is_caught_up_until_there_is_more() -> None:
    two = leader(1, 2)
    fetched(two, 2, 0, now=1_000)
    appended(two, 1, now=500_000)
    assert two.shrink(TimestampMs(500_100)) is None
    appended(two, 2, now=500_050)
    assert two.shrink(TimestampMs(500_101)) is not None


def test_who_was_kept_waiting_by_a_proposal_joins_after_it() -> None:
    one = leader(1, others=(2, 3), end=5, high_watermark=5)
    for broker in (2, 3):
        fetched(one, broker, 5)
    assert one.expand(BrokerId(2)) is not None
    assert one.expand_to_any(TimestampMs(1_000)) is None
    altered(one, 1, 2)
    proposal = one.expand_to_any(TimestampMs(900_000))
    assert proposal is not None
    assert proposal.joining == 3
    altered(one, 1, 2, 3, partition_epoch=22)
    assert one.expand_to_any(TimestampMs(900_000)) is None


def test_who_lags_or_may_not_join_is_not_asked_to() -> None:
    one = leader(1, others=(2, 3), end=5, min_in_sync=2, epochs={1: 100, 2: 200})
    for broker, offset in ((2, 4), (3, 5)):
        fetched(one, broker, offset)
    assert one.high_watermark == 0
    assert one.expand_to_any(TimestampMs(900_000)) is None


def test_one_that_never_fetched_is_told_without_an_epoch() -> None:
    three = leader(1, 2, 3, others=(4,), end=10)
    fetched(three, 2, 5, now=1_050)
    three._followers[BrokerId(3)].caught_up_ms = TimestampMs(2_000)
    proposal = three.shrink(TimestampMs(2_050))
    assert proposal is not None
    assert proposal.isr[-1] == IsrMember(BrokerId(3), BrokerEpoch(-1))


def test_alone_nobody_leaves() -> None:
    assert leader(1, others=(2,)).shrink(TimestampMs(900_000)) is None


def test_what_was_not_attempted_may_be_proposed_anew() -> None:
    one = leader(1, others=(2,))
    fetched(one, 2, 0)
    proposal = one.expand(BrokerId(2))
    assert proposal is not None
    assert not one.refused(proposal, ErrorCode.INELIGIBLE_REPLICA)
    assert one.maximal_isr == brokers(1)
    assert one.expand(BrokerId(2)) is not None


@pytest.mark.parametrize(
    ("code", "again"),
    [
        (ErrorCode.FENCED_LEADER_EPOCH, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, True),
    ],
)
def test_until_more_is_known_a_proposal_stands(code: ErrorCode, again: bool) -> None:
    one = leader(1, others=(2,))
    fetched(one, 2, 0)
    proposal = one.expand(BrokerId(2))
    assert proposal is not None
    assert one.refused(proposal, code) is again
    assert one.proposal is proposal


def test_answers_that_the_metadata_has_overtaken_say_nothing() -> None:
    one = leader(1, others=(2,))
    fetched(one, 2, 0)
    proposal = one.expand(BrokerId(2))
    assert proposal is not None
    one.change(partition_epoch=22, replicas=brokers(2), isr=brokers(1), now=TimestampMs(1_000))
    assert not one.altered(proposal, brokers(1, 2), 21, TimestampMs(1_000))
    assert not one.refused(proposal, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert one.isr == brokers(1)


def test_an_answer_with_an_older_partition_epoch_says_nothing() -> None:
    one = leader(1, others=(2,))
    fetched(one, 2, 0)
    assert one.expand(BrokerId(2)) is not None
    assert not altered(one, 1, 2, partition_epoch=19)
    assert one.isr == brokers(1)


# What the metadata says.


def test_what_the_answer_told_already_is_no_change() -> None:
    one = leader(1, others=(2,))
    fetched(one, 2, 0)
    one.expand(BrokerId(2))
    altered(one, 1, 2)
    appended(one, 5)
    before = one.shrink(TimestampMs(900_000))
    assert before is not None
    assert not one.change(
        partition_epoch=21, replicas=brokers(1, 2), isr=brokers(1, 2), now=TimestampMs(1_000)
    )
    assert one.proposal is before


def test_an_older_partition_epoch_changes_nothing() -> None:
    two = leader(1, 2)
    assert not two.change(partition_epoch=19, replicas=(), isr=brokers(1), now=TimestampMs(1_000))
    assert two.isr == brokers(1, 2)


def test_who_leaves_is_waited_for_no_more() -> None:
    two = leader(1, 2, end=9)
    assert two.change(partition_epoch=21, replicas=(), isr=brokers(1), now=TimestampMs(1_000))
    assert two.high_watermark == 9


def test_a_replica_that_is_taken_away_is_forgotten() -> None:
    two = leader(1, 2, others=(3,))
    two.change(
        partition_epoch=21, replicas=brokers(1, 2), isr=brokers(1, 2), now=TimestampMs(1_000)
    )
    assert not two.has_follower(BrokerId(3))
    assert two.has_follower(BrokerId(2))


def test_a_newer_epoch_keeps_where_followers_are_and_begins_at_the_end() -> None:
    two = leader(1, 2, others=(3,), end=9)
    fetched(two, 2, 9)
    fetched(two, 3, 4)
    moved = two.begin(
        LeaderEpoch(5),
        partition_epoch=21,
        replicas=brokers(3),
        isr=brokers(1, 2),
        end_offset=Offset(9),
        now=TimestampMs(2_000),
    )
    assert not moved
    assert (two.leader_epoch, two.start_offset, two.high_watermark) == (5, 9, 9)
    assert two.shrink(TimestampMs(2_100)) is None
    assert two.followers_with(9).keys() == {2}


def test_after_an_election_the_high_watermark_lags_until_all_in_sync_have_what_was_there() -> None:
    two = leader(1, 2, end=9, high_watermark=7)
    assert two.high_watermark_lags
    appended(two, 12)
    fetched(two, 2, 8)
    assert two.high_watermark_lags
    fetched(two, 2, 9)
    assert not two.high_watermark_lags


def test_where_all_begin_is_the_least_start_of_active_replicas() -> None:
    two = leader(1, 2, others=(3,), epochs={1: 100, 2: 200})
    assert two.low_watermark(Offset(7)) == -1
    for broker, start in ((2, 5), (3, 1)):
        fetch = FollowerFetch(Offset(9), Offset(start), BrokerEpoch(100 * broker))
        two.follower_fetched(BrokerId(broker), fetch, TimestampMs(1_000))
    assert two.low_watermark(Offset(7)) == 5
    assert two.low_watermark(Offset(3)) == 3
    assert leader(1).low_watermark(Offset(3)) == 3


# Readers.


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
    three = leader(1, 2, 3, others=(4,), end=10)
    for follower, end in ((2, 10), (3, 5), (4, 10)):
        fetched(three, follower, end)
    assert {id: each.end_offset for id, each in three.followers_with(5).items()} == {2: 10, 3: 5}
    assert three.followers_with(6).keys() == {2}
    assert not three.followers_with(11)
