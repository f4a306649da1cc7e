"""The classic groups of one coordinator: gives each event to the rules that it is for.

The live groups are soft state: made of the recorded ones when they are first needed, and ahead of
their record while they rebalance. Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    Heartbeat,
    InitialDelayOver,
    Joined,
    JoinGroup,
    JoinTimedOut,
    LeaveGroup,
    MemberDisconnected,
    SessionTimedOut,
    SyncGroup,
    SyncTimedOut,
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
from kafkalite.coordinator.groups.consumer.member_records import group_tombstones
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.recorded import RecordedState
from kafkalite.errors import ErrorCode

MembershipEvent = JoinGroup | SyncGroup | Heartbeat | LeaveGroup
"""What a member asks."""
TimerEvent = InitialDelayOver | JoinTimedOut | SyncTimedOut | SessionTimedOut | MemberDisconnected
"""What is told of members who do not say it themselves."""
_REFUSED = "its record was refused"


class ClassicCoordination:
    """Reads the recorded groups, and keeps the live ones."""

    def __init__(self, recorded: RecordedState) -> None:
        self._recorded = recorded
        self._live: dict[str, ClassicGroup] = {}

    def group(self, group_id: str) -> ClassicGroup | None:
        """The live group; None when there is none of that id."""
        live = self._live.get(group_id)
        if live is None and group_id in self._recorded.groups:
            live = group_of(group_id, self._recorded.groups[group_id])
            self._live[group_id] = live
        return live

    def groups(self) -> Iterator[ClassicGroup]:
        """All of them."""
        for group_id in self._recorded.groups:
            group = self.group(group_id)
            assert group is not None, group_id
            yield group

    def adopt(self, group: ClassicGroup) -> None:
        """A consumer group is that one once its records are applied."""
        self._live[group.group_id] = group

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._live.pop(group_id, None)

    def request(self, draft: Draft, event: MembershipEvent) -> None:
        """Decide."""
        match event:
            case JoinGroup():
                self._join(draft, event)
            case SyncGroup():
                sync(draft, self.group(event.group_id), event)
            case Heartbeat():
                heartbeat(draft, self.group(event.group_id), event)
            case LeaveGroup():
                leave(draft, self.group(event.group_id), event)

    def _join(self, draft: Draft, event: JoinGroup) -> None:
        """An empty consumer group makes way."""
        code = check_join(draft, event)
        group = self.group(event.group_id)
        if code is ErrorCode.NONE and group is None and event.member_id != NO_MEMBER_ID:
            code = ErrorCode.UNKNOWN_MEMBER_ID
        if code is not ErrorCode.NONE:
            refuse(draft, event, code)
            return
        consumer_group = self._recorded.consumer_groups.get(event.group_id)
        if consumer_group is not None:
            draft.write(*group_tombstones(consumer_group))
        if group is None:
            # Recorded at once, even if this one is refused: whoever asks next finds the group.
            group = ClassicGroup(event.group_id, state_timestamp=draft.now)
            self._live[event.group_id] = group
            draft.write_group(event.group_id, record_of(group))
        join(draft, group, event)

    def time_out(self, draft: Draft, event: TimerEvent) -> None:
        """The group may be gone, or have moved on since."""
        group = self.group(event.group_id)
        if group is None:
            return
        preparing = group.state is GroupState.PREPARING_REBALANCE
        match event:
            case SessionTimedOut():
                session_timed_out(draft, group, event.member_id)
            case MemberDisconnected():
                disconnected(draft, group, event.member_id)
            case SyncTimedOut():
                sync_timed_out(draft, group, event.generation)
            case InitialDelayOver() if preparing:
                initial_delay_over(draft, group, event)
            case JoinTimedOut() if preparing:
                complete_join(draft, group)

    def load(self, draft: Draft) -> None:
        """Members of stable groups have a fresh session from now on; a group that is larger than is
        allowed by now rebalances, so that the last to come find no room."""
        for group in self.groups():
            for member in group.members.values():
                keep_session(draft, group, member)
            if len(group.members) > draft.settings.max_size:
                prepare(draft, group, "it has more members than may be")

    # The log has not taken what was decided last.

    def not_recorded(self, draft: Draft, group_id: str, code: ErrorCode) -> None:
        """A new group is gone again, and one that would be complete has its members join anew, as
        in Kafka; one that is empty stays so."""
        group = self._live.get(group_id)
        if group is None:
            return
        if group_id not in self._recorded.groups:
            del self._live[group_id]
            draft.cancel_timer(join_timer(group_id))
            draft.cancel_timer(sync_timer(group_id))
            for member in group.members.values():
                answer_join(draft, member, Joined(code, ""))
        elif group.state is GroupState.STABLE:
            for member in group.members.values():
                member.assignment = b""
            prepare(draft, group, _REFUSED)

    def not_upgraded(self, draft: Draft, group_id: str) -> None:
        """It was to become a consumer group, and stays."""
        group = self._live.get(group_id)
        if group is not None and group.members:
            for member in group.members.values():
                keep_session(draft, group, member)
            rebalance_or_complete(draft, group, _REFUSED)
