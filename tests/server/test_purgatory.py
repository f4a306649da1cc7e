"""Waits on their own, and under a partition with its leader and log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.schema import Response
from kafkalite.replica.held_back import ACKS_ALL
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import CommitWait, FetchWait, MakeAnswer, Parked
from kafkalite.testing.clock import START_MS
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TimestampMs, Uuid
from tests.log.log_fixtures import log_directory
from tests.server.hand_clock import HandClock
from tests.server.requests import batch

ME, OTHER = BrokerId(1), BrokerId(2)
NOW = TimestampMs(START_MS)
IN_TIME, LATE = FetchResponse(session_id=1), FetchResponse(session_id=2)


class Waiter:
    """A parked answer, and what became of it."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.forgotten = 0
        self.delivered: list[Response | None] = []
        deadline_ms = TimestampMs(self.clock.now_ms() + 100)
        self.parked = Parked(self.clock, deadline_ms, lambda: LATE, self._forget)

    def _forget(self) -> None:
        self.forgotten += 1

    def deliver(self, make: MakeAnswer) -> None:
        self.delivered.append(make())


def partition_with(*isr: BrokerId, index: int = 0) -> Partition:
    """Led here, with these replicas in sync."""
    topic_id = Uuid(bytes(range(16)))
    log = open_log(
        MemoryFiles(),
        f"t-{index}",
        config=TopicConfig(),
        topic_id=topic_id,
        now=TimestampMs(0),
        clean=True,
    )
    partition = Partition("t", topic_id, index, log, TopicConfig(), log_directory())
    leader = PartitionLeader(
        ME,
        leader_epoch=LeaderEpoch(0),
        isr=frozenset(isr),
        end_offset=Offset(0),
        high_watermark=Offset(0),
    )
    partition.become_leader(leader)
    return partition


def append(partition: Partition, *contents: bytes) -> int:
    """The size of the batch."""
    records = batch(*contents)
    partition.append(memoryview(records), ACKS_ALL, NOW)
    return len(records)


def fetch_wait(clock: HandClock, missing_bytes: int, *partitions: Partition) -> FetchWait:
    return FetchWait(
        clock,
        TimestampMs(clock.now_ms() + 100),
        missing_bytes=missing_bytes,
        partitions=partitions,
        answer=lambda: IN_TIME,
    )


def commit_wait(clock: HandClock, **ends: tuple[Partition, int]) -> CommitWait:
    return CommitWait(
        clock,
        TimestampMs(clock.now_ms() + 100),
        ends=[(partition, Offset(end)) for partition, end in ends.values()],
        answer=lambda: IN_TIME,
    )


def is_done(wait: FetchWait | CommitWait) -> bool:
    return wait.parked.done


End = Callable[[HandClock, FetchWait | CommitWait], None]
"""How a wait may end."""


def woken(clock: HandClock, wait: FetchWait | CommitWait) -> None:
    assert isinstance(wait, FetchWait)
    wait.wake()


def timed_out(clock: HandClock, wait: FetchWait | CommitWait) -> None:
    clock.advance(100)


def abandoned(clock: HandClock, wait: FetchWait | CommitWait) -> None:
    wait.parked.abandon()


# Parked.


def test_an_answer_is_delivered_once_and_its_timer_is_gone() -> None:
    waiter = Waiter()
    waiter.parked.then(waiter.deliver)
    waiter.parked.complete(lambda: IN_TIME)
    waiter.parked.complete(lambda: LATE)
    waiter.parked.abandon()
    waiter.clock.advance(1000)
    assert waiter.delivered == [IN_TIME]
    assert (waiter.forgotten, waiter.clock.waiting) == (1, 0)


def test_the_deadline_answers_and_what_comes_after_it_does_nothing() -> None:
    waiter = Waiter()
    waiter.parked.then(waiter.deliver)
    waiter.clock.advance(99)
    assert waiter.delivered == []
    waiter.clock.advance(1)
    waiter.parked.complete(lambda: IN_TIME)
    assert (waiter.delivered, waiter.forgotten) == ([LATE], 1)
    assert waiter.delivered[0] is LATE


def test_an_abandoned_answer_is_never_delivered() -> None:
    waiter = Waiter()
    waiter.parked.then(waiter.deliver)
    waiter.parked.abandon()
    waiter.parked.complete(lambda: IN_TIME)
    waiter.clock.advance(1000)
    assert waiter.parked.done
    assert (waiter.delivered, waiter.forgotten, waiter.clock.waiting) == ([], 1, 0)


def test_an_answer_that_was_completed_first_is_delivered_as_soon_as_somebody_asks() -> None:
    waiter = Waiter()
    waiter.parked.complete(lambda: IN_TIME)
    assert waiter.parked.done
    waiter.parked.then(waiter.deliver)
    assert waiter.delivered[0] is IN_TIME


def test_the_answer_is_made_when_it_is_delivered_not_before() -> None:
    waiter, made = Waiter(), [0]

    def make() -> FetchResponse:
        made[0] += 1
        return IN_TIME

    waiter.parked.complete(make)
    assert made == [0]
    waiter.parked.then(waiter.deliver)
    assert made == [1]


