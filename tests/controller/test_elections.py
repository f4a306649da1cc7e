from __future__ import annotations

import pytest

from kafkalite.controller.elections import (
    after_failed_folders,
    after_loss,
    after_return,
    broker_lost,
    broker_returned,
    without_leader,
)
from kafkalite.controller.partition_change import Election, Rules
from kafkalite.controller.settings import ControllerSettings
from kafkalite.metadata.image import BrokerImage, MetadataImage, TopicImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import BrokerEpoch, BrokerId
from tests.controller.sample_cluster import uuid
from tests.controller.sample_partitions import active, change, ids, partition, topic

ONE = BrokerId(1)


def broker(id: int, *log_dirs: int) -> BrokerImage:
    dirs = tuple(map(uuid, log_dirs))
    return BrokerImage(BrokerId(id), BrokerEpoch(0), uuid(9), (), {}, fenced=False, log_dirs=dirs)


@pytest.mark.parametrize(
    ("before", "others", "expected"),
    [
        (topic((1, 2, 3), (1, 2, 3), 1), (2, 3), change(isr=[2, 3], leader=2)),
        (topic((1, 2, 3), (1, 2, 3), 1), (3,), change(isr=[2, 3], leader=3)),
        (topic((1, 2, 3), (1, 2, 3), 1), (), change(isr=[2, 3], leader=-1)),
        (topic((1, 2, 3), (1, 2), 2), (2, 3), change(isr=[2])),
        (topic((1, 2, 3), (2, 3), 2), (2, 3), None),
        (topic((1, 2), (1,), 1), (2,), change(leader=-1)),
        (topic((1, 2), (1,), -1), (2,), None),
        (topic((2, 3), (2, 3), 2), (2, 3), None),
    ],
)
def test_broker_1_is_lost(
    before: TopicImage, others: tuple[int, ...], expected: PartitionChangeRecord | None
) -> None:
    assert broker_lost(before, 0, ONE, active(*others)) == expected


@pytest.mark.parametrize(
    ("before", "members", "expected"),
    [
        (topic((1,), (1,), 1), (1,), change(leader=1)),
        (topic((1, 2), (1, 2), 1), (1,), change(leader=1)),
        (topic((1, 2), (1, 2), 1), (1, 2), change(leader=2, isr=[2])),
        (topic((1, 2), (1, 2), 2), (1, 2), change(isr=[2])),
        (topic((1, 2), (2,), 2), (1, 2), None),
        (topic((1, 2), (1,), -1), (1, 2), change(leader=1)),
        (topic((1, 2), (2,), -1), (1,), None),
        (topic((2, 3), (2,), -1), (1,), None),
        (topic((2, 1), (1, 2), -1), (1, 2), change(leader=2, isr=[2])),
        (
            topic((1, 2), (), -1, eligible_leader_replicas=ids(1, 2)),
            (1,),
            change(leader=1, isr=[1], eligible_leader_replicas=[]),
        ),
        (topic((1, 2), (), -1, last_known_elr=ids(1)), (1,), None),
        (
            topic((1, 2), (), -1, eligible_leader_replicas=ids(2), last_known_elr=ids(1)),
            (1,),
            change(eligible_leader_replicas=[]),
        ),
    ],
)
def test_broker_1_returns(
    before: TopicImage, members: tuple[int, ...], expected: PartitionChangeRecord | None
) -> None:
    """A new incarnation may lack records: it has to catch up before it is in sync again."""
    wanted = [] if expected is None else [expected]
    assert broker_returned(before, 0, ONE, active(*members)) == wanted


def unclean(id: int, **more: list[int]) -> PartitionChangeRecord:
    return change(leader=id, isr=[id], leader_recovery_state=1, **more)


@pytest.mark.parametrize(
    ("before", "members", "is_clean", "expected"),
    [
        (
            topic((1,), (1,), 1),
            (1,),
            False,
            [change(leader=-1, isr=[], last_known_elr=[1]), unclean(1, last_known_elr=[])],
        ),
        (
            topic((1, 2), (1,), 1, eligible_leader_replicas=ids(2)),
            (1, 2),
            False,
            [change(leader=2, isr=[2], eligible_leader_replicas=[])],
        ),
        (
            topic((1, 2), (1,), 1, eligible_leader_replicas=ids(2)),
            (1,),
            False,
            [change(leader=-1, isr=[], last_known_elr=[1])],
        ),
        (topic((1, 2), (1, 2), 2), (1, 2), False, [change(isr=[2])]),
        (topic((1, 2), (1, 2), 2), (1, 2), True, [change(isr=[2], eligible_leader_replicas=[1])]),
        (
            topic((1, 2), (2,), 2, eligible_leader_replicas=ids(1)),
            (1, 2),
            False,
            [change(eligible_leader_replicas=[])],
        ),
        (topic((1, 2), (2,), 2, eligible_leader_replicas=ids(1)), (1, 2), True, []),
        (topic((1, 2), (2,), 2), (1, 2), False, []),
        (
            topic((1, 2), (), -1, eligible_leader_replicas=ids(1, 2), last_known_elr=ids(2)),
            (1,),
            True,
            [change(leader=1, isr=[1], eligible_leader_replicas=[2], last_known_elr=[])],
        ),
        (
            topic((1, 2), (), -1, eligible_leader_replicas=ids(1, 2), last_known_elr=ids(2)),
            (1,),
            False,
            [change(eligible_leader_replicas=[2])],
        ),
        (
            topic((1, 2), (), -1, last_known_elr=ids(1)),
            (1,),
            False,
            [unclean(1, last_known_elr=[])],
        ),
        (topic((1, 2), (), -1, last_known_elr=ids(2)), (1,), False, []),
        (topic((2, 3), (), -1, eligible_leader_replicas=ids(2)), (1, 2), False, []),
    ],
)
def test_broker_1_returns_where_replicas_are_eligible(
    before: TopicImage,
    members: tuple[int, ...],
    is_clean: bool,
    expected: list[PartitionChangeRecord],
) -> None:
    rules = Rules(min_in_sync=min(2, len(before.partitions[0].replicas)))
    made = broker_returned(before, 0, ONE, active(*members), rules, is_clean=is_clean)
    assert made == expected


