from __future__ import annotations

import pytest

from kafkalite.controller.brokers import SESSION_TIMEOUT_MS, check_broker_epoch
from kafkalite.controller.controller import Controller
from kafkalite.controller.events import NewTopic
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import BrokerRegistered, LoseBroker, RegisterBroker, StartTerm
from kafkalite.core import SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import BrokerImage, MetadataImage, TopicImage
from kafkalite.metadata.store import BrokerRegistration
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from kafkalite.types import NO_BROKER_EPOCH, BrokerEpoch, BrokerId, TimestampMs
from tests.controller.sample_cluster import NOW, Cluster, assignment, broker_registration, uuid
from tests.controller.sample_partitions import change, partition


def register(cluster: Cluster, registration: BrokerRegistration, epoch: int) -> object:
    return cluster.feed(RegisterBroker("token", registration, BrokerEpoch(epoch)))


def test_a_broker_becomes_a_member() -> None:
    cluster = Cluster()
    assert register(cluster, broker_registration(1, rack="r"), 14) == BrokerRegistered(
        BrokerEpoch(14)
    )
    record, unfence = cluster.records
    assert isinstance(record, RegisterBrokerRecord)
    assert record.fenced
    assert (record.broker_epoch, record.rack, record.log_dirs) == (14, "r", [uuid(2001)])
    assert unfence == BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=14, fenced=-1)
    broker = cluster.controller.image.brokers[BrokerId(1)]
    assert broker.active
    assert broker.endpoints[0].host == "host-1"


def test_the_same_registration_again_changes_nothing() -> None:
    cluster = Cluster(1)
    assert register(cluster, broker_registration(1), 1) == BrokerRegistered(BrokerEpoch(1))
    assert cluster.records == ()


def test_a_new_registration_of_the_same_incarnation_elects_nobody() -> None:
    cluster = Cluster(1)
    cluster.create(NewTopic("t"))
    register(cluster, broker_registration(1), 5)
    assert len(cluster.records) == 2
    assert cluster.controller.image.brokers[BrokerId(1)].epoch == 5


def test_a_new_incarnation_leads_in_a_new_epoch() -> None:
    """It may have lost what was not on disk: clients are to notice."""
    cluster = Cluster(1)
    cluster.create(NewTopic("t"))
    register(cluster, broker_registration(1, incarnation=1), 5)
    assert cluster.records[2:] == (
        change(leader=-1, isr=[], last_known_elr=[1]),
        change(leader=1, isr=[1], last_known_elr=[], leader_recovery_state=1),
    )
    partition = cluster.controller.image.partition("t", 0)
    assert partition is not None
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, 2, (1,))


def test_after_a_clean_stop_it_leads_on_in_its_epoch() -> None:
    """It has lost nothing; Kafka would raise the epoch all the same."""
    cluster = Cluster(1)
    cluster.create(NewTopic("t"))
    clean = broker_registration(1, incarnation=1)._replace(previous_broker_epoch=BrokerEpoch(1))
    register(cluster, clean, 5)
    assert len(cluster.records) == 2
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(5)))
    back = broker_registration(1, incarnation=2)._replace(previous_broker_epoch=BrokerEpoch(5))
    register(cluster, back, 9)
    partition = cluster.controller.image.partition("t", 0)
    assert partition is not None
    assert (partition.leader, partition.leader_epoch) == (1, 2), "it had been fenced meanwhile"


def test_the_last_to_stop_cleanly_leads_again_when_it_is_back() -> None:
    cluster = Cluster(1)
    cluster.create(NewTopic("t"))
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1), is_clean=True))
    assert cluster.records == (
        change(leader=-1, isr=[], eligible_leader_replicas=[1], last_known_elr=[1]),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, fenced=1),
    )
    back = broker_registration(1, incarnation=1)
    register(cluster, back._replace(previous_broker_epoch=BrokerEpoch(1)), 5)
    again = change(leader=1, isr=[1], eligible_leader_replicas=[], last_known_elr=[])
    assert cluster.log[-1] == again


