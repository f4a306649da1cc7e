"""What the controller is asked and told, and what it answers: two closed unions. What concerns
replicas and leaders is in `replica_events.py`.

A `token` names whoever waits for the reply; None where nobody does. Ids and seeds are drawn by
whoever makes the event, so that the same event gives the same decision.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from collections.abc import Hashable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkalite.controller.replica_events import ReplicaBody, ReplicaEvent
from kafkalite.controller.term_events import (
    BrokerRegistered,
    LeaderTimer,
    LoseBroker,
    RegisterBroker,
    StartTerm,
)
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import ConfigResource
from kafkalite.metadata.scram import ScramCredential
from kafkalite.types import ZERO_UUID, BrokerEpoch, BrokerId, ProducerId, Uuid


class PartitionAssignment(NamedTuple):
    """Replicas of one partition, chosen by the client; the first is the preferred leader."""

    partition: int
    replicas: tuple[BrokerId, ...]


class NewTopic(NamedTuple):
    """A topic that someone wants."""

    name: str
    num_partitions: int = -1
    """-1: the broker's default, or as many as `assignments` has."""
    replication_factor: int = -1
    assignments: tuple[PartitionAssignment, ...] = ()
    """Empty: the controller places the replicas."""
    configs: tuple[tuple[str, str | None], ...] = ()
    """Key and value; of a key given twice the last counts. None is refused."""


class CreateTopics(NamedTuple):
    """Answered by `TopicsCreated`."""

    token: Hashable
    topics: tuple[NewTopic, ...]
    topic_ids: tuple[Uuid, ...]
    """A fresh one for each topic; those of refused topics are not used."""
    placement_seed: int
    """64 random bits: where placement starts."""
    validate_only: bool = False


class TopicToDelete(NamedTuple):
    """By name or by id, not both."""

    name: str | None = None
    id: Uuid = ZERO_UUID


class DeleteTopics(NamedTuple):
    """Answered by `TopicsDeleted`."""

    token: Hashable
    topics: tuple[TopicToDelete, ...]


class AdoptConfigs(NamedTuple):
    """Another has written these as all settings of a resource: they are so, whatever is thought of
    them."""

    resource: ConfigResource
    values: tuple[tuple[str, str], ...]
    token: None = None


class AdoptCredentials(NamedTuple):
    """Another has written these as all SCRAM credentials of a user, by mechanism: as
    `AdoptConfigs`."""

    user: str
    credentials: tuple[tuple[int, ScramCredential], ...]
    token: None = None


class FreeName(NamedTuple):
    """Of a topic that was deleted nothing is left: another one may have its name."""

    name: str
    token: None = None


class PartitionsToAdd(NamedTuple):
    """A topic that is to have more partitions."""

    name: str
    total: int
    """Of its partitions, old and new."""
    assignments: tuple[tuple[BrokerId, ...], ...] | None = None
    """Replicas of each new one; None: the controller places them."""


class CreatePartitions(NamedTuple):
    """Answered by `PartitionsCreated`."""

    token: Hashable
    topics: tuple[PartitionsToAdd, ...]
    placement_seed: int
    """64 random bits: where placement starts."""
    validate_only: bool = False


class FeatureUpdate(NamedTuple):
    """A level that someone wants a feature to be finalized at; 0: not at all."""

    name: str
    level: int
    upgrade_type: int
    """An `UpgradeType` of `features.py`, or a number that there is not."""


class UpdateFeatures(NamedTuple):
    """Answered by `FeaturesUpdated`, or refused as a whole."""

    token: Hashable
    updates: tuple[FeatureUpdate, ...]
    controller_id: BrokerId
    """The one who decides, for what it says about itself."""
    validate_only: bool = False


class ConfigOperation(IntEnum):
    """The protocol's numbers for what to do with a setting (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigEdit(NamedTuple):
    """One thing to do with one setting."""

    name: str
    operation: int
    """A `ConfigOperation`, or a number that there is not."""
    value: str | None


class ResourceEdits(NamedTuple):
    """What to do with the settings of one resource."""

    resource: ConfigResource
    edits: tuple[ConfigEdit, ...]


class AlterConfigs(NamedTuple):
    """Answered by `ConfigsAltered`."""

    token: Hashable
    resources: tuple[ResourceEdits, ...]
    asked: BrokerId
    """The broker that took the request: it may be asked about itself alone."""
    own_settings: Mapping[str, str]
    """Those of that broker's file."""
    replaces_all: bool = False
    """What a resource has and the edits do not name goes (the older AlterConfigs)."""
    validate_only: bool = False


class AllocateProducerIds(NamedTuple):
    """Answered by `ProducerIdBlock`; `KafkaError(STALE_BROKER_EPOCH)` for another incarnation."""

    token: Hashable
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


