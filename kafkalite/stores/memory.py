"""The metadata store of all brokers in one event loop, on disk when it is given a log.

Everything happens within the call: a commit is written, folded and told to every session's
watchers, and then answered. The image is folded once and shared, which is safe: it never changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta, whole
from kafkalite.metadata.draft import fold
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
    LiveBroker,
    Loaded,
    SessionLost,
    StoreEvent,
)
from kafkalite.ports.clock import Clock
from kafkalite.stores.metadata_log import MetadataLog, NewEpoch
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId, ControllerEpoch, Offset

_log = logging.getLogger(__name__)


class MemoryStore:
    """One cluster. With `log`, what was committed is there again after a restart."""

    def __init__(self, cluster_id: str, clock: Clock, log: MetadataLog | None = None) -> None:
        self._clock = clock
        self._log = log
        base = MetadataImage() if log is None else log.image
        self._image = fold(
            base, (), end_offset=base.end_offset, epoch=base.epoch, controller_id=NO_LEADER
        ).image
        self._cluster_id = cluster_id
        self._sessions: dict[BrokerId, _Session] = {}
        self._candidates: list[_Session] = []
        """The first is the controller, if `_controller` is not None."""
        self._controller: _Session | None = None
        self._committing = False
        self._last_broker_epoch = -1

    @property
    def cluster_id(self) -> str:
        """See `MetadataStore`."""
        return self._cluster_id

    @property
    def image(self) -> MetadataImage:
        """What is committed."""
        return self._image

    def open_session(self, broker_id: BrokerId, listener: Callable[[StoreEvent], None]) -> _Session:
        """See `MetadataStore`."""
        if broker_id in self._sessions:
            raise KafkaError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"broker {broker_id} has a session already"
            )
        session = self._sessions[broker_id] = _Session(self, broker_id, listener)
        return session

    def sync(self) -> None:
        """What was committed survives a loss of power, if it is kept: see `MetadataLog.sync`."""
        if self._log is not None:
            self._log.sync()

    def close(self) -> None:
        """See `MetadataStore`."""
        for session in tuple(self._sessions.values()):
            session.is_open = False
        self._sessions.clear()
        self._candidates.clear()
        self._controller = None
        if self._log is not None:
            self._log.close()
            self._log = None

    # For tests that steer a cluster.

    def expire(self, broker_id: BrokerId) -> None:
        """End a broker's session against its will, as a store does that no longer hears of it."""
        session = self._sessions[broker_id]
        self._end(session)
        session.listener(SessionLost())

    def depose(self) -> None:
        """Have the next candidate elected in place of the present controller."""
        controller = self._controller
        assert controller is not None, "no controller to depose"
        self._candidates.remove(controller)
        self._candidates.append(controller)
        self._controller = None
        controller.listener(Deposed())
        self._elect_next()

    # What sessions ask.

    def _register(self, session: _Session, registration: BrokerRegistration) -> None:
        epoch = max(self._image.end_offset, self._last_broker_epoch + 1)
        self._last_broker_epoch = epoch
        session.live = LiveBroker(registration, BrokerEpoch(epoch))
        if self._controller is not None:
            self._controller.listener(BrokerJoined(session.live))

    def _run_for_controller(self, session: _Session) -> None:
        if session not in self._candidates:
            self._candidates.append(session)
        if self._controller is None:
            self._elect()

    def _resign(self, session: _Session) -> None:
        if session in self._candidates:
            self._candidates.remove(session)
        if session is self._controller:
            self._controller = None
            self._elect_next()

    def _elect_next(self) -> None:
        if not self._candidates:
            return
        try:
            self._elect()
        except OSError:
            _log.exception("The metadata log cannot be written: there is no controller")

    def _elect(self) -> None:
        session = self._candidates[0]
        if self._log is None:
            end = self._image.end_offset
            epoch, changes = NewEpoch(ControllerEpoch(self._image.epoch + 1), ())
        else:
            epoch, changes = self._log.begin_epoch(self._clock.now_ms())
            end = self._log.end_offset
        self._controller = session
        self._publish(changes, end, epoch, session.broker_id)
        session.listener(Elected(epoch))

    def _load(self) -> Loaded:
        live = [session.live for session in self._sessions.values() if session.live is not None]
        live.sort(key=lambda broker: broker.registration.broker_id)
        return Loaded(self._image, tuple(live))

    def _commit(
        self, session: _Session, epoch: ControllerEpoch, changes: tuple[Change, ...]
    ) -> CommitResult:
        if not session.is_open:
            return CommitFailed(CommitFailure.SESSION_LOST)
        if session is not self._controller or epoch != self._image.epoch:
            return CommitFailed(CommitFailure.FENCED)
        if not changes:
            return Committed(self._image.end_offset)
        assert not self._committing, "a commit within a commit"
        self._committing = True
        try:
            if self._log is None:
                end = Offset(self._image.end_offset + len(changes))
            else:
                try:
                    end = self._log.append(changes, self._clock.now_ms())
                except OSError as error:
                    return CommitFailed(CommitFailure.STORAGE, str(error))
            self._publish(changes, end, epoch, session.broker_id)
        finally:
            self._committing = False
        return Committed(end)

    def _publish(
        self,
        changes: tuple[Change, ...],
        end: Offset,
        epoch: ControllerEpoch,
        controller_id: BrokerId,
    ) -> None:
        folded = fold(
            self._image, changes, end_offset=end, epoch=epoch, controller_id=controller_id
        )
        self._image = folded.image
        for session in tuple(self._sessions.values()):
            session.tell(folded.image, folded.delta)

    def _end(self, session: _Session) -> None:
        """The next controller is elected first, so that it hears who has left."""
        session.is_open = False
        del self._sessions[session.broker_id]
        self._resign(session)
        if session.live is not None and self._controller is not None:
            left = BrokerLeft(session.broker_id, session.live.epoch)
            self._controller.listener(left)