def test_over_zookeeper_the_last_to_stop_cleanly_leads_on() -> None:
    """As in Kafka 3.9. A later end that is no clean one is told by the leader epoch."""
    cluster = Cluster(1, settings=ControllerSettings(over_zookeeper=True))
    cluster.create(NewTopic("t"))
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1), is_clean=True))
    assert cluster.records == (
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, fenced=1),
    )
    stopped = cluster.controller.image.partition("t", 0)
    back = broker_registration(1, incarnation=1)
    register(cluster, back._replace(previous_broker_epoch=BrokerEpoch(1)), 5)
    assert cluster.controller.image.partition("t", 0) == stopped


def test_the_last_to_stop_is_waited_for_as_long_as_any_other() -> None:
    """Then it leads no more: somebody may have another leader elected, if need be."""
    cluster = Cluster(1, 2, settings=ControllerSettings(over_zookeeper=True))
    cluster.create(NewTopic("t", assignments=(assignment(0, 1, 2),)))
    cluster.feed(LoseBroker(BrokerId(2), BrokerEpoch(2)))
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1), is_clean=True))
    outcome = cluster.controller.decide(StartTerm((BrokerId(2),)), NOW)
    missing = LoseBroker(BrokerId(1), BrokerEpoch(1))
    assert outcome.timers[0] == SetTimer(
        ("missing", 1), TimestampMs(NOW + SESSION_TIMEOUT_MS), missing
    )
    assert [timer.key for timer in outcome.timers[1:]] == ["ElectUncleanLeaders", "BalanceLeaders"]
    log = len(cluster.log)
    for _ in range(2):
        cluster.feed(missing)
        assert cluster.log[log:] == [
            change(leader=-1, isr=[], eligible_leader_replicas=[1], last_known_elr=[1])
        ], "once"


def test_a_clean_stop_moves_partitions_to_the_others() -> None:
    cluster = Cluster(1, 2)
    cluster.create(NewTopic("t", 2, 2))
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1), is_clean=True))
    partitions = cluster.controller.image.topics["t"].partitions
    assert [(p.leader, p.isr) for p in partitions] == [(2, (2,))] * 2


def test_an_older_incarnation_comes_too_late() -> None:
    cluster = Cluster()
    register(cluster, broker_registration(1), 5)
    with pytest.raises(
        KafkaError, match="Expected broker epoch 5, but got broker epoch 4"
    ) as refused:
        register(cluster, broker_registration(1, incarnation=1), 4)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_must_support_what_is_finalized() -> None:
    cluster = Cluster()
    with pytest.raises(KafkaError) as refused:
        register(cluster, BrokerRegistration(BrokerId(1), uuid(1), ()), 1)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert refused.value.message == (
        "Unable to register because the broker does not support finalized version 33 of"
        " metadata.version. The broker wants a version between 0 and 0, inclusive."
    )


def test_a_lost_broker_is_fenced_and_its_partitions_move() -> None:
    cluster = Cluster(1, 2)
    cluster.create(NewTopic("t", 2, 2))
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    assert cluster.records[-1] == BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=1, fenced=1
    )
    image = cluster.controller.image
    assert [(p.leader, p.isr) for p in image.topics["t"].partitions] == [(2, (2,))] * 2
    assert [broker.id for broker in image.active_brokers()] == [2]
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    assert cluster.records == (), "it is fenced already"


@pytest.mark.parametrize(("id", "epoch"), [(1, 0), (7, 1)])
def test_who_is_not_registered_cannot_be_lost(id: int, epoch: int) -> None:
    cluster = Cluster(1)
    cluster.feed(LoseBroker(BrokerId(id), BrokerEpoch(epoch)))
    assert cluster.records == ()


def test_what_a_forgotten_broker_led_moves() -> None:
    live, gone = BrokerImage(BrokerId(2), BrokerEpoch(5), uuid(5), (), {}, fenced=False), 1
    led = partition((gone, 2), (gone, 2), gone)
    core = Controller(
        image=MetadataImage(
            topics={"t": TopicImage("t", uuid(1), (led,))},
            topics_by_id={uuid(1): TopicImage("t", uuid(1), (led,))},
            brokers={live.id: live},
        )
    )
    outcome = core.decide(LoseBroker(BrokerId(gone), NO_BROKER_EPOCH), NOW)
    assert outcome.records == (change(isr=[2], leader=2),)


