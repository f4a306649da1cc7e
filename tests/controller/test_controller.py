from __future__ import annotations

from typing import get_args

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import (
    AdoptConfigs,
    AllocateProducerIds,
    AlterConfigs,
    AssignDirectories,
    Body,
    BrokerRegistered,
    ConfigsAltered,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    DirectoriesKnown,
    Event,
    FailDirectories,
    FailReplicas,
    FeaturesUpdated,
    FreeName,
    LoseBroker,
    NewTopic,
    PartitionsCreated,
    PartitionsToAdd,
    ProducerIdBlock,
    RegisterBroker,
    ResourceEdits,
    StartTerm,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
    UpdateFeatures,
)
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    BalanceLeaders,
    BrokerShutDown,
    BrokerUnregistered,
    ElectionType,
    ElectLeaders,
    ElectUncleanLeaders,
    LeadersElected,
    ListReassignments,
    PartitionsAltered,
    ReassignmentsAltered,
    ReassignmentsListed,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.core import Reply
from kafkalite.metadata.image import ConfigResource
from kafkalite.types import BrokerEpoch, BrokerId
from tests.controller.sample_cluster import NOW, Cluster, broker_registration, uuid

ID, EPOCH = BrokerId(1), BrokerEpoch(1)
TOPIC = ConfigResource(2, "a")
ANSWERS: list[tuple[Event, type | None]] = [
    (StartTerm(()), None),
    (RegisterBroker("t", broker_registration(1), EPOCH), BrokerRegistered),
    (AllocateProducerIds("t", ID, EPOCH), ProducerIdBlock),
    (CreateTopics("t", (NewTopic("a"),), (uuid(1),), 0), TopicsCreated),
    (CreatePartitions("t", (PartitionsToAdd("a", 2),), 0), PartitionsCreated),
    (AlterConfigs("t", (ResourceEdits(TOPIC, ()),), ID, {}), ConfigsAltered),
    (UpdateFeatures("t", (), ID), FeaturesUpdated),
    (AssignDirectories("t", ID, EPOCH, ()), DirectoriesKnown),
    (AlterPartitions("t", ID, EPOCH, ()), PartitionsAltered),
    (ElectLeaders("t", ElectionType.PREFERRED, None), LeadersElected),
    (AlterReassignments("t", ()), ReassignmentsAltered),
    (ListReassignments("t", None), ReassignmentsListed),
    (BalanceLeaders(), None),
    (ElectUncleanLeaders(), None),
    (DeleteTopics("t", (TopicToDelete("a"),)), TopicsDeleted),
    (FailDirectories("t", ID, EPOCH, ()), DirectoriesKnown),
    (FailReplicas(ID, EPOCH, ((uuid(1), 0),)), None),
    (FreeName("a"), None),
    (AdoptConfigs(TOPIC, ()), None),
    (ShutDownBroker("t", ID, EPOCH), BrokerShutDown),
    (LoseBroker(ID, EPOCH), None),
    (UnregisterBroker("t", ID), BrokerUnregistered),
]
"""One of each, in an order in which none is refused."""


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
