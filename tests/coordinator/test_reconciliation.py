"""One step of a member towards its target: each state, each way out of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkalite.coordinator.groups.consumer.reconciliation import Reported, Way, reconcile
from kafkalite.coordinator.groups.consumer.state import Member, MemberState
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Uuid

T, U = Uuid(b"t" * 16), Uuid(b"u" * 16)
STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState
HAS_TWO = Member("m", epoch=2, previous_epoch=1, assigned={T: {0: 1, 1: 2}})
GIVES_ONE = HAS_TWO._replace(state=UNREVOKED, assigned={T: {0: 1}}, revoking={T: {1: 2}})


def way(
    target: Mapping[Uuid, tuple[int, ...]],
    *,
    epoch: int = 3,
    subscribed: frozenset[Uuid] = frozenset({T, U}),
    changed: bool = False,
    taken: frozenset[tuple[Uuid, int]] = frozenset(),
    reported: Reported | None = None,
) -> Way:
    return Way(
        target, epoch, subscribed, changed, lambda topic, index: (topic, index) in taken, reported
    )


def test_a_stable_member_with_its_target_stays_as_it_is() -> None:
    assert reconcile(HAS_TWO, way({T: (0, 1)}, epoch=2)) is HAS_TWO


def test_the_same_target_in_a_newer_epoch() -> None:
    assert reconcile(HAS_TWO, way({T: (0, 1)})) == HAS_TWO._replace(epoch=3, previous_epoch=2)


def test_more_of_what_is_free() -> None:
    reached = reconcile(HAS_TWO, way({T: (0, 1, 2), U: (0,)}))
    assert reached.assigned == {T: {0: 1, 1: 2, 2: 3}, U: {0: 3}}
    assert (reached.state, reached.epoch) == (STABLE, 3)


def test_more_of_what_is_taken() -> None:
    reached = reconcile(HAS_TWO, way({T: (0, 1, 2), U: (0,)}, taken=frozenset({(T, 2)})))
    assert reached.assigned == {T: {0: 1, 1: 2}, U: {0: 3}}
    assert (reached.state, reached.epoch) == (UNRELEASED, 3)
    waits = reconcile(reached, way({T: (0, 1, 2), U: (0,)}, taken=frozenset({(T, 2)})))
    assert waits == reached._replace(previous_epoch=3)
    assert reconcile(reached, way({T: (0, 1, 2), U: (0,)})).state is STABLE


@pytest.mark.parametrize("reported", [None, {T: frozenset({0, 1})}])
def test_less_is_given_up_first(reported: Reported | None) -> None:
    reached = reconcile(HAS_TWO, way({T: (0,), U: (0,)}, reported=reported))
    assert reached == GIVES_ONE._replace(previous_epoch=2)
    assert reconcile(reached, way({T: (0,)}, reported=reported)) is reached


def test_less_of_what_the_member_does_not_own_any_more() -> None:
    reached = reconcile(HAS_TWO, way({T: (0,), U: (0,)}, reported={T: frozenset({0})}))
    assert reached.assigned == {T: {0: 1}, U: {0: 3}}
    assert (reached.state, reached.epoch, reached.revoking) == (STABLE, 3, {})


def test_what_was_given_up_may_come_back_to_the_same_member() -> None:
    taken = frozenset({(T, 1)})
    reached = reconcile(GIVES_ONE, way({T: (0, 1)}, taken=taken, reported={T: frozenset({0})}))
    assert (reached.state, reached.assigned) == (STABLE, {T: {0: 1, 1: 3}})


def test_topics_that_are_not_read_any_more_are_no_part_of_the_target() -> None:
    only_u = frozenset({U})
    reached = reconcile(HAS_TWO, way({T: (0, 1)}, subscribed=only_u))
    assert (reached.state, reached.assigned, reached.revoking) == (
        UNREVOKED,
        {},
        {T: {0: 1, 1: 2}},
    )


def test_a_subscription_that_changes_before_there_is_a_target() -> None:
    only_u = frozenset({U})
    gives = reconcile(HAS_TWO, way({T: (0, 1)}, epoch=2, subscribed=only_u, changed=True))
    assert (gives.state, gives.epoch, gives.revoking) == (UNREVOKED, 2, {T: {0: 1, 1: 2}})
    gave = reconcile(HAS_TWO, way({}, epoch=2, subscribed=only_u, changed=True, reported={}))
    assert (gave.state, gave.assigned, gave.revoking) == (STABLE, {}, {})
    both = frozenset({T, U})
    assert reconcile(HAS_TWO, way({}, epoch=2, subscribed=both, changed=True)) is HAS_TWO


def test_a_subscription_that_changes_while_the_member_gives_up() -> None:
    only_u = frozenset({U})
    gives = reconcile(GIVES_ONE, way({T: (0,)}, subscribed=only_u, changed=True))
    assert (gives.state, gives.assigned, gives.revoking) == (UNREVOKED, {}, {T: {1: 2, 0: 1}})


def test_a_state_of_a_later_release() -> None:
    odd = HAS_TWO._replace(state=UNKNOWN)
    for reported in (None, {T: frozenset({0})}):
        with pytest.raises(KafkaError) as refused:
            reconcile(odd, way({T: (0, 1)}, reported=reported))
        assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    reached = reconcile(odd, way({T: (0, 1)}, reported={}))
    assert (reached.state, reached.epoch) == (STABLE, 3)
