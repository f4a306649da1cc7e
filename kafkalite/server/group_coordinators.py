"""All group coordinators of one broker, by the partition of `__consumer_offsets` that each keeps
its state in. Who leads the partition that the id of a group hashes to coordinates that group.

Source: Kafka's `GroupCoordinatorService`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.config.views import BrokerConfig
from kafkalite.coordinator.groups.administration_events import (
    DeleteGroups,
    DescribeGroups,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.events import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Loaded,
    MemberDisconnected,
    SyncGroup,
)
from kafkalite.coordinator.groups.consumer.events import (
    ConsumerHeartbeat,
    DescribeConsumerGroups,
    MetadataChanged,
)
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import JournalRecord
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    DeleteOffsets,
    FetchOffsets,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.settings import (
    ConsumerSettings,
    GroupSettings,
    MigrationPolicy,
)
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS, INTERNAL_TOPICS
from kafkalite.ports.clock import Clock
from kafkalite.protocol.records.compression import Compression
from kafkalite.server.coordinator_driver import CoordinatorSettings
from kafkalite.server.coordinator_replay import SLICE_BYTES
from kafkalite.server.group_record_codec import GroupRecordCodec
from kafkalite.server.led_coordinators import LedCoordinators
from kafkalite.server.member_connections import HeardMember, HeardOn, MemberConnections
from kafkalite.server.rebalance_log import LoggedGroups
from kafkalite.server.replica_manager import ReplicaManager

GroupRequest = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | CommitOffsets
    | CommitTransactionalOffsets
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


class GroupCoordinators(LedCoordinators[Event, JournalRecord]):
    """A coordinator for each partition of `__consumer_offsets` that this broker leads."""

    def __init__(self, config: BrokerConfig, replicas: ReplicaManager, clock: Clock) -> None:
        settings = _group_settings(config)
        self._metadata = MetadataChanged(MetadataImage())
        self.member_connections = (
            MemberConnections(self._evict) if config.kafkalite_group_evict_on_disconnect else None
        )
        """None: the broker evicts nobody whose connection drops."""
        super().__init__(
            config.node_id,
            CONSUMER_OFFSETS,
            config.offsets_topic_num_partitions,
            CoordinatorSettings[Event, JournalRecord](
                new_core=lambda: LoggedGroups(GroupCoordinator(settings)),
                codec=GroupRecordCodec(Compression(config.offsets_topic_compression_codec)),
                loaded=Loaded(),
                before=lambda: (self._metadata,),
                load_bytes=min(config.offsets_load_buffer_size, SLICE_BYTES),
            ),
            replicas=replicas,
            clock=clock,
        )

    def heard(self, connection: HeardOn, group_id: str, member_id: str) -> None:
        """A member has sent a request on that, or will be told its id with the answer."""
        if self.member_connections is not None and member_id:
            self.member_connections.heard(connection, HeardMember(group_id, member_id))

    def left(self, group_id: str, member_id: str) -> None:
        """A member has said goodbye."""
        if self.member_connections is not None:
            self.member_connections.left(HeardMember(group_id, member_id))

    def _evict(self, member: HeardMember) -> None:
        self.tell(self.partition_of(member.group_id), MemberDisconnected(*member))

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """As for every kind; what was committed of deleted topics is forgotten, and consumer groups
        learn of the others."""
        self.forget(delta.deleted)
        self._metadata = MetadataChanged(image)
        self.tell_active(self._metadata)
        super().apply(image, delta)

    def forget(self, deleted: Iterable[TopicImage]) -> None:
        """Forget what was committed of these topics; they are gone."""
        gone = tuple(topic.name for topic in deleted if topic.name not in INTERNAL_TOPICS)
        if gone:
            self.tell_all(TopicsDeleted(gone))


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
        migration=MigrationPolicy(config.group_consumer_migration_policy.lower()),
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
