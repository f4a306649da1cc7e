"""What the controller knows: the image, and one index over it. Written by `apply` alone."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.metadata.changes import Change
from kafkalite.metadata.draft import MetadataDraft
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import collision_key
from kafkalite.protocol.messages.metadata_records import (
    RemoveTopicRecord,
    TopicRecord,
)
from kafkalite.types import Uuid


class ControllerState:
    """The image is drafted while records come in, and finished when someone looks."""

    def __init__(
        self, image: MetadataImage, going: Iterable[str] = (), *, keeps_names: bool = False
    ) -> None:
        """`going`, `keeps_names`: see `going`."""
        self._image = image
        self.going: dict[str, None] = dict.fromkeys(going)
        """Names of topics that are deleted, and taken still. What ends that is no record: the store
        knows, and a term begins with what it knows."""
        self._keeps_names = keeps_names
        self._draft: MetadataDraft | None = None
        self._names: dict[Uuid, str] = {}
        self._colliding: dict[str, list[str]] = {}
        for topic in image.topics.values():
            self._add_name(topic.id, topic.name)

    @property
    def image(self) -> MetadataImage:
        """All that was applied. Its offset, epoch and controller are the driver's affair, and not
        set."""
        if self._draft is not None:
            image = self._image
            self._image = self._draft.finish(
                end_offset=image.end_offset, epoch=image.epoch, controller_id=image.controller_id
            ).image
            self._draft = None
        return self._image

    def colliding_topic(self, name: str) -> str | None:
        """Another topic, which may be going, whose metrics would have the same name: `a.b` and
        `a_b`."""
        key = collision_key(name)
        going = (each for each in self.going if collision_key(each) == key)
        return min((*self._colliding.get(key, ()), *going), default=None)

    def apply(self, record: Change) -> None:
        """Fold one record in."""
        if self._draft is None:
            self._draft = MetadataDraft(self._image)
        self._draft.apply(record)
        match record:
            case TopicRecord():
                self._add_name(record.topic_id, record.name)
            case RemoveTopicRecord():
                name = self._names.pop(record.topic_id)
                key = collision_key(name)
                self._colliding[key].remove(name)
                if not self._colliding[key]:
                    del self._colliding[key]
                if self._keeps_names:
                    self.going[name] = None
            case _:
                pass

    def _add_name(self, id: Uuid, name: str) -> None:
        self._names[id] = name
        self._colliding.setdefault(collision_key(name), []).append(name)
