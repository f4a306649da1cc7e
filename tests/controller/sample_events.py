"""One event of each kind, with what answers it."""

from __future__ import annotations

from kafkalite.controller.events import (
    AdoptConfigs,
    AdoptCredentials,
    AllocateProducerIds,
    AlterConfigs,
    AlterScramCredentials,
    AssignDirectories,
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
    NewTopic,
    PartitionsCreated,
    PartitionsToAdd,
    ProducerIdBlock,
    ResourceEdits,
    ScramCredentialsAltered,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
    UpdateFeatures,
)
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    BrokerShutDown,
    BrokerUnregistered,
    ElectionType,
    ElectLeaders,
    LeadersElected,
    ListReassignments,
    PartitionsAltered,
    ReassignmentsAltered,
    ReassignmentsListed,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.term_events import (
    BalanceLeaders,
    BrokerRegistered,
    ElectUncleanLeaders,
    LoseBroker,
    RegisterBroker,
    StartTerm,
)
from kafkalite.metadata.image import ConfigResource
from kafkalite.types import BrokerEpoch, BrokerId
from tests.controller.sample_cluster import broker_registration, uuid

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
    (AlterScramCredentials("t"), ScramCredentialsAltered),
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
    (AdoptCredentials("alice", ()), None),
    (ShutDownBroker("t", ID, EPOCH), BrokerShutDown),
    (LoseBroker(ID, EPOCH), None),
    (UnregisterBroker("t", ID), BrokerUnregistered),
]
"""One of each, in an order in which none is refused."""
