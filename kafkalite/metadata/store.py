"""The MetadataStore port: where a cluster keeps what it agrees on, and how brokers find each other.

A broker opens a session. Through it, it registers itself for as long as the session lives, runs for
controller, and watches the image. The controller's term has an epoch, and every commit carries it:
once another has been elected, a commit of the old one fails and changes nothing.

Nothing here waits. Answers come by callback, on the event loop; an implementation may call back
before the call returns, so callers must be ready for that. What happens in the cluster comes as
`StoreEvent`s.

Its homes are `stores/memory.py`, for N brokers of one event loop, persisted as Kafka's
`__cluster_metadata` log, and `stores/zookeeper.py`, as Kafka 3.9's znodes. Any home passes
`tests/metadata/test_store.py`. See docs/decisions/0007-metadata-store.md.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import ConfigResource, Endpoint, MetadataImage, VersionRange
from kafkalite.metadata.scram import ScramCredential
from kafkalite.types import (
    NO_BROKER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    Offset,
    TopicPartition,
    Uuid,
)


class BrokerRegistration(NamedTuple):
    """What a broker says of itself. Lives as long as its session."""

    broker_id: BrokerId
    incarnation_id: Uuid
    """Another one each time a broker starts."""
    endpoints: tuple[Endpoint, ...]
    features: tuple[tuple[str, VersionRange], ...] = ()
    """By name: the levels that it supports."""
    rack: str | None = None
    log_dirs: tuple[Uuid, ...] = ()
    previous_broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """Its epoch at its last stop, if that was a clean one: then it has lost nothing, and what it
    leads goes on in the same leader epoch (KIP-966)."""


class LiveBroker(NamedTuple):
    """A registration, and the epoch that the store gave it: higher for each new one of that
    broker."""

    registration: BrokerRegistration
    epoch: BrokerEpoch


class Elected(NamedTuple):
    """This session's broker is the controller from now on."""

    epoch: ControllerEpoch


class Deposed:
    """It no longer is: another has been elected. Its commits fail from now on."""

    __slots__ = ()


class BrokerJoined(NamedTuple):
    """To the controller: a session registered itself."""

    broker: LiveBroker


class BrokerLeft(NamedTuple):
    """To the controller: the session behind a registration has ended."""

    broker_id: BrokerId
    epoch: BrokerEpoch


class SessionLost:
    """The session is over, and with it registration and election. Open another one."""

    __slots__ = ()


class TopicAssigned(NamedTuple):
    """A topic, or further partitions of one, was written into the store by another; they want
    leaders."""

    name: str
    fresh_id: Uuid
    """For a topic that has none yet."""
    replicas: tuple[tuple[BrokerId, ...], ...]
    """Of every partition."""
    known: int
    """How many of them are in the image."""
    configs: tuple[tuple[str, str], ...] = ()


class TopicUnwanted(NamedTuple):
    """Another asks that the topic be deleted."""

    name: str


class LeadersWanted(NamedTuple):
    """Another asks that these be led by their preferred replicas."""

    partitions: tuple[TopicPartition, ...]


class ReplicasWanted(NamedTuple):
    """Another asks that these move."""

    partitions: tuple[tuple[TopicPartition, tuple[BrokerId, ...]], ...]


class ConfigsEdited(NamedTuple):
    """Another has set what a resource has now; the image shows it already."""

    resource: ConfigResource
    newest: Callable[[], Mapping[str, str]]
    """All its settings, at the moment when they are asked for: what was decided before may be set
    first, on top of them."""


class TopicGone(NamedTuple):
    """A topic that was deleted has left nothing behind: its name is free."""

    name: str


class CredentialsEdited(NamedTuple):
    """Another has set or deleted SCRAM credentials of a user; the image shows it already."""

    user: str
    newest: Callable[[], Mapping[int, ScramCredential]]
    """All that the user has, by `ScramMechanism`, as in `ConfigsEdited`."""


SetByOthers = ConfigsEdited | CredentialsEdited
"""To the controller: what others set, which it has to know of before it decides on the same."""
ForeignEdit = TopicAssigned | TopicUnwanted | TopicGone | LeadersWanted | ReplicasWanted
"""To the controller: what others did to the store, past it, and want something for."""

StoreEvent = Elected | Deposed | BrokerJoined | BrokerLeft | SessionLost | ForeignEdit | SetByOthers
"""What the store tells a session's listener."""


class Loaded(NamedTuple):
    """All that a new controller starts from."""

    image: MetadataImage
    brokers: tuple[LiveBroker, ...]
    """Registered now, by id; every later one comes as `BrokerJoined`."""
    going: tuple[str, ...] = ()
    """Names of topics that are deleted, and of which some broker may still keep replicas: each is
    taken until `TopicGone`."""


class CommitFailure(Enum):
    """Why a commit changed nothing."""

    FENCED = "another controller was elected"
    SESSION_LOST = "the session is over"
    STORAGE = "the store could not write"


class Committed(NamedTuple):
    """The changes are durable, and every live session's watchers have been told of them."""

    end_offset: Offset
    """Exclusive."""


class CommitFailed(NamedTuple):
    """Nothing was changed."""

    failure: CommitFailure
    detail: str = ""


CommitResult = Committed | CommitFailed

ImageWatcher = Callable[[MetadataImage, MetadataDelta], None]
"""Called on the event loop, in the order of commits, none left out. When it returns, its broker has
folded the change: partitions that the image gives it are open. It must not raise; it may submit
events."""


class StoreNotReachedError(Exception):
    """The store does not answer, or does not take this broker; the message tells what to do."""


class MetadataSession(Protocol):
    """One broker's line to the store."""

    def register(self, registration: BrokerRegistration) -> None:
        """Be a member until the session ends; again, to change what was registered (with a new
        epoch)."""
        ...

    def run_for_controller(self) -> None:
        """Be a candidate until the session ends: `Elected` comes now, or when the present
        controller goes. `OSError` when it would be elected and the store cannot write that down."""
        ...

    def resign(self) -> None:
        """Give up the election, and be no candidate any more."""
        ...

    def folder_failed(self) -> None:
        """Where the store has no place for log folders: let the controller know that one of this
        broker's has failed, so that it asks what is offline. Elsewhere nothing: it is told which
        (`FailDirectories`)."""
        ...

    def load(self, on_loaded: Callable[[Loaded], None]) -> None:
        """All there is, for a controller just elected."""
        ...

    def commit(
        self,
        epoch: ControllerEpoch,
        changes: tuple[Change, ...],
        on_done: Callable[[CommitResult], None],
    ) -> None:
        """All changes, or none. One at a time: the next commit waits for `on_done` of the one
        before. Without changes it says whether the term goes on."""
        ...

    def watch(self, watcher: ImageWatcher) -> None:
        """Tell of the present image at once (as all new), then of every commit."""
        ...

    def close(self) -> None:
        """End the session: its registration and candidacy go, watchers hear no more. Twice does no
        harm."""
        ...


class MetadataStore(Protocol):
    """One cluster's metadata."""

    @property
    def cluster_id(self) -> str:
        """The 22 characters that name the cluster for good."""
        ...

    def open_session(
        self, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> MetadataSession:
        """A session for that broker. `KafkaError(DUPLICATE_BROKER_REGISTRATION)` while it has
        another one."""
        ...

    def close(self) -> None:
        """End all sessions and let go of the files."""
        ...
