"""A store whose sessions last: when one is lost, the next is opened, and all is as it was asked.

A session with ZooKeeper ends when the ensemble does not hear of it for some seconds: the process
was stopped, the network was gone. The broker then registers again, as a new incarnation does, and
its watchers hear what has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta, difference
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import (
    BrokerRegistration,
    CommitResult,
    ImageWatcher,
    Loaded,
    MetadataSession,
    MetadataStore,
    SessionLost,
    StoreEvent,
)
from kafkalite.types import BrokerId, ControllerEpoch


class LastingStore:
    """See `MetadataStore`. Its sessions tell `SessionLost` too, and go on by themselves."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    @property
    def cluster_id(self) -> str:
        """See `MetadataStore`."""
        return self._store.cluster_id

    def open_session(
        self, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> MetadataSession:
        """See `MetadataStore`."""
        return _LastingSession(self._store, broker_id, listener)

    def close(self) -> None:
        """See `MetadataStore`."""
        self._store.close()


class _LastingSession:
    """See `MetadataSession`."""

    def __init__(
        self, store: MetadataStore, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> None:
        self._store = store
        self._broker_id = broker_id
        self._listener = listener
        self._registration: BrokerRegistration | None = None
        self._is_candidate = False
        self._watchers: list[_Watcher] = []
        self._is_open = True
        self._session = store.open_session(broker_id, self._told)

    def register(self, registration: BrokerRegistration) -> None:
        """See `MetadataSession`."""
        self._registration = registration
        self._session.register(registration)

    def run_for_controller(self) -> None:
        """See `MetadataSession`."""
        self._is_candidate = True
        self._session.run_for_controller()

    def resign(self) -> None:
        """See `MetadataSession`."""
        self._is_candidate = False
        self._session.resign()

    def folder_failed(self) -> None:
        """See `MetadataSession`. A broker that registers anew is asked all the same."""
        self._session.folder_failed()

    def load(self, on_loaded: Callable[[Loaded], None]) -> None:
        """See `MetadataSession`."""
        self._session.load(on_loaded)

    def commit(
        self,
        epoch: ControllerEpoch,
        changes: tuple[Change, ...],
        on_done: Callable[[CommitResult], None],
    ) -> None:
        """See `MetadataSession`."""
        self._session.commit(epoch, changes, on_done)

    def watch(self, watcher: ImageWatcher) -> None:
        """See `MetadataSession`."""
        lasting = _Watcher(watcher)
        self._watchers.append(lasting)
        self._session.watch(lasting.told)

    def close(self) -> None:
        """See `MetadataSession`."""
        self._is_open = False
        self._session.close()

    def _told(self, event: StoreEvent) -> None:
        self._listener(event)
        if isinstance(event, SessionLost) and self._is_open:
            self._begin_again()

    def _begin_again(self) -> None:
        session = self._session = self._store.open_session(self._broker_id, self._told)
        for watcher in self._watchers:
            watcher.skip()
            session.watch(watcher.told)
        if self._registration is not None:
            session.register(self._registration)
        if self._is_candidate:
            session.run_for_controller()


class _Watcher:
    """Hears the difference where a new session would tell all as new."""

    def __init__(self, watcher: ImageWatcher) -> None:
        self._watcher = watcher
        self._image: MetadataImage | None = None
        self._skips = False

    def skip(self) -> None:
        """A new session follows."""
        self._skips = True

    def told(self, image: MetadataImage, delta: MetadataDelta) -> None:
        if self._skips and self._image is not None:
            delta = difference(self._image, image)
        self._skips = False
        self._image = image
        self._watcher(image, delta)
