from __future__ import annotations

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import (
    AllocateProducerIds,
    BrokerRegistered,
    CreateTopics,
    LoseBroker,
    NewTopic,
    ProducerIdBlock,
    RegisterBroker,
    StartTerm,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
)
from kafkalite.core import Reply
from kafkalite.types import BrokerEpoch, BrokerId
from tests.controller.sample_cluster import NOW, Cluster, broker_registration, uuid


def test_every_event_gets_its_kind_of_answer() -> None:
    cluster = Cluster()
    assert cluster.feed(StartTerm(())) is None
    registration = broker_registration(1)
    registered = cluster.feed(RegisterBroker("t", registration, BrokerEpoch(1)))
    assert isinstance(registered, BrokerRegistered)
    block = cluster.feed(AllocateProducerIds("t", BrokerId(1), BrokerEpoch(1)))
    assert isinstance(block, ProducerIdBlock)
    created = cluster.feed(CreateTopics("t", (NewTopic("a"),), (uuid(1),), 0))
    assert isinstance(created, TopicsCreated)
    assert isinstance(cluster.delete(TopicToDelete("a")), TopicsDeleted)
    assert cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1))) is None


def test_the_reply_bears_the_events_token() -> None:
    cluster = Cluster(1)
    outcome = cluster.controller.decide(CreateTopics("mine", (), (), 0), NOW)
    assert outcome.replies == (Reply("mine", TopicsCreated(())),)


def test_nobody_asked_nobody_answered() -> None:
    cluster = Cluster()
    assert cluster.feed(RegisterBroker(None, broker_registration(1), BrokerEpoch(1))) is None
    assert len(cluster.records) == 2


def test_deciding_leaves_the_state_alone() -> None:
    cluster = Cluster(1)
    image = cluster.controller.image
    cluster.controller.decide(CreateTopics("t", (NewTopic("a"),), (uuid(1),), 0), NOW)
    assert cluster.controller.image is image


def test_loading_is_applying_the_log() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create(NewTopic("a.b", 3, 2), NewTopic("c", configs=(("retention.ms", "5"),)))
    cluster.delete(TopicToDelete("c"))
    cluster.feed(AllocateProducerIds("t", BrokerId(1), BrokerEpoch(1)))
    cluster.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    again = Controller()
    for record in cluster.log:
        again.apply(record)
    assert again.image == cluster.controller.image
    from_image = Controller(image=cluster.controller.image)
    event = CreateTopics("t", (NewTopic("a_b"), NewTopic("d", 9, 2)), (uuid(8), uuid(9)), 7)
    expected = cluster.controller.decide(event, NOW)
    assert again.decide(event, NOW) == from_image.decide(event, NOW) == expected