def test_who_loses_records_is_not_eligible() -> None:
    rules = Rules(min_in_sync=2)
    before = topic((1, 2), (1,), 1, eligible_leader_replicas=ids(2))
    two = BrokerId(2)
    assert broker_lost(before, 0, two, active(1), rules) is None
    lost = broker_lost(before, 0, two, active(1), rules, loses_records=True)
    assert lost == change(eligible_leader_replicas=[])


def test_where_it_is_allowed_any_replica_may_lead() -> None:
    rules = Rules(Election.UNCLEAN)
    lost = topic((1, 2), (1,), 1)
    assert broker_lost(lost, 0, ONE, active(2), rules) == unclean(2)
    waiting = topic((1, 2), (2,), -1)
    assert broker_returned(waiting, 0, ONE, active(1), rules) == [unclean(1)]


def test_all_partitions_in_order() -> None:
    one, other = partition((1,), (1,), 1), partition((2,), (2,), 2)
    topics = {
        "a": TopicImage("a", uuid(1), (one, other, one)),
        "b": TopicImage("b", uuid(2), (other, one)),
    }
    image = MetadataImage(topics=topics)
    where = [(uuid(1), 0), (uuid(1), 2), (uuid(2), 1)]
    lost = after_loss(image, ONE, active(2), ControllerSettings())
    assert [(c.topic_id, c.partition_id) for c in lost] == where
    back = after_return(image, broker(1), active(2), ControllerSettings(), loses_nothing=False)
    assert [(c.topic_id, c.partition_id) for c in back] == where
    same = after_return(image, broker(1), active(2), ControllerSettings(), loses_nothing=True)
    assert not list(same), "it leads them still"


def test_folders_that_it_returns_without_are_lost() -> None:
    here = partition((1, 2), (1, 2), 1, directories=(uuid(7), uuid(5)))
    gone = partition((1, 2), (1, 2), 1, directories=(uuid(8), uuid(5)))
    alone = partition((1,), (1,), 1, directories=(uuid(8),))
    image = MetadataImage(topics={"t": TopicImage("t", uuid(1), (here, gone, alone))})
    first, second, third = after_return(
        image, broker(1, 7), active(2), ControllerSettings(), loses_nothing=False
    )
    assert (first.leader, first.isr) == (2, [2])
    assert (second.leader, second.isr) == (2, [2])
    assert (third.leader, third.isr) == (-1, None)


def test_what_was_in_failed_folders_is_lost() -> None:
    here = partition((1, 2), (1, 2), 1, directories=(uuid(7), uuid(5)))
    gone = partition((1, 2), (1, 2), 1, directories=(uuid(8), uuid(5)))
    led_elsewhere = partition((1, 2), (2,), 2, directories=(uuid(8), uuid(5)))
    image = MetadataImage(topics={"t": TopicImage("t", uuid(1), (here, gone, led_elsewhere))})
    (found,) = after_failed_folders(image, ONE, [uuid(8)], active(1, 2), ControllerSettings())
    assert (found.partition_id, found.leader, found.isr) == (1, 2, [2])


def test_whoever_can_leads_what_has_no_leader() -> None:
    partitions = (
        partition((1, 2), (2,), -1),
        partition((1, 2), (2,), 2),
        partition((1,), (1,), -1),
    )
    image = MetadataImage(topics={"t": TopicImage("t", uuid(1), partitions)})
    assert list(without_leader(image, active(2), ControllerSettings())) == [change(leader=2)]


@pytest.mark.parametrize(("raises", "leader"), [(True, 2), (False, -2)])
def test_over_zookeeper_a_shrunk_isr_is_led_in_a_new_epoch(raises: bool, leader: int) -> None:
    """As in golden moment 3 of 3.9: another leader is not needed, and the epoch rises."""
    led = topic((1, 2, 3), (1, 2, 3), 2)
    image = MetadataImage(topics={led.name: led}, topics_by_id={led.id: led})
    settings = ControllerSettings(over_zookeeper=raises)
    wanted = change(isr=[2, 3]) if leader == -2 else change(isr=[2, 3], leader=leader)
    assert list(after_loss(image, ONE, active(2, 3), settings)) == [wanted]
    back = after_return(image, broker(1, 7), active(2, 3), settings, loses_nothing=False)
    assert list(back) == [wanted]