class _Session:
    """See `MetadataSession`."""

    def __init__(
        self, store: MemoryStore, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> None:
        self._store = store
        self._watchers: list[ImageWatcher] = []
        self.broker_id = broker_id
        self.listener = listener
        self.live: LiveBroker | None = None
        self.is_open = True

    def register(self, registration: BrokerRegistration) -> None:
        """See `MetadataSession`."""
        if self.is_open:
            self._store._register(self, registration)

    def run_for_controller(self) -> None:
        """See `MetadataSession`."""
        if self.is_open:
            self._store._run_for_controller(self)

    def resign(self) -> None:
        """See `MetadataSession`."""
        self._store._resign(self)

    def folder_failed(self) -> None:
        """See `MetadataSession`."""

    def load(self, on_loaded: Callable[[Loaded], None]) -> None:
        """See `MetadataSession`."""
        if self.is_open:
            on_loaded(self._store._load())

    def commit(
        self,
        epoch: ControllerEpoch,
        changes: tuple[Change, ...],
        on_done: Callable[[CommitResult], None],
    ) -> None:
        """See `MetadataSession`."""
        on_done(self._store._commit(self, epoch, changes))

    def watch(self, watcher: ImageWatcher) -> None:
        """See `MetadataSession`."""
        if self.is_open:
            self._watchers.append(watcher)
            watcher(self._store.image, whole(self._store.image))

    def tell(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Of a commit; within the store. It is committed whatever a watcher does, so one that
        raises keeps it from nobody."""
        if self.is_open:
            for watcher in self._watchers:
                try:
                    watcher(image, delta)
                except Exception:  # noqa: BLE001  # See above.
                    _log.exception("A watcher of broker %d failed", self.broker_id)

    def close(self) -> None:
        """See `MetadataSession`."""
        if self.is_open:
            self._store._end(self)
