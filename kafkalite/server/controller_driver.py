"""Runs the controller on the broker that the store elected, and refuses everywhere else.

On election it loads the metadata into a fresh core; then store events and requests become the
core's events, and its records are committed to the store. A commit is done when every live broker
has folded it, so a reply that is let go shows what is true everywhere. A commit that fails, a lost
session or another controller's election ends the term: the core is discarded, and everyone who
waits is told NOT_CONTROLLER.

Over ZooKeeper a controller may have been replaced and not know it yet. So it commits nothing, which
says whether its epoch is the last, before it answers what needs no commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, assert_never, overload

from kafkalite.controller.controller import Controller
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import LoseBroker, RegisterBroker, StartTerm
from kafkalite.core import Send
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import BrokerImage
from kafkalite.metadata.store import (
    BrokerJoined,
    BrokerLeft,
    ConfigsEdited,
    CredentialsEdited,
    Deposed,
    Elected,
    LeadersWanted,
    Loaded,
    MetadataSession,
    ReplicasWanted,
    SessionLost,
    StoreEvent,
    TopicAssigned,
    TopicGone,
    TopicUnwanted,
)
from kafkalite.ports.clock import Clock, Timer
from kafkalite.server.core_driver import CoreDriver
from kafkalite.server.disk_troubles import Trouble
from kafkalite.server.store_journal import StoreJournal
from kafkalite.types import Offset

if TYPE_CHECKING:
    from kafkalite.controller.events import (
        AllocateProducerIds,
        AlterConfigs,
        AlterScramCredentials,
        AssignDirectories,
        ConfigsAltered,
        ControllerRequest,
        CreatePartitions,
        CreateTopics,
        DeleteTopics,
        DirectoriesKnown,
        Event,
        FailDirectories,
        FailReplicas,
        FeaturesUpdated,
        PartitionsCreated,
        ProducerIdBlock,
        ScramCredentialsAltered,
        TopicsCreated,
        TopicsDeleted,
        UpdateFeatures,
    )
    from kafkalite.controller.replica_events import (
        AlterPartitions,
        AlterReassignments,
        BrokerShutDown,
        BrokerUnregistered,
        ElectLeaders,
        LeadersElected,
        ListReassignments,
        PartitionsAltered,
        ReassignmentsAltered,
        ReassignmentsListed,
        ShutDownBroker,
        UnregisterBroker,
    )

_log = logging.getLogger(__name__)

RETRY_MS = 1_000
"""After a failed commit, before this broker runs for controller again."""
MAX_EARLY = 10_000
"""What a store may tell while the metadata is loaded; more of it ends the term."""


class ControllerDriver:
    """One broker's part in the controller. Open the store's session with `on_store_event`, then
    `start`."""

    def __init__(self, clock: Clock, settings: ControllerSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._session: MetadataSession | None = None
        self._term: Elected | None = None
        self._driver: CoreDriver[Event, Change] | None = None
        self._early: list[Event] = []
        """What the store told between election and the end of loading."""
        self._tokens = count()
        self._retry: Timer | None = None
        self._trouble = Trouble()
        """When it runs."""
        self._lost = Trouble()
        """That ended terms, one after the other, none of which committed anything."""

    @property
    def active(self) -> bool:
        """Whether this broker is the controller, and has loaded the metadata."""
        return self._driver is not None

    def start(self, session: MetadataSession) -> None:
        """Be a candidate, through this session."""
        self._session = session
        session.run_for_controller()

    def leave(self, broker: BrokerImage) -> None:
        """This broker has served its last request: put on record that it stopped, if that is its
        own to do. Any other controller learns of it when the session ends."""
        if self._driver is not None:
            self._driver.submit(LoseBroker(broker.id, broker.epoch, is_clean=True))

    def tell(self, event: FailReplicas) -> None:
        """What a broker has answered. Nothing happens where the controller is not here."""
        self._tell(event)

    def stop(self) -> None:
        """Refuse everyone who waits, and decide no more. The session is its owner's to close."""
        self._end_term("the broker is shutting down", level=logging.DEBUG)
        self._session = None
        if self._retry is not None:
            self._retry.cancel()

    @overload
    def submit(
        self, event: CreateTopics, on_reply: Callable[[TopicsCreated | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: DeleteTopics, on_reply: Callable[[TopicsDeleted | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: CreatePartitions, on_reply: Callable[[PartitionsCreated | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: AlterConfigs, on_reply: Callable[[ConfigsAltered | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: UpdateFeatures, on_reply: Callable[[FeaturesUpdated | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self,
        event: AlterScramCredentials,
        on_reply: Callable[[ScramCredentialsAltered | KafkaError], None],
    ) -> None: ...
    @overload
    def submit(
        self, event: AllocateProducerIds, on_reply: Callable[[ProducerIdBlock | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self,
        event: AssignDirectories | FailDirectories,
        on_reply: Callable[[DirectoriesKnown | KafkaError], None],
    ) -> None: ...
    @overload
    def submit(
        self, event: AlterPartitions, on_reply: Callable[[PartitionsAltered | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: ElectLeaders, on_reply: Callable[[LeadersElected | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: ShutDownBroker, on_reply: Callable[[BrokerShutDown | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self, event: UnregisterBroker, on_reply: Callable[[BrokerUnregistered | KafkaError], None]
    ) -> None: ...
    @overload
    def submit(
        self,
        event: AlterReassignments,
        on_reply: Callable[[ReassignmentsAltered | KafkaError], None],
    ) -> None: ...
    @overload
    def submit(
        self, event: ListReassignments, on_reply: Callable[[ReassignmentsListed | KafkaError], None]
    ) -> None: ...
    def submit(
        self,
        event: ControllerRequest,
        on_reply: Callable[[Any], None],  # Any: which body comes, the overloads say.
    ) -> None:
        """Ask the controller. `on_reply` is called once: before this returns, or later, on the
        loop, when all that the answer shows is committed and folded by every live broker. The
        event's token is set here. `KafkaError(NOT_CONTROLLER)` when this broker is not the
        controller, or ceases to be."""
        if self._driver is None:
            on_reply(KafkaError(ErrorCode.NOT_CONTROLLER, "this broker is not the controller"))
            return
        self._driver.submit(event._replace(token=next(self._tokens)), on_reply)

    def on_store_event(self, event: StoreEvent) -> None:
        """The session's listener."""
        match event:
            case Elected():
                self._elected(event)
            case Deposed():
                self._end_term("another controller was elected")
            case SessionLost():
                self._end_term("the session with the metadata store is lost")
            case BrokerJoined():
                self._tell(RegisterBroker(None, event.broker.registration, event.broker.epoch))
            case BrokerLeft():
                self._tell(LoseBroker(event.broker_id, event.epoch))
            case (
                TopicAssigned() | TopicUnwanted() | TopicGone() | LeadersWanted() | ReplicasWanted()
            ):
                from kafkalite.server.foreign_edits import event_of  # ZooKeeper's alone.

                self._tell(event_of(event))
            case ConfigsEdited() | CredentialsEdited():
                from kafkalite.server.foreign_edits import adopted  # As above.

                if self._driver is not None:  # Else they are loaded.
                    self._driver.submit_late(partial(adopted, event))
            case _:
                assert_never(event)

    def _tell(self, event: Event) -> None:
        if self._driver is not None:
            self._driver.submit(event)
        elif self._term is not None:
            self._early.append(event)
            if len(self._early) > MAX_EARLY:
                self._failed(
                    KafkaError(ErrorCode.NOT_CONTROLLER, "too much happened before it was loaded")
                )

    def _elected(self, term: Elected) -> None:
        if self._session is None:
            return  # It stops: the next one is elected when its session ends.
        self._trouble.is_over()
        self._term = term
        self._early.clear()
        self._session.load(lambda loaded: self._loaded(term, loaded))

    def _loaded(self, term: Elected, loaded: Loaded) -> None:
        if self._term is not term or self._session is None:
            return  # The term ended while the metadata was on its way.
        core = Controller(self._settings, loaded.image, loaded.going)
        end = loaded.image.end_offset
        journal = StoreJournal(self._session, term.epoch)
        driver: CoreDriver[Event, Change] = CoreDriver(
            core,
            journal,
            self._clock,
            applied=end,
            committed=end,
            on_sends=_no_sends,
            on_failed=self._failed,
            overload=ErrorCode.REQUEST_TIMED_OUT,
            confirms=self._settings.over_zookeeper,
        )

        def committed(offset: Offset) -> None:
            self._lost.is_over()
            driver.committed(offset)

        journal.on_committed = committed
        self._driver = driver
        _log.debug("Controller since epoch %d: %d topics", term.epoch, len(core.image.topics))
        early, self._early = self._early, []
        driver.submit(StartTerm(tuple(live.registration.broker_id for live in loaded.brokers)))
        for live in loaded.brokers:
            driver.submit(RegisterBroker(None, live.registration, live.epoch))
        for event in early:
            driver.submit(event)

    def _failed(self, error: KafkaError) -> None:
        """The term cannot go on: the store took nothing, or too much. Give the election up, and
        run again later: a disk may recover."""
        self._end_term(error.message, level=self._lost.level(error.message))
        if self._session is not None:
            self._session.resign()
            self._run_later()

    def _run_later(self) -> None:
        self._retry = self._clock.call_at(self._clock.now_ms() + RETRY_MS, self._run_again)

    def _run_again(self) -> None:
        if self._session is not None:
            try:
                self._session.run_for_controller()
            except OSError as error:
                _log.log(self._trouble.level(str(error)), "Cannot run for controller: %s", error)
                self._run_later()

    def _end_term(self, reason: str, *, level: int = logging.WARNING) -> None:
        term, self._term = self._term, None
        driver, self._driver = self._driver, None
        self._early.clear()
        if term is not None:
            _log.log(level, "No longer the controller: %s", reason)
        if driver is not None:
            driver.close(KafkaError(ErrorCode.NOT_CONTROLLER, reason))


def _no_sends(sends: tuple[Send, ...]) -> None:
    raise AssertionError(f"the controller sends nothing by itself: {sends}")
