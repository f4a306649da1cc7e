"""Each checker of groups: what it lets pass, and what it does not."""

from __future__ import annotations

import re

import pytest

from kafkalite.testing.checkers import Checker, ViolationError
from kafkalite.testing.group_checkers import (
    CommitsAreKept,
    EachPartitionHasOneOwner,
    NobodyReadsWhatAnotherHolds,
    OldGenerationsAreRefused,
)
from kafkalite.testing.observations import (
    CommitAnswered,
    CommitAsked,
    CommitSeen,
    CommitSent,
    Died,
    GroupAsked,
    MemberAccepted,
    MemberAssigned,
    MemberHolds,
    Observation,
    PowerLost,
    Stopped,
)
from kafkalite.types import TopicPartition

POEM, SONG = TopicPartition("poem", 0), TopicPartition("song", 0)
POWER_LOST = PowerLost({}, {})


def tell(checker: Checker, *seen: Observation) -> None:
    for each in seen:
        checker.see(each)


def refuses(checker: Checker, seen: Observation, message: str) -> None:
    with pytest.raises(ViolationError, match=message):
        checker.see(seen)


def assigned(generation: int, member: str, *partitions: TopicPartition) -> MemberAssigned:
    return MemberAssigned("g", generation, member, partitions)


def sent(token: int, offset: int, *, generation: int = 1) -> CommitSent:
    return CommitSent(token, "g", generation, POEM, offset)


def kept(token: int) -> CommitAnswered:
    return CommitAnswered(token, is_kept=True)


def may_be(checker: Checker, *offsets: int | None) -> None:
    """Those are possible, and -7 is not."""
    for offset in offsets:
        tell(checker, CommitAsked(900, "g", POEM), CommitSeen(900, offset))
    tell(checker, CommitAsked(900, "g", POEM))
    refuses(checker, CommitSeen(900, -7), re.escape(f"possible were {sorted(offsets, key=str)}"))


def test_a_partition_has_one_owner_in_a_generation() -> None:
    checker = EachPartitionHasOneOwner()
    tell(checker, assigned(1, "a", POEM), assigned(1, "b", SONG), assigned(1, "b", SONG))
    tell(checker, assigned(2, "b", POEM, SONG), MemberAssigned("other", 1, "b", (POEM,)))
    refuses(checker, assigned(1, "c", SONG), "generation 1 of g .* belongs to b and to c")
    refuses(checker, assigned(1, "a"), "a was given .* and ")
    tell(checker, POWER_LOST, assigned(1, "c", SONG))


def holds(member: str, at_ms: int, *partitions: TopicPartition) -> MemberHolds:
    return MemberHolds("g", member, partitions, at_ms, at_ms + 10)


def test_a_partition_is_read_by_one_member_while_its_session_lasts() -> None:
    checker = NobodyReadsWhatAnotherHolds()
    tell(checker, holds("a", 0, POEM), holds("b", 1, SONG), holds("a", 2, POEM))
    tell(checker, MemberHolds("other", "b", (POEM,), 3, 13), Died(), Stopped())
    refuses(checker, holds("b", 11, POEM, SONG), "b of g is given .* which a may read for 1 ms")
    tell(checker, holds("b", 12, POEM, SONG))


def test_what_a_member_gave_up_is_anybodys() -> None:
    checker = NobodyReadsWhatAnotherHolds()
    tell(checker, holds("a", 0, POEM, SONG), holds("a", 1, SONG), holds("b", 2, POEM))
    refuses(checker, holds("b", 3, SONG), "which a may read")


@pytest.mark.parametrize("end", [Died(), Stopped()])
def test_what_was_held_before_the_broker_ended_may_be_forgiven(end: Observation) -> None:
    checker = NobodyReadsWhatAnotherHolds(forgives_deaths=True)
    tell(checker, holds("a", 0, POEM), end, holds("b", 1, POEM))
    refuses(checker, holds("a", 2, POEM), "which b may read")


def test_a_loss_of_power_may_give_a_partition_to_another() -> None:
    checker = NobodyReadsWhatAnotherHolds()
    tell(checker, holds("a", 0, POEM), POWER_LOST, holds("b", 1, POEM))


def test_nothing_is_taken_from_an_older_generation() -> None:
    checker = OldGenerationsAreRefused()
    tell(checker, GroupAsked(1, "g"), assigned(2, "a"), GroupAsked(2, "g"), GroupAsked(3, "g"))
    tell(checker, MemberAccepted(1, "g", 1), MemberAccepted(2, "g", 2))
    refuses(
        checker, MemberAccepted(3, "g", 1), "in generation 2 and took something of generation 1"
    )
    tell(checker, GroupAsked(4, "g"), POWER_LOST, MemberAccepted(4, "g", 1))


def test_the_position_is_what_was_kept_last() -> None:
    checker = CommitsAreKept()
    may_be(checker, None)
    tell(checker, sent(1, 10))
    may_be(checker, None, 10)
    tell(checker, kept(1))
    may_be(checker, 10)
    tell(checker, sent(2, 20), kept(2))
    may_be(checker, 20)


def test_a_commit_without_an_answer_may_count_now_or_later_or_never() -> None:
    checker = CommitsAreKept()
    tell(checker, sent(1, 10), kept(1), sent(2, 20), sent(3, 30), kept(3))
    may_be(checker, 20, 30)


def test_a_commit_of_an_older_generation_comes_too_late() -> None:
    checker = CommitsAreKept()
    tell(checker, sent(1, 10), sent(2, 20, generation=2), kept(2))
    may_be(checker, 20)
    tell(checker, kept(1))
    may_be(checker, 20)


def test_of_two_commits_at_the_same_time_either_may_be_the_last() -> None:
    checker = CommitsAreKept()
    tell(checker, sent(1, 10), sent(2, 20), kept(1), kept(2))
    may_be(checker, 10, 20)


def test_a_refused_commit_does_not_count() -> None:
    checker = CommitsAreKept()
    tell(checker, sent(1, 10), kept(1), sent(2, 20), CommitAnswered(2, is_kept=False))
    may_be(checker, 10)


def test_what_is_sent_after_the_question_may_be_its_answer() -> None:
    checker = CommitsAreKept()
    tell(checker, CommitAsked(5, "g", POEM), CommitAsked(6, "g", SONG), sent(1, 10), kept(1))
    tell(checker, CommitSeen(5, 10))
    refuses(checker, CommitSeen(6, 10), "g has position 10")


def test_a_loss_of_power_may_bring_back_what_counted_since_the_last_clean_stop() -> None:
    checker = CommitsAreKept()
    tell(checker, sent(1, 10), kept(1), sent(2, 20), kept(2), Stopped())
    tell(checker, sent(3, 30), kept(3), sent(4, 40), kept(4))
    tell(checker, CommitAsked(7, "g", POEM), sent(5, 50), POWER_LOST)
    tell(checker, kept(5), CommitSeen(7, 1))  # Answers of before, which say nothing any more.
    may_be(checker, 20, 30, 40, 50)
    tell(checker, sent(6, 60, generation=0), kept(6))
    may_be(checker, 60)
