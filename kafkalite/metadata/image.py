"""What the cluster agrees on, at one offset of its metadata: an immutable picture.

Every broker reads the newest image and never waits for it. An image is made by folding changes into
the one before (`draft.py`); what did not change is shared, so that a change to one of 5,000 topics
copies two dictionaries of pointers and that topic. It holds what kafkalite acts on: records of
other types (ACLs, quotas, delegation tokens) stay in the log, and wait for the code that
reads them.

Source: Kafka's `MetadataImage` and the registrations in `org.apache.kafka.metadata`.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from collections.abc import Collection, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from kafkalite.metadata.scram import ScramCredential, ScramKey, ScramMechanism
from kafkalite.types import (
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    ProducerId,
    Uuid,
)

MIGRATING_DIRECTORY = Uuid(bytes(16))
"""The directory of a replica whose broker told none (`DirectoryId.MIGRATING`)."""
UNASSIGNED_DIRECTORY = Uuid(bytes(15) + b"\x01")
"""The broker has several and has not chosen yet (`DirectoryId.UNASSIGNED`)."""

_START = Offset(0)
_NO_EPOCH = ControllerEpoch(0)
_FIRST_PRODUCER_ID = ProducerId(0)
_NONE: Mapping[Any, Any] = MappingProxyType({})  # Any: it holds nothing of any kind.


class ConfigResourceType(IntEnum):
    """The protocol's numbers for what a setting belongs to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Whose settings. A broker's name is its id in decimal; empty stands for all brokers."""

    type: int
    """A `ConfigResourceType`, or a number that only a newer Kafka knows."""
    name: str


class PartitionImage(NamedTuple):
    """Who keeps a partition and who leads it (`PartitionRegistration`)."""

    replicas: tuple[BrokerId, ...]
    """In the order of preference: the first is the preferred leader."""
    isr: tuple[BrokerId, ...]
    leader: BrokerId
    """`NO_LEADER` while none may lead."""
    leader_epoch: LeaderEpoch
    """Rises by one whenever a leader is chosen or lost, the same one included."""
    partition_epoch: int
    """Rises by one with every change: AlterPartition is fenced by it."""
    directories: tuple[Uuid, ...] = ()
    """Log directory of each replica, in the order of `replicas`."""
    removing_replicas: tuple[BrokerId, ...] = ()
    adding_replicas: tuple[BrokerId, ...] = ()
    leader_recovery_state: int = 0
    """1: the leader came by an unclean election and still recovers."""
    eligible_leader_replicas: tuple[BrokerId, ...] = ()
    last_known_elr: tuple[BrokerId, ...] = ()

    def directory_of(self, broker: BrokerId) -> Uuid:
        """Where that broker has its replica, as far as it is known: `UNASSIGNED_DIRECTORY` else."""
        if broker not in self.replicas or not self.directories:
            return UNASSIGNED_DIRECTORY
        return self.directories[self.replicas.index(broker)]

    def is_offline(self, broker: BrokerId, log_dirs: Collection[Uuid]) -> bool:
        """Whether that broker's replica is in none of its `log_dirs`; not, when it tells none."""
        directory = self.directory_of(broker)
        known = directory not in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)
        return known and bool(log_dirs) and directory not in log_dirs


class TopicImage(NamedTuple):
    """A topic: its name, its id, and its partitions by their index."""

    name: str
    id: Uuid
    partitions: tuple[PartitionImage, ...]


class Endpoint(NamedTuple):
    """Where a broker or controller listens."""

    name: str
    """The listener's name."""
    host: str
    port: int
    security_protocol: int = 0
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


class VersionRange(NamedTuple):
    """Levels of a feature that a node supports, both inclusive."""

    min: int
    max: int


class BrokerImage(NamedTuple):
    """A broker as it registered last (`BrokerRegistration`)."""

    id: BrokerId
    epoch: BrokerEpoch
    """Another one for each registration: what an earlier incarnation still sends is refused by
    it."""
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]
    rack: str | None = None
    fenced: bool = True
    """A fenced broker keeps its replicas and leads none of them."""
    in_controlled_shutdown: bool = False
    log_dirs: tuple[Uuid, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it may lead and join in-sync replicas."""
        return not self.fenced and not self.in_controlled_shutdown


class ControllerImage(NamedTuple):
    """A controller that registered itself (KIP-919)."""

    id: BrokerId
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]
    zk_migration_ready: bool = False


class MetadataImage(NamedTuple):
    """All of it, up to `end_offset`. Mappings are not to be changed; draft a new image instead."""

    cluster_id: str = ""
    end_offset: Offset = _START
    """Exclusive: the offset of the next change."""
    epoch: ControllerEpoch = _NO_EPOCH
    """Of the controller that wrote the last change."""
    controller_id: BrokerId = NO_LEADER
    topics: Mapping[str, TopicImage] = _NONE
    topics_by_id: Mapping[Uuid, TopicImage] = _NONE
    brokers: Mapping[BrokerId, BrokerImage] = _NONE
    controllers: Mapping[BrokerId, ControllerImage] = _NONE
    configs: Mapping[ConfigResource, Mapping[str, str]] = _NONE
    """What was set. A resource with nothing set is not in it."""
    features: Mapping[str, int] = _NONE
    """Finalized levels. A feature at level 0 is not in it."""
    next_producer_id: ProducerId = _FIRST_PRODUCER_ID
    """The first id that no block has taken yet."""
    scram_credentials: Mapping[ScramKey, ScramCredential] = _NONE

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """None when there is no such topic or partition."""
        image = self.topics.get(topic)
        if image is None or not 0 <= index < len(image.partitions):
            return None
        return image.partitions[index]

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """What was set on the topic, defaults left out."""
        return self.configs.get(ConfigResource(ConfigResourceType.TOPIC, topic), {})

    def scram_credential(self, mechanism: int, user: str) -> ScramCredential | None:
        """None when that user has none of that `ScramMechanism`."""
        return self.scram_credentials.get(ScramKey(mechanism, user))

    def credentials_of(self, user: str) -> dict[int, ScramCredential]:
        """By `ScramMechanism`."""
        found = ((each, self.scram_credential(each, user)) for each in ScramMechanism)
        return {each: credential for each, credential in found if credential is not None}

    def active_brokers(self) -> tuple[BrokerImage, ...]:
        """Brokers that clients are told of, by id."""
        return tuple(self.brokers[id] for id in sorted(self.brokers) if self.brokers[id].active)
