"""Consumer groups on the stage, and members who know what they were told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkalite.coordinator.groups.consumer.events import (
    ConsumerGroupsDescribed,
    ConsumerHeartbeat,
    ConsumerHeartbeatSeen,
    DescribeConsumerGroups,
    DescribedConsumerGroup,
    MetadataChanged,
)
from kafkalite.coordinator.groups.consumer.state import ConsumerGroup
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.coordinator.groups.recorded import RecordedState
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import KafkaError
from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.types import BrokerId, LeaderEpoch, Uuid
from tests.coordinator.sample_groups import GROUP, Stage

REBALANCE_MS = 30_000
_PARTITION = PartitionImage((BrokerId(1),), (BrokerId(1),), BrokerId(1), LeaderEpoch(0), 0)


def id_of(topic: str) -> Uuid:
    """Of a topic of that name."""
    return Uuid(topic.encode().rjust(16, b"."))


def image_of(counts: Mapping[str, int]) -> MetadataImage:
    """Topics with so many partitions."""
    topics = {name: TopicImage(name, id_of(name), (_PARTITION,) * n) for name, n in counts.items()}
    return MetadataImage(topics=topics, topics_by_id={t.id: t for t in topics.values()})


class Consumer:
    """A client: what it was told, and what it owns."""

    def __init__(self) -> None:
        self.epoch = 0
        self.owned: dict[str, tuple[int, ...]] = {}


class ConsumerStage(Stage):
    """A coordinator with topics, and consumers by their member ids."""

    def __init__(self, settings: GroupSettings | None = None, **counts: int) -> None:
        super().__init__(settings)
        self.counts = counts or {"t": 4}
        self.consumers: dict[str, Consumer] = {}
        self.set_topics(self.counts)

    def set_topics(self, counts: Mapping[str, int]) -> None:
        """The cluster has these from now on."""
        self.counts = dict(counts)
        self.feed(MetadataChanged(image_of(counts)))

    def reload(self) -> None:
        super().reload()
        self.set_topics(self.counts)

    def event(
        self,
        member_id: str,
        epoch: int,
        *,
        topics: Iterable[str] | None = None,
        regex: str | None = None,
        owned: Mapping[str, Iterable[int]] | None = None,
        instance: str | None = None,
        rebalance_ms: int = -1,
        assignor: str | None = None,
        rack: str | None = None,
        group: str = GROUP,
        must_bring_id: bool = True,
    ) -> ConsumerHeartbeat:
        return ConsumerHeartbeat(
            self.token(),
            group,
            member_id,
            epoch,
            instance,
            rack,
            rebalance_ms,
            None if topics is None else tuple(topics),
            regex,
            assignor,
            None if owned is None else {id_of(t): frozenset(i) for t, i in owned.items()},
            "c",
            "/127.0.0.1",
            "drawn",
            must_bring_id,
        )

    def beat(self, event: ConsumerHeartbeat) -> ConsumerHeartbeatSeen:
        reply = self.ask(event)
        assert isinstance(reply, ConsumerHeartbeatSeen), reply
        return reply

    def why(self, event: ConsumerHeartbeat) -> KafkaError:
        """Why it is refused."""
        try:
            self.feed(event)
        except KafkaError as error:
            return error
        raise AssertionError("not refused")

    def join_as(
        self,
        member_id: str,
        topics: Iterable[str] | None = ("t",),
        *,
        regex: str | None = None,
        instance: str | None = None,
        assignor: str | None = None,
    ) -> ConsumerHeartbeatSeen:
        """A member joins, and keeps what it is told."""
        self.consumers[member_id] = Consumer()
        event = self.event(
            member_id,
            0,
            topics=topics,
            regex=regex,
            owned={},
            instance=instance,
            rebalance_ms=REBALANCE_MS,
            assignor=assignor,
        )
        return self._told(member_id, self.beat(event))

    def go_on(
        self, member_id: str, *, instance: str | None = None, regex: str | None = None
    ) -> ConsumerHeartbeatSeen:
        """A heartbeat of a member that does at once what it is told, and says what it owns."""
        consumer = self.consumers[member_id]
        event = self.event(
            member_id, consumer.epoch, owned=consumer.owned, instance=instance, regex=regex
        )
        return self._told(member_id, self.beat(event))

    def settle(self, *member_ids: str) -> None:
        """Heartbeats of all these, until nothing changes any more."""
        for _ in range(10):
            before = len(self.log)
            for member_id in member_ids:
                self.go_on(member_id)
            if len(self.log) == before:
                return
        raise AssertionError("they do not settle")

    def _told(self, member_id: str, seen: ConsumerHeartbeatSeen) -> ConsumerHeartbeatSeen:
        consumer = self.consumers[member_id]
        consumer.epoch = seen.member_epoch
        if seen.assigned is not None:
            consumer.owned = {
                topic.strip(b".").decode(): indexes for topic, indexes in seen.assigned.items()
            }
        return seen

    def owned(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Who owns what, as the members know it."""
        return {id: consumer.owned for id, consumer in self.consumers.items()}

    def describe_consumers(self, group: str = GROUP) -> DescribedConsumerGroup:
        reply = self.ask(DescribeConsumerGroups(self.token(), (group,)))
        assert isinstance(reply, ConsumerGroupsDescribed)
        return reply.groups[0]

    @property
    def group(self) -> ConsumerGroup:
        return self.core.recorded.consumer_groups[GROUP]

    @property
    def written(self) -> list[str]:
        """Kinds of all records so far, and whose they are."""
        names = []
        for record in self.log:
            assert isinstance(record, Record)
            name = type(record.key).__name__.removeprefix("ConsumerGroup").removesuffix("Key")
            gone = "" if record.value else " gone"
            names.append(f"{name} {getattr(record.key, 'member_id', '')}".strip() + gone)
        return names

    def replayed(self) -> RecordedState:
        """What the log alone says."""
        core = GroupCoordinator(self.settings)
        for record in self.log:
            core.apply(record)
        return core.recorded
