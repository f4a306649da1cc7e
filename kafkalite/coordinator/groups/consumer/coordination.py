"""The consumer groups of one coordinator: gives each event to the rules that it is for.

Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from kafkalite.coordinator.groups.classic.coordination import MembershipEvent
from kafkalite.coordinator.groups.classic.events import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from kafkalite.coordinator.groups.classic.state import ClassicGroup
from kafkalite.coordinator.groups.classic.state import GroupState as ClassicState
from kafkalite.coordinator.groups.consumer.classic_members import ClassicMembers
from kafkalite.coordinator.groups.consumer.classic_members import leave as leave_as_classic
from kafkalite.coordinator.groups.consumer.departures import MemberOut, leave, timed_out
from kafkalite.coordinator.groups.consumer.description import described, not_described
from kafkalite.coordinator.groups.consumer.events import (
    ConsumerGroupsDescribed,
    ConsumerHeartbeat,
    DescribeConsumerGroups,
)
from kafkalite.coordinator.groups.consumer.group_settings import settings_of
from kafkalite.coordinator.groups.consumer.heartbeats import heartbeat
from kafkalite.coordinator.groups.consumer.replay import ConsumerGroups
from kafkalite.coordinator.groups.consumer.requests import check_heartbeat
from kafkalite.coordinator.groups.consumer.state import JOINING_EPOCH, ConsumerGroup
from kafkalite.coordinator.groups.consumer.timers import keep_session, watch_revocation
from kafkalite.coordinator.groups.consumer.turn import Turn
from kafkalite.coordinator.groups.consumer.upgrade import leave_behind, upgrade
from kafkalite.coordinator.groups.draft import Draft, Rebalanced
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage


class ConsumerCoordination:
    """Reads the recorded groups, and knows the metadata that they are held against."""

    def __init__(
        self,
        groups: ConsumerGroups,
        image: MetadataImage,
        on_downgrade: Callable[[ClassicGroup], None],
    ) -> None:
        """`on_downgrade`: a group will be that classic one, once the records are applied."""
        self._image = image
        self._images = 1
        """How many there were."""
        self._groups = groups
        self._on_downgrade = on_downgrade
        self._classic_members = ClassicMembers()
        self._seen: dict[str, int] = {}
        """Group -> which of them it was last held against. Soft state."""

    def set_image(self, image: MetadataImage) -> None:
        """The metadata from now on. Groups look at it with their next heartbeats."""
        self._image = image
        self._images += 1

    def heartbeat(
        self, draft: Draft, event: ConsumerHeartbeat, classic: ClassicGroup | None
    ) -> None:
        """See `ConsumerHeartbeat`. `classic`: the classic group of that id; it makes way, or
        becomes a consumer group if it has members.

        `KafkaError`: what `check_heartbeat` and `heartbeats.heartbeat` say, GROUP_ID_NOT_FOUND,
        UNSUPPORTED_VERSION where the protocol is off."""
        if not draft.settings.consumer.is_on:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        check_heartbeat(event, draft.settings.consumer)
        group_id = event.group_id
        group = self._groups.get(group_id)
        if event.member_epoch < JOINING_EPOCH:
            if group is None:
                why = "not found" if classic is None else "is not a consumer group"
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {why}.")
            self._become(leave(draft, group, event, self._image))
            return
        if group is None:
            group = self._new_group(draft, event, classic)
        heartbeat(self._turn(draft, group), event)
        if classic is not None:
            leave_behind(draft, classic)
        self._seen[group_id] = self._images

    def _turn(self, draft: Draft, group: ConsumerGroup) -> Turn:
        is_old = self._seen.get(group.group_id) != self._images
        return Turn(draft, group, self._image, is_old=is_old)

    def _new_group(
        self, draft: Draft, event: ConsumerHeartbeat, classic: ClassicGroup | None
    ) -> ConsumerGroup:
        group_id = event.group_id
        joins = event.member_epoch == JOINING_EPOCH
        if classic is None:
            if joins:
                return ConsumerGroup(group_id)
            message = f"Consumer group {group_id} not found."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        if not joins:
            message = f"Group {group_id} is not a consumer group."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        if classic.state is not ClassicState.EMPTY:
            return upgrade(draft, classic, self._image)
        draft.write_group(group_id, None)
        return ConsumerGroup(group_id)

    def classic_request(self, draft: Draft, group: ConsumerGroup, event: MembershipEvent) -> None:
        """Of a member that speaks the classic protocol, or wants to be one."""
        match event:
            case JoinGroup():
                self._join(draft, group, event)
            case SyncGroup():
                self._classic_members.sync(draft, group, event, self._image)
            case Heartbeat():
                self._classic_members.heartbeat(draft, group, event)
            case LeaveGroup():
                self._become(leave_as_classic(draft, group, event, self._image))

    def _join(self, draft: Draft, group: ConsumerGroup, event: JoinGroup) -> None:
        turn = self._turn(draft, group)
        self._become(self._classic_members.join(turn, event, self._image))
        self._seen[group.group_id] = self._images

    def _become(self, classic: ClassicGroup | None) -> None:
        if classic is not None:
            self._on_downgrade(classic)

    def describe(
        self,
        draft: Draft,
        event: DescribeConsumerGroups,
        classic: Container[str],
        reasons: Mapping[str, Rebalanced],
    ) -> None:
        """See `DescribeConsumerGroups`. `classic`: ids of groups of another kind. `reasons`: of the
        last rebalance of groups of any kind."""
        default = draft.settings.consumer.assignors[0]
        told = []
        for group_id in event.group_ids:
            group = self._groups.get(group_id)
            if group is None:
                is_classic = group_id in classic
                told.append(not_described(group_id, is_of_another_kind=is_classic))
            else:
                told.append(described(group, self._image, default))
        draft.reply(
            event.token,
            ConsumerGroupsDescribed(
                tuple(
                    each._replace(last_rebalance=why.reason, last_rebalance_ms=why.at_ms)
                    if (why := reasons.get(each.group_id)) is not None
                    else each
                    for each in told
                )
            ),
        )

    def time_out(self, draft: Draft, event: MemberOut) -> None:
        """A timer has fired, or a connection has dropped; the group may be gone."""
        group = self._groups.get(event.group_id)
        if group is not None:
            self._become(timed_out(draft, group, event, self._image))

    def load(self, draft: Draft) -> None:
        """All members have a fresh session from now on, and fresh time to give partitions up."""
        for group in self._groups.values():
            self.watch(draft, group)

    def watch(self, draft: Draft, group: ConsumerGroup) -> None:
        """As `load`, for one group. Kafka's timers of classic members are the same as of others
        then."""
        settings = settings_of(group.group_id, self._image, draft.settings.consumer)
        for member in group.members.values():
            keep_session(draft, group.group_id, member.member_id, settings.session_timeout_ms)
            watch_revocation(draft, group.group_id, member)

    def forget(self, group_id: str) -> None:
        """What is known of the group beside its records may be ahead of them, or it is gone."""
        self._seen.pop(group_id, None)
        self._classic_members.forget(group_id)
