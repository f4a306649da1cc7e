"""The metadata store over ZooKeeper, in the layout of Kafka 3.9: brokers on any number of machines.

Each broker reads all znodes that the image needs, watches them, and folds what changes. Only the
controller writes them. It is whoever made `/controller`; its commits are transactions that check
the version of `/controller_epoch`, which every election raises, so that none of an earlier
controller is done. A commit that finds a znode in another version than it was read in, or whose
answer is lost with the connection, ends the term: the controller's core is discarded, and the next
one reads everything anew.

Kafka differs: a broker there learns of the metadata from what the controller sends it. Here it
reads it itself, and what the controller sends only tells it what to wait for, unless ZooKeeper
cannot be read (`told_states.py`).

Kafka differs: a broker does not start while the registration of its earlier life is still there,
for as long as a session lasts. Here it waits for that to go.

A topic that is deleted is gone for clients at once. Its znodes go when all brokers with replicas of
it have dropped them, those that are away when they are back (`znodes_deletions.py`).

Kafka differs: versions 0 of OffsetCommit and OffsetFetch keep offsets in `/consumers/GROUP/offsets`
there. Kafka 4 has taken those versions away, and here they are not listed either: what consumers
of before 0.9 wrote there stays as it is.

Source: Kafka's `KafkaZkClient`, `KafkaController` (`onControllerFailover`), `ZkElection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.store import ImageWatcher, StoreEvent
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.zookeeper import ZooKeeper
from kafkalite.stores.told_states import ToldState
from kafkalite.stores.zookeeper_deletions import Stop
from kafkalite.stores.zookeeper_own_settings import Decide
from kafkalite.stores.zookeeper_session import Spread, ZooKeeperMetadataSession
from kafkalite.types import BrokerId

A = TypeVar("A")
_MOST_ENDED = 8
"""Sessions whose end is waited for; a process has one open at a time."""


def _nobody_else(on_spread: Callable[[], None]) -> None:
    on_spread()


class ZooKeeperStore:
    """One cluster, as one broker sees it."""

    def __init__(
        self,
        zookeeper: ZooKeeper,
        cluster_id: str,
        clock: Clock,
        entropy: Entropy,
        spread: Spread = _nobody_else,
        stop: Stop = lambda topic, on_stopped: on_stopped(),
        on_fold: ImageWatcher = lambda image, delta: None,
        on_folder_failed: Callable[[BrokerId], None] = lambda broker_id: None,
        *,
        deletes_topics: bool = True,
    ) -> None:
        """`cluster_id` as `found_cluster` gave it; `on_fold` is called after watchers were.
        `stop` has other brokers drop their replicas of a topic that is deleted.
        `on_folder_failed`: this broker is the controller, and is to find out which replicas that
        broker has lost.
        `deletes_topics`: what tools wish for is done (`delete.topic.enable`).
        Without `spread` a commit is answered when it is durable and this broker has folded it; the
        others follow a moment later."""
        self._zookeeper = zookeeper
        self._cluster_id = cluster_id
        self.clock = clock
        self.entropy = entropy
        self.spread = spread
        self.stop = stop
        self.on_fold = on_fold
        self.on_folder_failed = on_folder_failed
        self.deletes_topics = deletes_topics
        self._ended: list[ZooKeeperMetadataSession] = []
        self._sessions: dict[BrokerId, ZooKeeperMetadataSession] = {}

    @property
    def cluster_id(self) -> str:
        """See `MetadataStore`."""
        return self._cluster_id

    def open_session(
        self, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> ZooKeeperMetadataSession:
        """See `MetadataStore`."""
        if broker_id in self._sessions:
            raise KafkaError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"broker {broker_id} has a session already"
            )
        session = ZooKeeperMetadataSession(self, self._zookeeper, broker_id, listener)
        self._sessions[broker_id] = session
        return session

    def close(self) -> None:
        """See `MetadataStore`."""
        for session in tuple(self._sessions.values()):
            session.close()

    def is_registered(self, broker_id: BrokerId) -> bool:
        """Whether that broker is seen to be alive, through a session here."""
        session = self._sessions.get(broker_id)
        return session is not None and session.is_registered

    def alter_own(
        self, broker_id: BrokerId, decide: Decide[A], on_done: Callable[[A | KafkaError], None]
    ) -> None:
        """Settings of that broker, by itself: see `OwnSettings`."""
        session = self._sessions.get(broker_id)
        if session is None or session.is_controller:
            on_done(KafkaError(ErrorCode.NOT_CONTROLLER, "the controller is another by now"))
        else:
            session.own_settings.alter(decide, on_done)

    def tell(self, broker_id: BrokerId, states: Iterable[ToldState]) -> None:
        """What a controller's request tells that broker: see `ToldStates`."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.told.tell(states)

    async def wait_closed(self) -> None:
        """After `close`: return when ZooKeeper knows that the sessions are over."""
        for session in self._ended:
            await session.wait_closed()

    def ended(self, session: ZooKeeperMetadataSession) -> None:
        """Of a session: it is over."""
        self._sessions.pop(session.broker_id, None)
        self._ended.append(session)
        del self._ended[:-_MOST_ENDED]
