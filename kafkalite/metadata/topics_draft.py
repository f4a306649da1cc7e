"""The topics of the next image in the making. Source: Kafka's `TopicsDelta` and `TopicDelta`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafkalite.errors import InvariantError
from kafkalite.metadata.delta import TopicChange
from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.metadata.registrations import changed_partition, new_partition
from kafkalite.protocol.messages.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafkalite.types import Uuid


class _TopicDraft:
    """A topic that is made or changed."""

    __slots__ = ("before", "id", "name", "partitions")

    def __init__(self, name: str, id: Uuid, before: TopicImage | None) -> None:
        self.name = name
        self.id = id
        self.before = before
        self.partitions: dict[int, PartitionImage] = (
            {} if before is None else dict(enumerate(before.partitions))
        )

    def image(self) -> TopicImage:
        partitions = self.partitions
        if partitions and max(partitions) != len(partitions) - 1:
            raise InvariantError(
                f"the partitions of topic {self.name} have gaps: {sorted(partitions)}"
            )
        return TopicImage(self.name, self.id, tuple(partitions[i] for i in range(len(partitions))))


class DraftedTopics(NamedTuple):
    """What became of them."""

    by_name: Mapping[str, TopicImage | None]
    """Those that were made, changed or (None) removed; names that do not come up stay as they
    were."""
    by_id: Mapping[Uuid, TopicImage | None]
    deleted: tuple[TopicImage, ...]
    """See `MetadataDelta`; as the next two."""
    created: tuple[TopicImage, ...]
    changed: tuple[TopicChange, ...]


class TopicsDraft:
    """Over the topics of an image. `InvariantError` from any change that contradicts what went
    before."""

    def __init__(self, base: MetadataImage) -> None:
        self._base = base
        self._topics: dict[Uuid, _TopicDraft] = {}
        self._deleted: dict[Uuid, TopicImage] = {}
        self._ids: dict[str, Uuid | None] = {}
        """Names that were given or taken (None)."""

    def create(self, change: TopicRecord) -> None:
        """A topic without partitions."""
        if self._id_of(change.name) is not None:
            raise InvariantError(f"a metadata record creates topic {change.name}, which exists")
        id = Uuid(bytes(change.topic_id))
        self._topics[id] = _TopicDraft(change.name, id, None)
        self._ids[change.name] = id

    def remove(self, change: RemoveTopicRecord) -> str:
        """The name of the topic that is gone."""
        draft = self._topic(change.topic_id)
        del self._topics[draft.id]
        if draft.before is not None:
            self._deleted[draft.id] = draft.before
        self._ids[draft.name] = None
        return draft.name

    def create_partition(self, change: PartitionRecord) -> None:
        """A partition of a topic that is there."""
        self._topic(change.topic_id).partitions[change.partition_id] = new_partition(change)

    def change_partition(self, change: PartitionChangeRecord) -> None:
        """A partition that is there."""
        partitions = self._topic(change.topic_id).partitions
        before = partitions.get(change.partition_id)
        if before is None:
            raise InvariantError(
                f"a metadata record changes partition {change.partition_id}, which is missing"
            )
        partitions[change.partition_id] = changed_partition(before, change)

    def clear_elr(self, change: ClearElrRecord) -> None:
        """Of one topic; an empty name stands for all."""
        if change.topic_name:
            id = self._id_of(change.topic_name)
            if id is None:
                raise InvariantError(
                    f"a metadata record names topic {change.topic_name}, which does not exist"
                )
            ids = [id]
        else:
            ids = [
                *(id for id in self._base.topics_by_id if id not in self._deleted),
                *self._topics,
            ]
        for id in ids:
            partitions = self._topic(id).partitions
            for index, partition in partitions.items():
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    partitions[index] = partition._replace(
                        eligible_leader_replicas=(),
                        last_known_elr=(),
                        partition_epoch=partition.partition_epoch + 1,
                    )

    def finish(self) -> DraftedTopics:
        """What became of them. The draft is not to be used again."""
        drafts = self._topics.items()
        made = {id: draft.image() for id, draft in drafts}
        return DraftedTopics(
            by_name={name: None for name, id in self._ids.items() if id is None}
            | {topic.name: topic for topic in made.values()},
            by_id=dict.fromkeys(self._deleted) | made,
            deleted=tuple(self._deleted.values()),
            created=tuple(made[id] for id, draft in drafts if draft.before is None),
            changed=tuple(
                TopicChange(draft.before, made[id])
                for id, draft in drafts
                if draft.before is not None
            ),
        )

    def _topic(self, raw_id: bytes) -> _TopicDraft:
        draft = self._topics.get(Uuid(raw_id))
        if draft is None:
            id = Uuid(bytes(raw_id))
            before = None if id in self._deleted else self._base.topics_by_id.get(id)
            if before is None:
                raise InvariantError(
                    f"a metadata record names topic id {id.hex()}, which no topic has"
                )
            draft = self._topics[id] = _TopicDraft(before.name, id, before)
        return draft

    def _id_of(self, name: str) -> Uuid | None:
        if name in self._ids:
            return self._ids[name]
        topic = self._base.topics.get(name)
        return None if topic is None else topic.id
