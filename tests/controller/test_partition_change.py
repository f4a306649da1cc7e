from __future__ import annotations

import pytest

from kafkalite.controller.partition_change import (
    Candidates,
    Election,
    Rules,
    Target,
    candidates_of,
    partition_change,
    target_of,
)
from kafkalite.metadata.image import MIGRATING_DIRECTORY, TopicImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import Cluster, uuid
from tests.controller.sample_partitions import active, change, ids, topic

ONLINE, PREFERRED, UNCLEAN = Election.ONLINE, Election.PREFERRED, Election.UNCLEAN


def as_it_is(before: TopicImage) -> Target:
    return target_of(before.partitions[0])


@pytest.mark.parametrize(
    ("before", "members", "election", "expected"),
    [
        (topic((1, 2, 3), (1, 2, 3), 2), (1, 2, 3), ONLINE, None),
        (topic((1, 2, 3), (1, 2, 3), 2), (1, 2, 3), PREFERRED, change(leader=1)),
        (topic((1, 2, 3), (2, 3), 2), (1, 2, 3), PREFERRED, None),
        (topic((1, 2, 3), (3, 2), -1), (2, 3), PREFERRED, change(leader=2)),
        (topic((1, 2, 3), (3, 2), -1), (3,), ONLINE, change(leader=3)),
        (topic((1, 2, 3), (1,), -1), (2, 3), PREFERRED, None),
        (topic((1, 2, 3), (1,), -1), (2, 3), ONLINE, None),
        (
            topic((1, 2, 3), (1,), -1),
            (3,),
            UNCLEAN,
            change(leader=3, isr=[3], leader_recovery_state=1),
        ),
        (
            topic((1, 2, 3), (1,), -1, leader_recovery_state=1),
            (3,),
            UNCLEAN,
            change(leader=3, isr=[3]),
        ),
        (topic((1, 2, 3), (1, 2), -1), (2, 3), UNCLEAN, change(leader=2)),
        (topic((1, 2, 3), (1,), -1), (), UNCLEAN, None),
    ],
)
def test_elections(
    before: TopicImage,
    members: tuple[int, ...],
    election: Election,
    expected: PartitionChangeRecord | None,
) -> None:
    rules = Rules(election)
    made = partition_change(before, 0, as_it_is(before), active(*members), rules=rules)
    assert made == expected


def test_whose_folder_is_gone_cannot_lead() -> None:
    before = topic((1, 2), (1, 2), 1, directories=(uuid(7), uuid(8)))
    candidates = Candidates({BrokerId(1): (uuid(6),), BrokerId(2): (uuid(8),)})
    assert partition_change(before, 0, as_it_is(before), candidates) == change(leader=2)


@pytest.mark.parametrize(
    ("isr", "adding", "removing", "is_done"),
    [
        ((1, 2, 3), (3,), (1,), True),
        ((1, 2), (3,), (1,), False),
        ((1, 3), (3,), (), True),
        ((1,), (), (2, 3), True),
        ((3, 1), (3,), (1, 2), True),
        ((2, 3), (), (2, 3), False),
        ((2, 1), (), (3,), True),
        ((3,), (), (1,), False),
    ],
)
def test_a_reassignment_is_done_when_its_replicas_are_in_sync(
    isr: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...], is_done: bool
) -> None:
    target = Target(ids(1, 2, 3), ids(*isr), ids(*adding), ids(*removing), 0)
    done = target.completed()
    if is_done:
        assert done == Target(
            tuple(id for id in ids(1, 2, 3) if id not in removing),
            tuple(id for id in ids(*isr) if id not in removing),
            (),
            (),
            0,
        )
    else:
        assert done is target


def test_a_reassignment_of_everything_away_is_never_done() -> None:
    target = Target(ids(1), ids(1, 2), ids(), ids(1), 0)
    assert target.completed() is target


def test_the_leader_that_goes_makes_room() -> None:
    before = topic((1, 2, 3), (1, 2), 1, adding_replicas=ids(3), removing_replicas=ids(1))
    target = as_it_is(before)._replace(isr=ids(1, 2, 3))
    assert partition_change(before, 0, target, active(1, 2, 3)) == change(
        isr=[2, 3],
        leader=2,
        replicas=[2, 3],
        directories=[MIGRATING_DIRECTORY, MIGRATING_DIRECTORY],
        adding_replicas=[],
        removing_replicas=[],
    )


