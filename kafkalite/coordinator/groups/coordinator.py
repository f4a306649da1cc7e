"""The groups of one partition of `__consumer_offsets`: routes events to those who decide them.

Recorded state is what `apply` made; the live groups are soft state, made of it when they are first
needed. Source: Kafka's `GroupCoordinatorShard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from kafkalite.coordinator.groups import administration, commits
from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    CommitOffsets,
    CommitTransactionalOffsets,
    DeleteGroups,
    DeleteOffsets,
    DescribeGroups,
    EndTransactionalOffsets,
    ExpireOffsets,
    FetchOffsets,
    GroupsDeleted,
    GroupsDescribed,
    GroupsListed,
    Heartbeat,
    InitialDelayOver,
    Joined,
    JoinGroup,
    JoinTimedOut,
    LeaveGroup,
    ListGroups,
    Loaded,
    MemberDisconnected,
    SessionTimedOut,
    SyncGroup,
    SyncTimedOut,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.classic.join import check_join, join, refuse
from kafkalite.coordinator.groups.classic.membership import heartbeat, leave, sync
from kafkalite.coordinator.groups.classic.rebalance import (
    answer_join,
    complete_join,
    disconnected,
    initial_delay_over,
    join_timer,
    keep_session,
    prepare,
    rebalance_or_complete,
    session_timed_out,
    sync_timed_out,
    sync_timer,
)
from kafkalite.coordinator.groups.classic.records import group_of, record_of
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState
from kafkalite.coordinator.groups.commits import AnyGroup
from kafkalite.coordinator.groups.consumer.events import (
    ClassicMemberLate,
    ConsumerHeartbeat,
    DescribeConsumerGroups,
    MemberSilent,
    MetadataChanged,
    RevocationTimedOut,
)
from kafkalite.coordinator.groups.consumer.member_records import group_tombstones
from kafkalite.coordinator.groups.draft import Draft, GroupOutcome, Rebalanced
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import JournalRecord, Record
from kafkalite.coordinator.groups.recorded import RecordedState
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
)
from kafkalite.protocol.messages.consumer_group_records import ConsumerGroupMetadataKey
from kafkalite.types import TimestampMs

if TYPE_CHECKING:
    from kafkalite.coordinator.groups.consumer.coordination import (
        ConsumerCoordination,
        MembershipEvent,
    )

FEW_GROUPS = 100
"""So many reasons may be kept of groups that are gone."""


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
        self._live: dict[str, ClassicGroup] = {}
        """Soft state: groups with their parked requests, ahead of the record while they
        rebalance."""
        self._begun: list[Rebalanced] = []
        self._last_rebalances: dict[str, Rebalanced] = {}
        """By group. Soft state: a coordinator that was loaded anew does not know."""

    @property
    def recorded(self) -> RecordedState:
        """What the applied records made."""
        return self._recorded

    def apply(self, record: JournalRecord) -> None:
        """Fold one record of the log in, or the end of a transaction."""
        self._recorded.apply(record)
        match record:
            case Record(GroupMetadataKey() as key, None):
                self._live.pop(key.group, None)
            case Record(ConsumerGroupMetadataKey() as key, None):
                self._forget(key.group_id)

    def group(self, group_id: str) -> ClassicGroup | None:
        """The live classic group; None when there is none of that id."""
        live = self._live.get(group_id)
        if live is None and group_id in self._recorded.groups:
            live = group_of(group_id, self._recorded.groups[group_id])
            self._live[group_id] = live
        return live

    def _consumers(self) -> ConsumerCoordination:
        """The rules of consumer groups. No start waits for their modules."""
        if self._consumer is None:
            from kafkalite.coordinator.groups.consumer.coordination import ConsumerCoordination

            self._consumer = ConsumerCoordination(
                self._recorded.consumer_groups, self._image, self._adopt
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
                self._time_out(draft, event)
            case ConsumerHeartbeat():
                self._consumers().heartbeat(draft, event, self.group(event.group_id))
            case DescribeConsumerGroups():
                reasons = self._last_rebalances
                self._consumers().describe(draft, event, self._recorded.groups, reasons)
            case MemberDisconnected() if event.group_id not in self._recorded.consumer_groups:
                group = self.group(event.group_id)
                if group is not None:
                    disconnected(draft, group, event.member_id)
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
        self._keep_reasons(draft)
        return draft.outcome()

    def take_rebalances(self) -> list[Rebalanced]:
        """Those that began since the last call, for a log that people read."""
        begun, self._begun = self._begun, []
        return begun

    def _keep_reasons(self, draft: Draft) -> None:
        if draft.rebalances:
            self._begun += draft.rebalances
            self._last_rebalances |= {each.group_id: each for each in draft.rebalances}
            if len(self._last_rebalances) > 2 * self._recorded.group_count + FEW_GROUPS:
                known = self._last_rebalances.items()
                self._last_rebalances = {id: each for id, each in known if self.any_group(id)}

    def refused(
        self, records: tuple[JournalRecord, ...], error: KafkaError, now: TimestampMs
    ) -> GroupOutcome:
        """The log has not taken these, which were decided last. Live groups run ahead of their
        record: a new one is gone again, and one that would be complete has its members join anew,
        as in Kafka; one that is empty stays so."""
        draft = Draft(now, self._settings)
        for record in records:
            match record:
                case Record(GroupMetadataKey() as key, GroupMetadataValue()):
                    group = self._live.get(key.group)
                    if group is not None:
                        self._step_back(draft, group, error.code)
                case Record(GroupMetadataKey() as key, None):
                    self._watch_again(draft, key.group)
                case Record(ConsumerGroupMetadataKey() as key):
                    self._forget(key.group_id)
                    consumer_group = self._recorded.consumer_groups.get(key.group_id)
                    if record.value is None and consumer_group is not None:
                        self._consumers().watch(draft, consumer_group)
        return draft.outcome()

    def _watch_again(self, draft: Draft, group_id: str) -> None:
        """It was to become a consumer group, and stays."""
        group = self._live.get(group_id)
        if group is not None and group.members:
            for member in group.members.values():
                keep_session(draft, group, member)
            rebalance_or_complete(draft, group, "its record was refused")

    def _step_back(self, draft: Draft, group: ClassicGroup, code: ErrorCode) -> None:
        if group.group_id not in self._recorded.groups:
            del self._live[group.group_id]
            draft.cancel_timer(join_timer(group.group_id))
            draft.cancel_timer(sync_timer(group.group_id))
            for member in group.members.values():
                answer_join(draft, member, Joined(code, ""))
        elif group.state is GroupState.STABLE:
            for member in group.members.values():
                member.assignment = b""
            prepare(draft, group, "its record was refused")

    def _membership(self, draft: Draft, event: MembershipEvent) -> None:
        """A consumer group with members may have some that speak the classic protocol."""
        consumer_group = self._recorded.consumer_groups.get(event.group_id)
        if consumer_group is not None and consumer_group.members:
            code = check_join(draft, event) if isinstance(event, JoinGroup) else ErrorCode.NONE
            if isinstance(event, JoinGroup) and code is not ErrorCode.NONE:
                refuse(draft, event, code)
            else:
                self._consumers().classic_request(draft, consumer_group, event)
            return
        match event:
            case JoinGroup():
                self._join(draft, event)
            case SyncGroup():
                sync(draft, self.group(event.group_id), event)
            case Heartbeat():
                heartbeat(draft, self.group(event.group_id), event)
            case LeaveGroup():
                leave(draft, self.group(event.group_id), event)

    def _adopt(self, group: ClassicGroup) -> None:
        """A consumer group is that classic one once its records are applied."""
        self._live[group.group_id] = group

    def _join(self, draft: Draft, event: JoinGroup) -> None:
        code = check_join(draft, event)
        group = self.group(event.group_id)
        consumer_group = self._recorded.consumer_groups.get(event.group_id)
        if code is ErrorCode.NONE and group is None and event.member_id != NO_MEMBER_ID:
            code = ErrorCode.UNKNOWN_MEMBER_ID
        if code is not ErrorCode.NONE:
            refuse(draft, event, code)
            return
        if consumer_group is not None:
            draft.write(*group_tombstones(consumer_group))
        if group is None:
            # Recorded at once, even if this one is refused: whoever asks next finds the group.
            group = ClassicGroup(event.group_id, state_timestamp=draft.now)
            self._live[event.group_id] = group
            draft.write_group(event.group_id, record_of(group))
        join(draft, group, event)

    def _delete(self, draft: Draft, event: DeleteGroups) -> None:
        offsets = self._recorded.offsets
        deleted = tuple(
            administration.delete(draft, id, self.any_group(id), offsets)
            for id in dict.fromkeys(event.group_ids)
        )
        draft.reply(event.token, GroupsDeleted(deleted))

    def _time_out(
        self, draft: Draft, event: InitialDelayOver | JoinTimedOut | SyncTimedOut | SessionTimedOut
    ) -> None:
        """A timer has fired; it may be about a group that is gone, or has moved on since."""
        group = self.group(event.group_id)
        if group is None:
            return
        preparing = group.state is GroupState.PREPARING_REBALANCE
        match event:
            case SessionTimedOut():
                session_timed_out(draft, group, event.member_id)
            case SyncTimedOut():
                sync_timed_out(draft, group, event.generation)
            case InitialDelayOver() if preparing:
                initial_delay_over(draft, group, event)
            case JoinTimedOut() if preparing:
                complete_join(draft, group)

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
        """Members of stable groups have a fresh session from now on; a group that is larger than is
        allowed by now rebalances, so that the last to come find no room."""
        for group in self._groups():
            for member in group.members.values():
                keep_session(draft, group, member)
            if len(group.members) > draft.settings.max_size:
                prepare(draft, group, "it has more members than may be")
        if self._recorded.consumer_groups:
            self._consumers().load(draft)
        self._watch_expiry(draft)

    def _all_groups(self) -> Iterator[AnyGroup]:
        yield from self._groups()
        yield from self._recorded.consumer_groups.values()

    def _groups(self) -> Iterator[ClassicGroup]:
        for group_id in self._recorded.groups:
            group = self.group(group_id)
            assert group is not None, group_id
            yield group
