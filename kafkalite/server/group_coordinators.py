"""All group coordinators of one broker, by the partition of `__consumer_offsets` that each keeps
its state in. Who leads the partition that the id of a group hashes to coordinates that group.

Source: Kafka's `GroupCoordinatorService`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

from kafkalite.config.views import BrokerConfig
from kafkalite.coordinator.groups.classic.events import (
    CommitOffsets,
    DeleteGroups,
    DeleteOffsets,
    DescribeGroups,
    FetchOffsets,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    SyncGroup,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.consumer.events import (
    ConsumerHeartbeat,
    DescribeConsumerGroups,
    MetadataChanged,
)
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.settings import ConsumerSettings, GroupSettings
from kafkalite.coordinator.partitioner import partition_for
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS, INTERNAL_TOPICS
from kafkalite.ports.clock import Clock
from kafkalite.protocol.records.compression import Compression
from kafkalite.server.coordinator_driver import CoordinatorDriver, CoordinatorSettings
from kafkalite.server.coordinator_replay import SLICE_BYTES
from kafkalite.server.core_driver import OnReply
from kafkalite.server.replica_manager import ReplicaManager

GroupRequest = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | CommitOffsets
    | FetchOffsets
    | DeleteOffsets
    | ListGroups
    | DescribeGroups
    | DeleteGroups
    | ConsumerHeartbeat
    | DescribeConsumerGroups
)
"""Events that clients ask for; the others come from timers and from the metadata."""

_MINUTE_MS = 60_000
_NOT_HERE = KafkaError(ErrorCode.NOT_COORDINATOR)


class GroupCoordinators:
    """A coordinator for each partition of `__consumer_offsets` that this broker leads."""

    def __init__(self, config: BrokerConfig, replicas: ReplicaManager, clock: Clock) -> None:
        settings = _group_settings(config)
        self._broker_id = config.node_id
        self._replicas = replicas
        self._clock = clock
        self._count = config.offsets_topic_num_partitions
        self._settings = CoordinatorSettings(
            new_core=lambda: GroupCoordinator(settings),
            compression=Compression(config.offsets_topic_compression_codec),
            load_bytes=min(config.offsets_load_buffer_size, SLICE_BYTES),
        )
        self._metadata = MetadataChanged(MetadataImage())
        self._led: dict[int, CoordinatorDriver] = {}
        self._tokens = count()
        self._stopped = False

    # Asked by handlers.

    def partition_of(self, group_id: str) -> int:
        """Of `__consumer_offsets`; as it will have when it is there."""
        return partition_for(group_id, self._count)

    def ask(self, group_id: str, event: GroupRequest, on_reply: OnReply) -> None:
        """Ask the coordinator of that group. `on_reply` is called once, before this returns or
        later on the loop, when all that the answer shows is committed: with the body that `event`
        names, or a `KafkaError`. NOT_COORDINATOR when it is another broker's, or nobody's yet. The
        event's token is set here."""
        driver = self._led.get(self.partition_of(group_id))
        if driver is None:
            on_reply(_NOT_HERE)
        else:
            driver.submit(self._with_token(event), on_reply)

    def ask_all(self, event: ListGroups, on_replies: Callable[[list[object]], None]) -> None:
        """Ask every coordinator here; `on_replies` gets what `ask` would give, in the order of the
        partitions."""
        drivers = [self._led[index] for index in sorted(self._led)]
        replies: list[object] = [None] * len(drivers)
        missing = len(drivers)
        if not drivers:
            on_replies(replies)

        def on_reply(at: int, reply: object) -> None:
            nonlocal missing
            replies[at] = reply
            missing -= 1
            if not missing:
                on_replies(replies)

        for at, driver in enumerate(drivers):
            driver.submit(self._with_token(event), partial(on_reply, at))

    def _with_token(self, event: GroupRequest) -> GroupRequest:
        return event._replace(token=next(self._tokens))

    # Told by the metadata.

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Coordinate what `image` gives this broker, after the replica manager has made it so."""
        deleted = [topic.name for topic in delta.deleted]
        if CONSUMER_OFFSETS in deleted:
            for index in list(self._led):
                self._unload(index)
        gone = tuple(name for name in deleted if name not in INTERNAL_TOPICS)
        if gone:
            for driver in self._led.values():
                driver.tell(TopicsDeleted(gone))
        self._metadata = MetadataChanged(image)
        for driver in self._led.values():
            driver.tell(self._metadata)
        for change in delta.partitions():
            if change.topic.name == CONSUMER_OFFSETS:
                self._follow(change.index, change.before, change.after)
        topic = image.topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            self._count = len(topic.partitions)

    def stop(self) -> None:
        """Refuse everyone who waits, and coordinate nothing more: the broker stops."""
        self._stopped = True
        for index in list(self._led):
            self._unload(index)

    def _follow(self, index: int, before: PartitionImage | None, after: PartitionImage) -> None:
        if after.leader != self._broker_id or self._stopped:
            self._unload(index)
        elif index not in self._led or before is None or before.leader_epoch != after.leader_epoch:
            self._unload(index)
            self._load(index)

    def _load(self, index: int) -> None:
        try:
            partition = self._replicas.find(CONSUMER_OFFSETS, index)
            partition.leading  # noqa: B018  # Refuses where the log could not be opened.
        except KafkaError:
            return
        driver = self._led[index] = CoordinatorDriver(partition, self._clock, self._settings)
        driver.tell(self._metadata)
        driver.load()

    def _unload(self, index: int) -> None:
        driver = self._led.pop(index, None)
        if driver is not None:
            driver.close()


def _group_settings(config: BrokerConfig) -> GroupSettings:
    consumer = ConsumerSettings(
        is_on="consumer" in config.group_coordinator_rebalance_protocols,
        session_timeout_ms=max(
            config.group_consumer_session_timeout_ms,
            config.group_consumer_min_session_timeout_ms,
        ),
        heartbeat_interval_ms=max(
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_min_heartbeat_interval_ms,
        ),
        assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        max_size=config.group_consumer_max_size,
        assignors=config.group_consumer_assignors,
    )
    return GroupSettings(
        initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        min_session_timeout_ms=config.group_min_session_timeout_ms,
        max_session_timeout_ms=config.group_max_session_timeout_ms,
        max_size=config.group_max_size,
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * _MINUTE_MS,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        consumer=consumer,
    )
