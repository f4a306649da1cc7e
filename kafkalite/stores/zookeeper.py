"""The metadata store over ZooKeeper, in the layout of Kafka 3.9: brokers on any number of machines.

Each broker reads all znodes that the image needs, watches them, and folds what changes. Only the
controller writes them. It is whoever made `/controller`; its commits are transactions that check
the version of `/controller_epoch`, which every election raises, so that none of an earlier
controller is done. A commit that finds a znode in another version than it was read in, or whose
answer is lost with the connection, ends the term: the controller's core is discarded, and the next
one reads everything anew.

Kafka differs: a broker there learns of the metadata from what the controller sends it. Here it
reads it itself, and what the controller sends only tells it what to wait for.

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

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple, TypeVar, assert_never

from kafkalite.errors import ErrorCode, InvariantError, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.metadata.store import (
    BrokerJoined,
    BrokerLeft,
    BrokerRegistration,
    CommitFailed,
    CommitFailure,
    CommitResult,
    Committed,
    ConfigsEdited,
    Deposed,
    Elected,
    ImageWatcher,
    Loaded,
    SessionLost,
    StoreEvent,
    TopicGone,
)
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.zookeeper import (
    Changed,
    Check,
    ChildrenChanged,
    Connected,
    Create,
    Disconnected,
    Done,
    Expired,
    Failure,
    Refused,
    ZooKeeper,
    ZooKeeperEvent,
)
from kafkalite.stores import znodes
from kafkalite.stores.znodes_changes import ChangePlan
from kafkalite.stores.znodes_reader import ZnodesReader
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_commit import ZnodesCommit
from kafkalite.stores.zookeeper_deletions import Deletions, Stop
from kafkalite.stores.zookeeper_edits import ForeignEdits
from kafkalite.stores.zookeeper_election import ZooKeeperElection
from kafkalite.stores.zookeeper_own_settings import Decide, OwnSettings
from kafkalite.stores.zookeeper_registration import ZooKeeperRegistration
from kafkalite.types import NO_BROKER_EPOCH, NO_LEADER, BrokerEpoch, BrokerId, ControllerEpoch

_log = logging.getLogger(__name__)

A = TypeVar("A")
_MOST_ENDED = 8
"""Sessions whose end is waited for; a process has one open at a time."""

Spread = Callable[[Callable[[], None]], None]
"""Calls back when the other live brokers have folded what was committed, or are gone."""


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

    async def wait_closed(self) -> None:
        """After `close`: return when ZooKeeper knows that the sessions are over."""
        for session in self._ended:
            await session.wait_closed()

    def ended(self, session: ZooKeeperMetadataSession) -> None:
        """Of a session: it is over."""
        self._sessions.pop(session.broker_id, None)
        self._ended.append(session)
        del self._ended[:-_MOST_ENDED]


class _Term(NamedTuple):
    """This session's broker is the controller."""

    epoch: ControllerEpoch
    fence: Check
    edits: ForeignEdits
    deletions: Deletions


