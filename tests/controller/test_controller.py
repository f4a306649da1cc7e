from __future__ import annotations

from typing import get_args

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import (
    AllocateProducerIds,
    Body,
    CreateTopics,
    Event,
    NewTopic,
    TopicsCreated,
    TopicToDelete,
)
from kafkalite.controller.term_events import (
    LoseBroker,
    RegisterBroker,
)
from kafkalite.core import Reply
from kafkalite.types import BrokerEpoch, BrokerId
from tests.controller.sample_cluster import NOW, Cluster, broker_registration, uuid
from tests.controller.sample_events import ANSWERS


def test_every_event_gets_its_kind_of_answer() -> None:
    assert {type(event) for event, _ in ANSWERS} == set(get_args(Event))
    assert {body for _, body in ANSWERS} - {None} == set(get_args(Body))
    controller = Controller()
    for event, body in ANSWERS:
        outcome = controller.decide(event, NOW)
        assert [type(reply.body) for reply in outcome.replies] == ([] if body is None else [body])
        for record in outcome.records:
            controller.apply(record)


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