class ScramDeletion(NamedTuple):
    """A credential that is to go."""

    user: str
    mechanism: int
    """A `ScramMechanism`, or a number that there is not."""


class ScramUpsertion(NamedTuple):
    """A credential that is to be set, be there one or not."""

    user: str
    mechanism: int
    """As in `ScramDeletion`."""
    iterations: int
    salt: bytes
    salted_password: bytes
    """The password as the client has salted and hashed it, so many times."""

    def __repr__(self) -> str:
        """Without what somebody could log in with."""
        return f"ScramUpsertion({self.user!r}, {self.mechanism}, {self.iterations})"


class AlterScramCredentials(NamedTuple):
    """Answered by `ScramCredentialsAltered`."""

    token: Hashable
    deletions: tuple[ScramDeletion, ...] = ()
    upsertions: tuple[ScramUpsertion, ...] = ()


class ReplicaDirectory(NamedTuple):
    """The log folder that a broker has a replica in."""

    topic_id: Uuid
    partition: int
    directory: Uuid


class AssignDirectories(NamedTuple):
    """A broker has chosen folders for its replicas. Answered by `DirectoriesKnown`."""

    token: Hashable
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    replicas: tuple[ReplicaDirectory, ...]


class FailDirectories(NamedTuple):
    """Folders of a broker have failed. Answered by `DirectoriesKnown`."""

    token: Hashable
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    failed: tuple[Uuid, ...]


class FailReplicas(NamedTuple):
    """A broker has said that these replicas of it are on no disk: as `FailDirectories`, where the
    metadata does not know of folders."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    replicas: tuple[tuple[Uuid, int], ...]
    """By topic id and partition."""
    token: None = None


ControllerRequest = (
    CreateTopics
    | DeleteTopics
    | CreatePartitions
    | AlterConfigs
    | UpdateFeatures
    | AllocateProducerIds
    | AlterScramCredentials
    | AssignDirectories
    | FailDirectories
    | ReplicaEvent
)
"""Events that brokers ask for; the others come from the store."""
RequestedEvent = (
    AssignDirectories
    | FailDirectories
    | FailReplicas
    | CreateTopics
    | DeleteTopics
    | AdoptConfigs
    | AdoptCredentials
    | FreeName
    | CreatePartitions
    | AlterConfigs
    | UpdateFeatures
    | AllocateProducerIds
    | AlterScramCredentials
    | ReplicaEvent
    | LeaderTimer
)
"""What is not part of every term."""
Event = RequestedEvent | RegisterBroker | LoseBroker | StartTerm


class CreatedTopic(NamedTuple):
    """It exists, or would (validate_only)."""

    name: str
    topic_id: Uuid
    num_partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]
    """What was set, each key once."""


class RefusedTopic(NamedTuple):
    """It does not, and why, in Kafka's words."""

    name: str
    code: ErrorCode
    message: str


class TopicsCreated(NamedTuple):
    """In the order of the request, but names given twice come once, at the end."""

    topics: tuple[CreatedTopic | RefusedTopic, ...]


class DeletedTopic(NamedTuple):
    """What became of one topic that was to go. Of those gone, name and id; else what was asked."""

    name: str | None
    topic_id: Uuid
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class TopicsDeleted(NamedTuple):
    """In the order of the request; Kafka shuffles them."""

    topics: tuple[DeletedTopic, ...]


class TopicGrown(NamedTuple):
    """What became of one topic that was to have more partitions."""

    name: str
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class PartitionsCreated(NamedTuple):
    """In the order of the request, but names given twice come once, at the end."""

    topics: tuple[TopicGrown, ...]


class FeaturesUpdated(NamedTuple):
    """All of them are, or would be (validate_only)."""


class ResourceAltered(NamedTuple):
    """What became of one resource whose settings were to change."""

    resource: ConfigResource
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class ConfigsAltered(NamedTuple):
    """In the order of the request."""

    resources: tuple[ResourceAltered, ...]


class ProducerIdBlock(NamedTuple):
    """Producer ids that one broker may hand out, and no other ever."""

    first: ProducerId
    size: int


class UserAltered(NamedTuple):
    """What became of one user whose credentials were to change."""

    user: str
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class ScramCredentialsAltered(NamedTuple):
    """Each user once, those that were refused at the end; Kafka shuffles them."""

    users: tuple[UserAltered, ...]


class DirectoriesKnown(NamedTuple):
    """The metadata has what the broker told of its folders."""

    changed: int
    """How many partitions are other than before."""


Body = (
    TopicsCreated
    | TopicsDeleted
    | PartitionsCreated
    | ConfigsAltered
    | FeaturesUpdated
    | ProducerIdBlock
    | ScramCredentialsAltered
    | BrokerRegistered
    | DirectoriesKnown
    | ReplicaBody
)
