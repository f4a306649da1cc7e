"""Committed offsets as clients ask for them: topics by name, or by id, which groups do not know.

A group keeps its offsets under the names of topics. Who asks by id is answered by id: an unknown id
is refused partition by partition, behind the others, and of all that a group has committed the
topics that are gone are left out.

Source: Kafka's `KafkaApis.fetchOffsetsForGroup` and `fetchAllOffsetsForGroup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from kafkalite.coordinator.groups.offset_events import FetchedOffset, FetchOffsets, TopicPartitions
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_lookup import TopicKey, find_topic
from kafkalite.types import ZERO_UUID, Uuid


class AskedTopic(NamedTuple):
    """Partitions of one topic."""

    key: TopicKey
    partitions: tuple[int, ...]


class ToldTopic(NamedTuple):
    """What is told of one topic."""

    name: str
    """Empty where it was asked by id."""
    topic_id: Uuid
    """Zero where it was asked by name."""
    offsets: tuple[FetchedOffset, ...]


class OffsetQuestion(NamedTuple):
    """What is asked of one group."""

    group_id: str
    topics: tuple[TopicPartitions, ...] | None
    """As the group knows them; None: all that it has committed."""
    by_id: bool
    unknown: tuple[AskedTopic, ...] = ()
    """By an id that no topic has."""
    member_id: str | None = None
    """Of who asks as a member of a consumer group."""
    member_epoch: int = -1

    @classmethod
    def of(
        cls,
        image: MetadataImage,
        group_id: str,
        topics: Sequence[AskedTopic] | None,
        *,
        by_id: bool,
    ) -> Self:
        """None: all that the group has committed."""
        if topics is None or not by_id:
            named = (
                None
                if topics is None
                else tuple(TopicPartitions(each.key.name or "", each.partitions) for each in topics)
            )
            return cls(group_id, named, by_id)
        known, unknown = [], []
        for each in topics:
            found = find_topic(image, each.key)
            if found is None:
                unknown.append(each)
            else:
                known.append(TopicPartitions(found.name, each.partitions))
        return cls(group_id, tuple(known), by_id, tuple(unknown))

    def as_member(self, member_id: str | None, member_epoch: int) -> Self:
        """Asked by a member of a consumer group; None and -1: by anybody."""
        return self._replace(member_id=member_id, member_epoch=member_epoch)

    def event(self, *, require_stable: bool) -> FetchOffsets:
        """What its coordinator is asked."""
        return FetchOffsets(
            None,
            self.group_id,
            self.topics,
            require_stable=require_stable,
            member_id=self.member_id,
            member_epoch=self.member_epoch,
        )

    def told(self, image: MetadataImage, fetched: Sequence[FetchedOffset]) -> list[ToldTopic]:
        """The group's answer by topic, in its order."""
        by_name: dict[str, list[FetchedOffset]] = {}
        for each in fetched:
            by_name.setdefault(each.topic, []).append(each)
        if not self.by_id:
            return [ToldTopic(name, ZERO_UUID, tuple(each)) for name, each in by_name.items()]
        told = []
        for name, offsets in by_name.items():
            topic = image.topics.get(name)
            if topic is not None:
                told.append(ToldTopic("", topic.id, tuple(offsets)))
        for asked in self.unknown:
            code = ErrorCode.UNKNOWN_TOPIC_ID
            refused = tuple(FetchedOffset("", index, code=code) for index in asked.partitions)
            told.append(ToldTopic("", asked.key.topic_id, refused))
        return told

    def refused(self, code: ErrorCode) -> list[ToldTopic]:
        """The code at each partition that was asked by name."""
        return [
            ToldTopic(
                topic.topic,
                ZERO_UUID,
                tuple(FetchedOffset(topic.topic, index, code=code) for index in topic.partitions),
            )
            for topic in self.topics or ()
        ]
