"""The groups of one partition of `__consumer_offsets`: routes events to those who decide them.

Recorded state is what `apply` made; the live groups are soft state, made of it when they are first
needed. Source: Kafka's `GroupCoordinatorShard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from kafkalite.coordinator.groups import administration, commits
from kafkalite.coordinator.groups.administration_events import (
    DeleteGroups,
    DescribeGroups,
    GroupsDeleted,
    GroupsDescribed,
    GroupsListed,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.coordination import (
    ClassicCoordination,
    MembershipEvent,
)
from kafkalite.coordinator.groups.classic.events import (
    Heartbeat,
    InitialDelayOver,
    JoinGroup,
    JoinTimedOut,
    LeaveGroup,
    Loaded,
    MemberDisconnected,
    SessionTimedOut,
    SyncGroup,
    SyncTimedOut,
)
from kafkalite.coordinator.groups.classic.join import check_join, refuse
from kafkalite.coordinator.groups.classic.state import ClassicGroup
from kafkalite.coordinator.groups.commits import AnyGroup
from kafkalite.coordinator.groups.consumer.events import (
    ClassicMemberLate,
    ConsumerHeartbeat,
    DescribeConsumerGroups,
    MemberSilent,
    MetadataChanged,
    RevocationTimedOut,
)
from kafkalite.coordinator.groups.draft import Draft, GroupOutcome, Rebalanced
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import JournalRecord, Record, TransactionEnded
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    DeleteOffsets,
    EndTransactionalOffsets,
    ExpireOffsets,
    FetchOffsets,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.reasons import Reasons
from kafkalite.coordinator.groups.recorded import RecordedState
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.classic_group_records import GroupMetadataKey
from kafkalite.protocol.messages.consumer_group_records import ConsumerGroupMetadataKey
from kafkalite.types import TimestampMs

if TYPE_CHECKING:
    from kafkalite.coordinator.groups.consumer.coordination import ConsumerCoordination


class GroupCoordinator:
    """The event-sourced core: `decide` reads, `apply` writes (see `kafkalite/core.py`)."""

    def __init__(
        self, settings: GroupSettings | None = None, image: MetadataImage | None = None
    ) -> None:
        """Without groups: `apply` the log, then decide on `Loaded`. `image`: the topics as they are
        now; later ones come as `MetadataChanged`."""
        self._settings = settings or GroupSettings()
        self._recorded = RecordedState()
        self._image = image or MetadataImage()
        self._consumer: ConsumerCoordination | None = None
        """Made when the first consumer group needs it."""
        self._classic = ClassicCoordination(self._recorded)
        self._reasons = Reasons()

    @property
    def recorded(self) -> RecordedState:
        """What the applied records made."""
        return self._recorded

    def apply(self, record: JournalRecord) -> None:
        """Fold one record of the log in, or the end of a transaction."""
        self._recorded.apply(record)
        if isinstance(record, TransactionEnded) or record.value is not None:
            return
        match record.key:
            case GroupMetadataKey() as key:
                self._classic.forget(key.group)
            case ConsumerGroupMetadataKey() as key:
                self._forget(key.group_id)

    def group(self, group_id: str) -> ClassicGroup | None:
        """The live classic group; None when there is none of that id."""
        return self._classic.group(group_id)

    def _consumers(self) -> ConsumerCoordination:
        """The rules of consumer groups. No start waits for their modules."""
        if self._consumer is None:
            from kafkalite.coordinator.groups.consumer.coordination import ConsumerCoordination

            self._consumer = ConsumerCoordination(
                self._recorded.consumer_groups, self._image, self._classic.adopt
            )
        return self._consumer

    def _forget(self, group_id: str) -> None:
        if self._consumer is not None:
            self._consumer.forget(group_id)

    def any_group(self, group_id: str) -> AnyGroup | None:
        """The group, of either kind."""
        return self._recorded.consumer_groups.get(group_id) or self.group(group_id)

    def decide(self, event: Event, now: TimestampMs) -> GroupOutcome:
        """Records, replies (of this request or of others that waited) and timers."""
        draft = Draft(now, self._settings)
        match event:
            case ConsumerHeartbeat():
                self._consumers().heartbeat(draft, event, self.group(event.group_id))
            case JoinGroup() | SyncGroup() | Heartbeat() | LeaveGroup():
                self._membership(draft, event)
            case CommitOffsets():
                commits.commit(draft, self.any_group(event.group_id), event)
            case CommitTransactionalOffsets():
                commits.commit_in_transaction(draft, self.any_group(event.group_id), event)
            case EndTransactionalOffsets():
                commits.end_transaction(draft, event)
            case FetchOffsets():
                offsets = self._recorded.offsets
                commits.fetch(draft, self.any_group(event.group_id), offsets, event)
            case DeleteOffsets():
                offsets = self._recorded.offsets
                commits.delete(draft, self.any_group(event.group_id), offsets, event)
            case ListGroups():
                listed = administration.listed(self._all_groups(), event)
                draft.reply(event.token, GroupsListed(listed))
            case DescribeGroups():
                groups = ((id, self.any_group(id)) for id in event.group_ids)
                described = tuple(administration.described(*pair) for pair in groups)
                draft.reply(event.token, GroupsDescribed(described))
            case DeleteGroups():
                self._delete(draft, event)
            case TopicsDeleted():
                commits.delete_topics(draft, self._recorded.offsets, event.topics)
            case InitialDelayOver() | JoinTimedOut() | SyncTimedOut() | SessionTimedOut():
                self._classic.time_out(draft, event)
            case DescribeConsumerGroups():
                reasons = self._reasons.last
                self._consumers().describe(draft, event, self._recorded.groups, reasons)
            case MemberDisconnected() if event.group_id not in self._recorded.consumer_groups:
                self._classic.time_out(draft, event)
            case MemberSilent() | RevocationTimedOut() | ClassicMemberLate() | MemberDisconnected():
                self._consumers().time_out(draft, event)
            case MetadataChanged():
                self._image = event.image
                if self._consumer is not None:
                    self._consumer.set_image(event.image)
            case ExpireOffsets():
                self._expire(draft)
            case Loaded():
                self._load(draft)
            case _:
                assert_never(event)
        return self._finished(draft)

    def take_rebalances(self) -> list[Rebalanced]:
        """Those that began since the last call, for a log that people read."""
        return self._reasons.take()

    def _finished(self, draft: Draft) -> GroupOutcome:
        if draft.rebalances:
            count = self._recorded.group_count
            self._reasons.keep(draft.rebalances, count, lambda id: self.any_group(id) is not None)
        return draft.outcome()

    def refused(
        self, records: tuple[JournalRecord, ...], error: KafkaError, now: TimestampMs
    ) -> GroupOutcome:
        """The log has not taken these, which were decided last: what ran ahead of them steps
        back."""
        draft = Draft(now, self._settings)
        for record in records:
            match record:
                case Record(GroupMetadataKey() as key, None):
                    self._classic.not_upgraded(draft, key.group)
                case Record(GroupMetadataKey() as key):
                    self._classic.not_recorded(draft, key.group, error.code)
                case Record(ConsumerGroupMetadataKey() as key):
                    self._forget(key.group_id)
                    consumer_group = self._recorded.consumer_groups.get(key.group_id)
                    if record.value is None and consumer_group is not None:
                        self._consumers().watch(draft, consumer_group)
        return self._finished(draft)

    def _membership(self, draft: Draft, event: MembershipEvent) -> None:
        """A consumer group with members may have some that speak the classic protocol."""
        consumer_group = self._recorded.consumer_groups.get(event.group_id)
        if consumer_group is None or not consumer_group.members:
            self._classic.request(draft, event)
            return
        code = check_join(draft, event) if isinstance(event, JoinGroup) else ErrorCode.NONE
        if isinstance(event, JoinGroup) and code is not ErrorCode.NONE:
            refuse(draft, event, code)
        else:
            self._consumers().classic_request(draft, consumer_group, event)

    def _delete(self, draft: Draft, event: DeleteGroups) -> None:
        offsets = self._recorded.offsets
        deleted = tuple(
            administration.delete(draft, id, self.any_group(id), offsets)
            for id in dict.fromkeys(event.group_ids)
        )
        draft.reply(event.token, GroupsDeleted(deleted))

    def _expire(self, draft: Draft) -> None:
        """Offsets go by their age, and groups that have neither members nor offsets."""
        for group in self._all_groups():
            expired = commits.expire(draft, group, self._recorded.offsets)
            if expired and not group.members:
                administration.write_tombstones(draft, group)
        self._watch_expiry(draft)

    def _watch_expiry(self, draft: Draft) -> None:
        interval_ms = draft.settings.offsets_retention_check_interval_ms
        draft.set_timer(("expiry",), interval_ms, ExpireOffsets())

    def _load(self, draft: Draft) -> None:
        """Sessions begin anew."""
        self._classic.load(draft)
        if self._recorded.consumer_groups:
            self._consumers().load(draft)
        self._watch_expiry(draft)

    def _all_groups(self) -> Iterator[AnyGroup]:
        yield from self._classic.groups()
        yield from self._recorded.consumer_groups.values()
