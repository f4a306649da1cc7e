"""What a controller does over ZooKeeper besides committing: it acts on what others have written,
finishes deletions, and clears away what was asked for and is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.metadata.scram import ScramCredential
from kafkalite.metadata.store import (
    ConfigsEdited,
    CredentialsEdited,
    ForeignEdit,
    SetByOthers,
)
from kafkalite.ports.zookeeper import Check, ZooKeeperSession
from kafkalite.stores.znodes_changes import DecidedSettings
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_deletions import Deletions
from kafkalite.stores.zookeeper_edits import ForeignEdits
from kafkalite.types import BrokerId, ControllerEpoch


class ZooKeeperTerm:
    """This session's broker is the controller."""

    def __init__(
        self,
        epoch: ControllerEpoch,
        fence: Check,
        edits: ForeignEdits,
        deletions: Deletions | None,
        *,
        zookeeper: ZooKeeperSession,
        view: ZnodesView,
        tell: Callable[[ForeignEdit | SetByOthers], None],
        on_folder_failed: Callable[[BrokerId], None],
        newest: Callable[[], MetadataImage],
    ) -> None:
        """`fence` is before what it writes; `deletions`: None where topics are not deleted. The
        controller is told through `tell`. `newest`: with all that was read."""
        self.epoch = epoch
        self.fence = fence
        self._edits = edits
        self._deletions = deletions
        self._zookeeper = zookeeper
        self._view = view
        self._tell = tell
        self._on_folder_failed = on_folder_failed
        self._newest = newest
        self._edited: dict[ConfigResource, None] = {}
        self._edited_users: dict[str, None] = {}
        self.is_telling = False
        """A commit is done, and not all brokers have folded it: its answer waits."""

    def settings_changed(self, delta: MetadataDelta, own: DecidedSettings) -> None:
        """What was folded; `own`: what the controller has committed of it. Another may have set
        more before that was folded, which the controller has not decided on."""
        now = self._view.image
        for resource in delta.configs:
            if own.configs.get(resource) != now.configs.get(resource, {}):
                self._edited[resource] = None
        for user in delta.users:
            if own.credentials.get(user) != now.credentials_of(user):
                self._edited_users[user] = None

    def look(self) -> None:
        """All that was asked for was read, and folded."""
        for edit in self._edits.news():
            self._tell(edit)
        self._tell_edited()
        for id in self._edits.failures():
            self._on_folder_failed(id)
        if self._deletions is not None:
            self._deletions.look()

    def tidy(self) -> None:
        """Wishes that are fulfilled go; if that fails, then with the next look."""
        operations = list(self._edits.done())
        if operations:
            self._zookeeper.multi([self.fence, *operations], lambda result: None)

    def _tell_edited(self) -> None:
        edited, self._edited = self._edited, {}
        topics = self._view.image.topics
        for resource in edited:
            if resource.type != ConfigResourceType.TOPIC or resource.name in topics:
                # Else they go with the topic: it is gone, or not complete yet.
                self._tell(ConfigsEdited(resource, partial(self._settings_of, resource)))
        users, self._edited_users = self._edited_users, {}
        for user in users:
            self._tell(CredentialsEdited(user, partial(self._credentials_of, user)))

    def _settings_of(self, resource: ConfigResource) -> Mapping[str, str]:
        return self._newest().configs.get(resource, {})

    def _credentials_of(self, user: str) -> Mapping[int, ScramCredential]:
        return self._newest().credentials_of(user)
