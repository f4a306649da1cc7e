from __future__ import annotations

import pytest

from kafkalite.controller.events import NewTopic
from kafkalite.controller.replica_events import (
    BrokerShutDown,
    BrokerUnregistered,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import LoseBroker, RegisterBroker
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)
from kafkalite.types import BrokerEpoch, BrokerId
from tests.controller.sample_cluster import Cluster, assignment, broker_registration, uuid

ONE = BrokerId(1)


def cluster() -> Cluster:
    """Of two; 1 leads `t-0`, which 2 has too, and `t-1` alone."""
    made = Cluster(1, 2)
    made.create(NewTopic("t", assignments=(assignment(0, 1, 2),)))
    made.create(NewTopic("u", assignments=(assignment(0, 1),)))
    return made


def leaders(on: Cluster) -> list[tuple[int, tuple[int, ...]]]:
    topics = on.controller.image.topics.values()
    return [(topic.partitions[0].leader, topic.partitions[0].isr) for topic in topics]


def shut_down(on: Cluster, *, epoch: int = 1) -> object:
    return on.feed(ShutDownBroker("token", ONE, BrokerEpoch(epoch)))


def test_others_take_over_from_a_broker_that_stops() -> None:
    on = cluster()
    assert shut_down(on) == BrokerShutDown(remaining=())
    assert on.records == (
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, in_controlled_shutdown=1),
        PartitionChangeRecord(partition_id=0, topic_id=uuid(1), isr=[2], leader=2),
        PartitionChangeRecord(
            partition_id=0,
            topic_id=uuid(2),
            leader=-1,
            isr=[],
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
    )
    assert not on.controller.image.brokers[ONE].active
    log = list(on.log)
    assert shut_down(on) == BrokerShutDown(remaining=())
    assert on.log == log, "asked twice"


def test_its_end_changes_nothing_more() -> None:
    on = cluster()
    shut_down(on)
    on.feed(LoseBroker(ONE, BrokerEpoch(1)))
    assert on.records == (BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, fenced=1),)


@pytest.mark.parametrize("is_noticed", [True, False])
def test_it_returns_from_a_clean_stop(is_noticed: bool) -> None:
    """And leads what only it can, whether its end was noticed or not."""
    on = cluster()
    shut_down(on)
    if is_noticed:
        on.feed(LoseBroker(ONE, BrokerEpoch(1)))
    clean = broker_registration(1, incarnation=1)._replace(previous_broker_epoch=BrokerEpoch(1))
    on.feed(RegisterBroker(None, clean, BrokerEpoch(9)))
    assert on.controller.image.brokers[ONE].active
    assert leaders(on) == [(2, (2,)), (1, (1,))]


def test_an_older_incarnation_does_not_stop_the_newer() -> None:
    with pytest.raises(KafkaError) as refused:
        shut_down(cluster(), epoch=7)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_is_forgotten() -> None:
    on = cluster()
    assert on.feed(UnregisterBroker("token", ONE)) == BrokerUnregistered(ONE)
    assert on.records[-1] == UnregisterBrokerRecord(broker_id=1, broker_epoch=1)
    assert leaders(on) == [(2, (2,)), (-1, ())]
    assert list(on.controller.image.brokers) == [2]
    on.feed(LoseBroker(ONE, BrokerEpoch(1)))
    assert on.records == ()
    on.feed(RegisterBroker(None, broker_registration(1, incarnation=1), BrokerEpoch(9)))
    assert leaders(on) == [(2, (2,)), (1, (1,))]


def test_who_is_not_there_cannot_be_forgotten() -> None:
    with pytest.raises(KafkaError, match="Broker ID 9 is not currently registered") as refused:
        cluster().feed(UnregisterBroker("token", BrokerId(9)))
    assert refused.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_over_zookeeper_no_broker_is_unregistered() -> None:
    over_zookeeper = Cluster(1, settings=ControllerSettings(over_zookeeper=True))
    with pytest.raises(KafkaError, match="ZooKeeper keeps no broker") as refused:
        over_zookeeper.feed(UnregisterBroker("token", ONE))
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