def test_a_new_term_finds_leaders() -> None:
    cluster = Cluster(1)
    cluster.create_one(NewTopic("t"))
    lost = PartitionChangeRecord(partition_id=0, topic_id=uuid(1), leader=-1)
    cluster.controller.apply(lost)
    cluster.feed(StartTerm((BrokerId(1),)))
    assert cluster.records == (change(leader=1),)


def test_all_brokers_lost_and_back() -> None:
    cluster = Cluster(1, 2)
    cluster.create(NewTopic("t", 1, 2))
    before = cluster.controller.image.topics["t"].partitions[0]
    first, second = before.replicas
    cluster.feed(LoseBroker(second, BrokerEpoch(second)))
    cluster.feed(LoseBroker(first, BrokerEpoch(first)))
    alone = cluster.controller.image.topics["t"].partitions[0]
    assert (alone.leader, alone.isr, alone.eligible_leader_replicas) == (-1, (), (first,))
    register(cluster, broker_registration(second, incarnation=1), 10)
    assert cluster.controller.image.topics["t"].partitions[0] is alone
    register(cluster, broker_registration(first, incarnation=1), 11)
    back = cluster.controller.image.topics["t"].partitions[0]
    assert (back.leader, back.isr, back.last_known_elr) == (first, (first,), ())


def with_the_first_two_gone() -> Cluster:
    """Of three with `min.insync.replicas=2`: 3 stopped first, then 2, and then 1, which led."""
    cluster = Cluster(1, 2, 3)
    kept = (("min.insync.replicas", "2"),)
    cluster.create(NewTopic("t", assignments=(assignment(0, 1, 2, 3),), configs=kept))
    for id in (3, 2, 1):
        cluster.feed(LoseBroker(BrokerId(id), BrokerEpoch(id)))
    return cluster


def led(cluster: Cluster) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    found = cluster.controller.image.topics["t"].partitions[0]
    return found.leader, found.isr, found.eligible_leader_replicas


def test_of_those_that_had_all_whoever_is_back_first_leads() -> None:
    cluster = with_the_first_two_gone()
    assert led(cluster) == (-1, (), (1, 2)), "3 left while two could acknowledge more"
    clean = broker_registration(2, incarnation=1)._replace(previous_broker_epoch=BrokerEpoch(2))
    register(cluster, broker_registration(3, incarnation=1), 10)
    assert led(cluster) == (-1, (), (1, 2))
    register(cluster, clean, 11)
    assert led(cluster) == (2, (2,), (1,))
    register(cluster, broker_registration(1, incarnation=1), 12)
    assert led(cluster) == (2, (2,), ()), "its disk may have lost some"


def test_when_all_may_have_lost_records_the_last_leader_is_waited_for() -> None:
    cluster = with_the_first_two_gone()
    register(cluster, broker_registration(2, incarnation=1), 10)
    assert led(cluster) == (-1, (), (1,))
    register(cluster, broker_registration(1, incarnation=1), 11)
    assert led(cluster) == (1, (1,), ())


def test_a_new_term_waits_for_those_that_were_there() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.feed(LoseBroker(BrokerId(3), BrokerEpoch(3)))
    outcome = cluster.controller.decide(StartTerm((BrokerId(1),)), NOW)
    assert outcome.records == ()
    assert outcome.timers[:1] == (
        SetTimer(
            ("missing", 2),
            TimestampMs(NOW + SESSION_TIMEOUT_MS),
            LoseBroker(BrokerId(2), BrokerEpoch(2)),
        ),
    )
    assert [timer.key for timer in outcome.timers[1:]] == ["ElectUncleanLeaders", "BalanceLeaders"]


def test_epochs_are_checked() -> None:
    image = Cluster(1).controller.image
    check_broker_epoch(image, BrokerId(1), BrokerEpoch(1))
    with pytest.raises(KafkaError, match="No broker registration found for broker id 2"):
        check_broker_epoch(image, BrokerId(2), BrokerEpoch(1))
    with pytest.raises(KafkaError, match="Expected broker epoch 1, but got broker epoch 9") as e:
        check_broker_epoch(image, BrokerId(1), BrokerEpoch(9))
    assert e.value.code is ErrorCode.STALE_BROKER_EPOCH
