"""What a controller does over ZooKeeper besides committing: it acts on what others have written,
finishes deletions, and clears away what was asked for and is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.metadata.store import ConfigsEdited, ForeignEdit
from kafkalite.ports.zookeeper import Check, ZooKeeperSession
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_deletions import Deletions
from kafkalite.stores.zookeeper_edits import ForeignEdits
from kafkalite.types import BrokerId, ControllerEpoch

OwnConfigs = Mapping[ConfigResource, Mapping[str, str]]
"""All settings of some resources, as the controller has committed them."""
NO_CONFIGS: OwnConfigs = {}


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
        tell: Callable[[ForeignEdit | ConfigsEdited], None],
        on_folder_failed: Callable[[BrokerId], None],
        settings_of: Callable[[ConfigResource], Mapping[str, str]],
    ) -> None:
        """`fence` is before what it writes; `deletions`: None where topics are not deleted. The
        controller is told through `tell`. `settings_of`: the newest of a resource."""
        self.epoch = epoch
        self.fence = fence
        self._edits = edits
        self._deletions = deletions
        self._zookeeper = zookeeper
        self._view = view
        self._tell = tell
        self._on_folder_failed = on_folder_failed
        self._settings_of = settings_of
        self._edited: dict[ConfigResource, None] = {}
        self.is_telling = False
        """A commit is done, and not all brokers have folded it: its answer waits."""

    def configs_changed(self, resources: Iterable[ConfigResource], own: OwnConfigs) -> None:
        """Settings of those were folded; `own`: what the controller has committed. Another may have
        set more of them before that was folded, which the controller has not decided on."""
        now = self._view.image.configs
        self._edited.update(
            (each, None) for each in resources if own.get(each) != now.get(each, {})
        )

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