def test_where_replicas_go_the_leader_leads_in_a_new_epoch() -> None:
    before = topic((1, 2), (1, 2), 1, directories=(uuid(7), uuid(8)))
    target = as_it_is(before)._replace(replicas=ids(1, 3), isr=ids(1))
    made = partition_change(before, 0, target, active(1), directory_for=lambda id: uuid(id))
    assert made == change(isr=[1], leader=1, replicas=[1, 3], directories=[uuid(7), uuid(3)])


def test_replicas_that_come_leave_the_epoch() -> None:
    before = topic((1,), (1,), 1, directories=(uuid(7),))
    target = as_it_is(before)._replace(replicas=ids(1, 2), adding=ids(2))
    made = partition_change(before, 0, target, active(1, 2))
    assert made is not None
    assert (made.leader, made.isr, made.replicas, made.adding_replicas) == (-2, None, [1, 2], [2])


def test_a_leader_says_that_it_has_recovered() -> None:
    before = topic((1, 2), (1,), 1, leader_recovery_state=1)
    target = as_it_is(before)._replace(leader_recovery_state=0)
    assert partition_change(before, 0, target, active(1)) == change(leader_recovery_state=0)


def test_the_active_brokers_are_candidates() -> None:
    cluster = Cluster(1, 2)
    candidates = candidates_of(cluster.controller.image)
    assert candidates.log_dirs == {1: (uuid(2001),), 2: (uuid(2002),)}
    assert candidates.without(BrokerId(1)).log_dirs == {2: (uuid(2002),)}
    moved = cluster.controller.image.brokers[BrokerId(2)]._replace(log_dirs=())
    assert candidates.joined_by(moved).log_dirs == {1: (uuid(2001),), 2: ()}


@pytest.mark.parametrize(
    ("eligible", "last", "members", "expected"),
    [
        (
            ids(2, 3),
            ids(1),
            (3,),
            change(leader=3, isr=[3], eligible_leader_replicas=[2], last_known_elr=[]),
        ),
        (ids(2, 3), ids(1), (1,), None),
        (
            (),
            ids(1),
            (1, 2),
            change(leader=1, isr=[1], leader_recovery_state=1, last_known_elr=[]),
        ),
        ((), ids(1), (2,), None),
        ((), ids(1, 2), (1,), None),
    ],
)
def test_where_nobody_is_in_sync_eligible_replicas_lead_and_then_the_last_leader(
    eligible: tuple[BrokerId, ...],
    last: tuple[BrokerId, ...],
    members: tuple[int, ...],
    expected: PartitionChangeRecord | None,
) -> None:
    before = topic((1, 2, 3), (), -1, eligible_leader_replicas=eligible, last_known_elr=last)
    rules = Rules(min_in_sync=2)
    made = partition_change(before, 0, as_it_is(before), active(*members), rules=rules)
    assert made == expected


def test_who_led_last_and_is_no_replica_any_more_does_not_lead() -> None:
    before = topic((1, 2), (), -1, last_known_elr=ids(3))
    rules = Rules(min_in_sync=2)
    assert partition_change(before, 0, as_it_is(before), active(2, 3), rules=rules) is None
    unclean = rules._replace(election=Election.UNCLEAN)
    made = partition_change(before, 0, as_it_is(before), active(2, 3), rules=unclean)
    assert made == change(leader=2, isr=[2], leader_recovery_state=1, last_known_elr=[])


def test_where_the_feature_was_taken_back_the_next_change_forgets_who_was_eligible() -> None:
    before = topic((1, 2), (), -1, eligible_leader_replicas=ids(2), last_known_elr=ids(1))
    made = partition_change(before, 0, as_it_is(before), active(1, 2))
    assert made == change(leader=2, isr=[2], eligible_leader_replicas=[])
    assert partition_change(before, 0, as_it_is(before), active(1)) == change(
        eligible_leader_replicas=[]
    )