# Fetches.


def test_bytes_of_several_partitions_add_up_for_a_fetch() -> None:
    clock = HandClock()
    one, two = partition_with(ME), partition_with(ME, index=1)
    size = len(batch(b"x"))
    wait, greedy = fetch_wait(clock, 2 * size, one, two), fetch_wait(clock, 2 * size + 1, one, two)
    append(one, b"x")
    assert not is_done(wait)
    append(two, b"x")
    assert is_done(wait)
    assert not is_done(greedy), "one byte is missing"
    greedy.wake()
    assert not one.fetches
    assert not two.fetches
    assert clock.waiting == 0


def test_an_append_that_readers_may_not_see_yet_wakes_no_fetch() -> None:
    partition = partition_with(ME, OTHER)
    wait = fetch_wait(HandClock(), 1, partition)
    append(partition, b"x")
    assert not is_done(wait)


@pytest.mark.parametrize("end", [woken, timed_out, abandoned])
def test_a_fetch_that_is_woken_times_out_or_goes_leaves_no_trace(end: End) -> None:
    clock = HandClock()
    one, two = partition_with(ME), partition_with(ME, index=1)
    wait = fetch_wait(clock, 1000, one, two)
    assert (len(one.fetches), len(two.fetches)) == (1, 1)
    end(clock, wait)
    assert is_done(wait)
    assert (one.fetches, two.fetches, clock.waiting) == ({}, {}, 0)


@pytest.mark.parametrize(
    "event",
    [Partition.resign, Partition.wake_all, lambda it: it.become_leader(it.leading)],
    ids=["resign", "wake_all", "become_leader"],
)
def test_a_new_leader_epoch_and_a_resignation_wake_fetches(
    event: Callable[[Partition], None],
) -> None:
    partition = partition_with(ME)
    wait = fetch_wait(HandClock(), 1000, partition)
    event(partition)
    assert is_done(wait)
    assert not partition.fetches


def test_one_append_wakes_all_fetches_that_have_enough_and_no_other() -> None:
    partition, clock = partition_with(ME), HandClock()
    waits = [fetch_wait(clock, missing, partition) for missing in (1, 10_000, 1)]
    append(partition, b"x")
    assert [is_done(wait) for wait in waits] == [True, False, True]
    assert list(partition.fetches) == [waits[1]]


# Produces with acks=all.


def test_a_produce_waits_until_the_high_watermark_has_passed_each_of_its_appends() -> None:
    clock = HandClock()
    one, two = partition_with(ME, OTHER), partition_with(ME, OTHER, index=1)
    append(one, b"x", b"y")
    append(two, b"x")
    wait = commit_wait(clock, one=(one, 2), two=(two, 1))
    wait.committed(one, Offset(1))
    assert list(one.commits) == [wait], "the second record is not committed yet"
    wait.committed(one, Offset(2))
    assert not one.commits
    assert not is_done(wait), "the other partition is not done"
    wait.committed(two, Offset(1))
    assert is_done(wait)
    assert (two.commits, clock.waiting) == ({}, 0)


def test_a_later_append_that_commits_both_answers_an_earlier_produce() -> None:
    """A follower catches up with the first append; the leader's next one finds that out."""
    partition = partition_with(ME, OTHER)
    append(partition, b"x")
    wait = commit_wait(HandClock(), only=(partition, 1))
    partition.leading.isr = frozenset({ME})
    append(partition, b"y")
    assert is_done(wait)
    assert partition.leading.high_watermark == 2


@pytest.mark.parametrize("end", [timed_out, abandoned])
def test_a_produce_that_times_out_or_goes_leaves_no_trace(end: End) -> None:
    clock = HandClock()
    one, two = partition_with(ME, OTHER), partition_with(ME, OTHER, index=1)
    wait = commit_wait(clock, one=(one, 1), two=(two, 1))
    wait.committed(one, Offset(1))
    end(clock, wait)
    assert is_done(wait)
    assert (one.commits, two.commits, clock.waiting) == ({}, {}, 0)


def test_a_resignation_ends_the_wait_for_that_partition_alone() -> None:
    one, two = partition_with(ME, OTHER), partition_with(ME, OTHER, index=1)
    wait = commit_wait(HandClock(), one=(one, 1), two=(two, 1))
    one.resign()
    assert not is_done(wait)
    two.resign()
    assert is_done(wait)


def test_whoever_does_not_lead_and_whoever_lacks_replicas_appends_nothing() -> None:
    partition = partition_with(ME, OTHER)
    partition.configure(TopicConfig(min_insync_replicas=2))
    partition.leading.change(
        partition_epoch=1, replicas=(ME, OTHER), isr=frozenset({ME}), now=TimestampMs(0)
    )
    assert _refusal(partition) == ErrorCode.NOT_ENOUGH_REPLICAS
    partition.configure(TopicConfig())
    partition.append(memoryview(batch(b"x")), 1, NOW)
    partition.resign()
    assert _refusal(partition) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.end_offset == 1


def _refusal(partition: Partition) -> ErrorCode:
    try:
        append(partition, b"x")
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
