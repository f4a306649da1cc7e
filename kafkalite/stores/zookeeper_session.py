"""One broker's session with the store over ZooKeeper: it reads and watches all, folds what changes
into an image, registers the broker, runs for controller, and commits as long as its term lasts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol, assert_never

from kafkalite.errors import InvariantError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import (
    BrokerJoined,
    BrokerLeft,
    BrokerRegistration,
    CommitFailed,
    CommitFailure,
    CommitResult,
    Committed,
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
from kafkalite.stores.told_states import ToldStates
from kafkalite.stores.znodes_changes import NOTHING_DECIDED, ChangePlan, DecidedSettings
from kafkalite.stores.znodes_reader import ZnodesReader
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_commit import ZnodesCommit
from kafkalite.stores.zookeeper_deletions import Deletions, Stop
from kafkalite.stores.zookeeper_edits import ForeignEdits
from kafkalite.stores.zookeeper_election import ZooKeeperElection
from kafkalite.stores.zookeeper_own_settings import OwnSettings
from kafkalite.stores.zookeeper_registration import ZooKeeperRegistration
from kafkalite.stores.zookeeper_term import ZooKeeperTerm
from kafkalite.types import NO_BROKER_EPOCH, NO_LEADER, BrokerEpoch, BrokerId, ControllerEpoch

_log = logging.getLogger(__name__)

Spread = Callable[[Callable[[], None]], None]
"""Calls back when the other live brokers have folded what was committed, or are gone."""


class Surroundings(Protocol):
    """What a session has of its store, which may set some of it later."""

    clock: Clock
    entropy: Entropy
    spread: Spread
    stop: Stop
    on_fold: ImageWatcher
    on_folder_failed: Callable[[BrokerId], None]
    deletes_topics: bool

    def ended(self, session: ZooKeeperMetadataSession) -> None:
        """It is over."""
        ...


class ZooKeeperMetadataSession:
    """See `MetadataSession`."""

    def __init__(
        self,
        store: Surroundings,
        zookeeper: ZooKeeper,
        broker_id: BrokerId,
        listener: Callable[[StoreEvent], None],
    ) -> None:
        self._store = store
        self.broker_id = broker_id
        self._listener = listener
        self._view = ZnodesView(broker_id, lambda: self._zookeeper.id)
        self._watchers: list[ImageWatcher] = []
        self._term: ZooKeeperTerm | None = None
        self._committing = False
        self._gone: dict[BrokerId, BrokerEpoch] = {}
        """Who left while nobody here was told."""
        self._has_failures = False
        """A log folder has failed, and nobody was told."""
        self._is_whole = False
        """All was read at least once."""
        self._is_open = True
        self._zookeeper = zookeeper.open_session(self._on_zookeeper)
        self._reader = ZnodesReader(self._zookeeper, self._view, self._settled)
        self.told = ToldStates(self._view, self._fold)
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
            view.lives.begin_term({id: each.epoch for id, each in view.image.brokers.items()})
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
        for id, life in plan.registered.items():
            self._view.decides_on(id, life)

        def done(refused: Refused | None) -> None:
            self._committing = False
            if refused is None:
                self._committed(plan.own, on_done)
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
                self.told.disconnected()
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
        self.told.read()
        self._fold(is_first=first)
        if self._view.lives.is_named_too_late:
            self._view.lives.is_named_too_late = False
            self._registration.again()
        self._consider()
        term = self._term
        if term is not None:
            term.look()
            self._tidy()

    def _tidy(self) -> None:
        """While a commit is under way the controller decides on nothing, and who takes its place
        is to find what was asked for."""
        if self._term is not None and not self._committing and not self._term.is_telling:
            self._term.tidy()

    def _newest(self) -> MetadataImage:
        self._fold()
        return self._view.image

    def _fold(
        self, *, is_first: bool = False, own: DecidedSettings = NOTHING_DECIDED
    ) -> MetadataDelta | None:
        """Tell watchers of what was read, and the controller of who came and went. `own`: what the
        controller has just committed."""
        before = self._view.image.brokers
        folded = self._view.refresh()
        if folded is None and not is_first:
            return None
        image = self._view.image
        if self._term is not None and folded is not None:
            self._term.settings_changed(folded.delta, own)
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
        self._term = ZooKeeperTerm(
            epoch,
            fence,
            edits,
            deletions if store.deletes_topics else None,
            zookeeper=self._zookeeper,
            view=self._view,
            tell=self._listener,
            on_folder_failed=lambda id: store.on_folder_failed(id),
            newest=self._newest,
        )
        self._view.begin_term()
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

    def _committed(self, own: DecidedSettings, on_done: Callable[[CommitResult], None]) -> None:
        delta = self._fold(own=own)
        image = self._view.image
        result = Committed(image.end_offset)
        if delta is None:
            on_done(result)
            self._tidy()
            return
        term = self._term

        def told() -> None:
            if term is not None:
                term.is_telling = False
            on_done(result)
            self._tidy()

        if term is not None:
            term.is_telling = True
        self._store.spread(told)

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


def _why(refused: Refused) -> str:
    where = "" if refused.operation is None else f" ({refused.operation.path})"
    return f"{refused.failure.value}{where}"