class ZooKeeperMetadataSession:
    """See `MetadataSession`."""

    def __init__(
        self,
        store: ZooKeeperStore,
        zookeeper: ZooKeeper,
        broker_id: BrokerId,
        listener: Callable[[StoreEvent], None],
    ) -> None:
        self._store = store
        self.broker_id = broker_id
        self._listener = listener
        self._view = ZnodesView()
        self._watchers: list[ImageWatcher] = []
        self._term: _Term | None = None
        self._committing = False
        self._gone: dict[BrokerId, BrokerEpoch] = {}
        """Who left while nobody here was told."""
        self._edited: dict[ConfigResource, None] = {}
        """Whose settings others have changed while this is the controller, which was not told."""
        self._has_failures = False
        """A log folder has failed, and nobody was told."""
        self._is_whole = False
        """All was read at least once."""
        self._is_open = True
        self._zookeeper = zookeeper.open_session(self._on_zookeeper)
        self._reader = ZnodesReader(self._zookeeper, self._view, self._settled)
        parts = (broker_id, self._zookeeper, self._view, self._reader, store.clock)
        self._registration = ZooKeeperRegistration(*parts)
        self.own_settings = OwnSettings(*parts[:-1], self._fold)
        self._election = ZooKeeperElection(*parts, on_elected=self._begin_term)

    # See `MetadataSession`.

    def register(self, registration: BrokerRegistration) -> None:
        """See `MetadataSession`. ZooKeeper keeps endpoints, features and rack of it."""
        if self._is_open:
            self._registration.want(registration)
            self._consider()

    def run_for_controller(self) -> None:
        """See `MetadataSession`."""
        if self._is_open:
            self._election.is_candidate = True
            self._consider()

    def resign(self) -> None:
        """See `MetadataSession`."""
        self._election.is_candidate = False
        self._end_term()
        self._consider()

    def folder_failed(self) -> None:
        """See `MetadataSession`. It is written when there is a connection again."""
        self._has_failures = True
        self._consider()

    def load(self, on_loaded: Callable[[Loaded], None]) -> None:
        """See `MetadataSession`. All was read anew after the election."""
        if self._is_open:
            view = self._view
            on_loaded(Loaded(view.image_to_decide_on(), view.live_brokers(), tuple(view.going)))

    def commit(
        self,
        epoch: ControllerEpoch,
        changes: tuple[Change, ...],
        on_done: Callable[[CommitResult], None],
    ) -> None:
        """See `MetadataSession`. A commit too large for one transaction is several: one that fails
        after the first leaves partitions without a state, to which the next controller gives
        one, or a topic that is to be deleted, which it deletes."""
        term = self._term
        if not self._is_open:
            on_done(CommitFailed(CommitFailure.SESSION_LOST))
            return
        if term is None or epoch != term.epoch:
            on_done(CommitFailed(CommitFailure.FENCED))
            return
        assert not self._committing, "a commit within a commit"
        self._fold()
        try:
            plan = ChangePlan(self._view, changes, epoch)
            operations = list(plan.operations())
        except InvariantError as error:
            _log.warning("What was decided cannot be written to ZooKeeper: %s", error)
            self._end_term()
            on_done(CommitFailed(CommitFailure.FENCED, str(error)))
            self._consider()
            return
        self._committing = True

        def done(refused: Refused | None) -> None:
            self._committing = False
            if refused is None:
                self._committed(plan.configs, on_done)
            else:
                self._commit_failed(refused, on_done)

        ZnodesCommit(self._zookeeper, self._view, operations, term.fence, done).send()

    def watch(self, watcher: ImageWatcher) -> None:
        """See `MetadataSession`. The first image comes when all was read."""
        if self._is_open:
            self._watchers.append(watcher)
            if self._is_whole:
                watcher(self._view.image, self._view.all_there_is())

    def close(self) -> None:
        """See `MetadataSession`."""
        if self._is_open:
            self._end()
            self._zookeeper.close()

    async def wait_closed(self) -> None:
        """Return when ZooKeeper knows that the session is over."""
        await self._zookeeper.wait_closed()

    @property
    def is_open(self) -> bool:
        """Until it is closed or lost."""
        return self._is_open

    @property
    def is_candidate(self) -> bool:
        """Whether it runs for controller, or is it."""
        return self._election.is_candidate

    @property
    def is_controller(self) -> bool:
        """Whether this session has a term."""
        return self._term is not None

    @property
    def is_registered(self) -> bool:
        """Whether this broker is seen to be alive, by itself at least."""
        return self._registration.is_seen

    # What ZooKeeper tells.

    def _on_zookeeper(self, event: ZooKeeperEvent) -> None:
        match event:
            case Connected():
                self._reader.read_all()
            case Disconnected():
                _log.warning("The connection to ZooKeeper is lost; trying again")
            case Changed():
                self._reader.changed(event.path)
            case ChildrenChanged():
                self._reader.children_changed(event.path)
            case Expired():
                self._lost()
            case _:
                assert_never(event)

    def _lost(self) -> None:
        if self._is_open:
            _log.warning("The session with ZooKeeper is over")
            self._end()
            self._listener(SessionLost())

    def _end(self) -> None:
        self._is_open = False
        self._election.is_candidate = False
        self._end_term()
        self._store.ended(self)

    def _settled(self) -> None:
        """All that was asked for was read."""
        if not self._is_open or self._reader.failed:
            return
        first = not self._is_whole
        self._is_whole = True
        self._fold(is_first=first)
        self._consider()
        term = self._term
        if term is not None:
            for edit in term.edits.news():
                self._listener(edit)
            self._tell_edited()
            for id in term.edits.failures():
                self._store.on_folder_failed(id)
            if self._store.deletes_topics:
                term.deletions.look()
            self._tidy(term)

    def _tell_edited(self) -> None:
        edited, self._edited = self._edited, {}
        topics = self._view.image.topics
        for resource in edited:
            if resource.type != ConfigResourceType.TOPIC or resource.name in topics:
                # Else they go with the topic: it is gone, or not complete yet.
                self._listener(ConfigsEdited(resource, partial(self._settings_of, resource)))

    def _settings_of(self, resource: ConfigResource) -> Mapping[str, str]:
        self._fold()
        return self._view.image.configs.get(resource, {})

    def _fold(
        self, *, is_first: bool = False, own: Collection[ConfigResource] = ()
    ) -> MetadataDelta | None:
        """Tell watchers of what was read, and the controller of who came and went. `own`: whose
        settings the controller has just committed."""
        before = self._view.image.brokers
        folded = self._view.refresh()
        if folded is None and not is_first:
            return None
        image = self._view.image
        if self._term is not None and folded is not None:
            self._edited.update((each, None) for each in folded.delta.configs if each not in own)
        delta = self._view.all_there_is() if is_first or folded is None else folded.delta
        for watcher in self._watchers:
            try:
                watcher(image, delta)
            except Exception:  # noqa: BLE001  # One that fails keeps it from nobody.
                _log.exception("A watcher of broker %d failed", self.broker_id)
        self._store.on_fold(image, delta)
        for id in delta.brokers:
            old, new = before.get(id), image.brokers.get(id)
            if old is not None and (new is None or new.epoch != old.epoch):
                self._left(id, old.epoch)
            is_new = new is not None and (old is None or new.epoch != old.epoch)
            if is_new and self._term is not None:
                self._listener(BrokerJoined(self._view.live_broker(id)))
        return delta

    def _left(self, id: BrokerId, epoch: BrokerEpoch) -> None:
        if self._term is None:
            self._gone[id] = epoch
        else:
            self._listener(BrokerLeft(id, epoch))

    # Election.

    def _consider(self) -> None:
        """What is to be done about registration and election, as the view stands."""
        if not self._is_whole or not self._is_open:
            return
        self._registration.consider()
        if self._has_failures:
            self._tell_failures()
        if self._term is not None and not self._election.is_ours:
            self._end_term()
            self._listener(Deposed())
        self._election.consider(has_term=self._term is not None)

    def _tell_failures(self) -> None:
        def done(result: tuple[Done, ...] | Refused) -> None:
            self._has_failures |= isinstance(result, Refused)

        self._has_failures = False
        data = znodes.write_folder_event(self.broker_id)
        self._zookeeper.multi([Create(znodes.FOLDER_EVENT, data, sequential=True)], done)

    def _begin_term(self, epoch: ControllerEpoch, fence: Check) -> None:
        """All was read anew since the election."""
        store = self._store
        edits = ForeignEdits(self._view, store.entropy, deletes_topics=store.deletes_topics)
        deletions = Deletions(
            self._zookeeper, self._view, fence, store.stop, partial(self._topic_is_gone, epoch)
        )
        self._term = _Term(epoch, fence, edits, deletions)
        self._view.begin_term()
        self._edited.clear()
        self._listener(Elected(epoch))
        image = self._view.image
        named = {
            id: NO_BROKER_EPOCH
            for topic in image.topics.values()
            for partition in topic.partitions
            for id in (*partition.isr, partition.leader)
        }
        gone, self._gone = {**named, **self._gone}, {}
        for id in sorted(gone):
            if id not in image.brokers and id != NO_LEADER and self._term is not None:
                self._listener(BrokerLeft(id, gone[id]))
        store.on_folder_failed(self.broker_id)  # Others say it when they are told of the term.

    def _end_term(self) -> None:
        self._term = None
        self._view.end_term()

    def _topic_is_gone(self, epoch: ControllerEpoch, name: str) -> None:
        self._fold()
        if self._term is not None and self._term.epoch == epoch:
            self._listener(TopicGone(name))

    # Commits.

    def _committed(
        self, configs: Collection[ConfigResource], on_done: Callable[[CommitResult], None]
    ) -> None:
        delta = self._fold(own=configs)
        image = self._view.image
        result = Committed(image.end_offset)
        if delta is None:
            on_done(result)
            return
        self._store.spread(lambda: on_done(result))

    def _commit_failed(self, refused: Refused, on_done: Callable[[CommitResult], None]) -> None:
        lost = refused.failure in (Failure.CONNECTION_LOST, Failure.SESSION_OVER)
        _log.warning("A commit to ZooKeeper failed: %s", _why(refused))
        self._end_term()
        on_done(
            CommitFailed(
                CommitFailure.SESSION_LOST if lost else CommitFailure.FENCED, _why(refused)
            )
        )
        self._consider()

    def _tidy(self, term: _Term) -> None:
        """Wishes that are fulfilled go; if that fails, then with the next look."""
        if self._committing:
            return
        operations = list(term.edits.done())
        if operations:
            self._zookeeper.multi([term.fence, *operations], lambda result: None)


def _why(refused: Refused) -> str:
    where = "" if refused.operation is None else f" ({refused.operation.path})"
    return f"{refused.failure.value}{where}"
