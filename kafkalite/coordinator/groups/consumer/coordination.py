"""The consumer groups of one coordinator: gives each event to the rules that it is for.

Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Container

from kafkalite.coordinator.groups.classic.state import ClassicGroup
from kafkalite.coordinator.groups.classic.state import GroupState as ClassicState
from kafkalite.coordinator.groups.consumer.departures import (
    keep_session,
    leave,
    timed_out,
    watch_revocation,
)
from kafkalite.coordinator.groups.consumer.description import described, not_described
from kafkalite.coordinator.groups.consumer.events import (
    ConsumerGroupsDescribed,
    ConsumerHeartbeat,
    DescribeConsumerGroups,
    MemberSilent,
    RevocationTimedOut,
)
from kafkalite.coordinator.groups.consumer.group_settings import settings_of
from kafkalite.coordinator.groups.consumer.heartbeats import HeartbeatTurn
from kafkalite.coordinator.groups.consumer.replay import ConsumerGroups
from kafkalite.coordinator.groups.consumer.requests import check_heartbeat
from kafkalite.coordinator.groups.consumer.state import JOINING_EPOCH, ConsumerGroup
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage


class ConsumerCoordination:
    """Reads the recorded groups, and knows the metadata that they are held against."""

    def __init__(self, groups: ConsumerGroups, image: MetadataImage) -> None:
        self._image = image
        self._images = 1
        """How many there were."""
        self._groups = groups
        self._seen: dict[str, int] = {}
        """Group -> which of them it was last held against. Soft state."""

    def set_image(self, image: MetadataImage) -> None:
        """The metadata from now on. Groups look at it with their next heartbeats."""
        self._image = image
        self._images += 1

    def heartbeat(
        self, draft: Draft, event: ConsumerHeartbeat, classic: ClassicGroup | None
    ) -> None:
        """See `ConsumerHeartbeat`. `classic`: the classic group of that id; one without members
        makes way. Kafka differs: members of both protocols may be in one group there, while it is
        upgraded or downgraded; here a classic group with members is none that one can join.

        `KafkaError`: what `check_heartbeat` and `HeartbeatTurn.take` say, GROUP_ID_NOT_FOUND,
        UNSUPPORTED_VERSION where the protocol is off."""
        if not draft.settings.consumer.is_on:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        check_heartbeat(event, draft.settings.consumer)
        group_id, joins = event.group_id, event.member_epoch == JOINING_EPOCH
        group = self._groups.get(group_id)
        if event.member_epoch < JOINING_EPOCH:
            if group is None:
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
            leave(draft, group, event, self._image)
            return
        if group is None:
            self._make_way(draft, group_id, classic, joins=joins)
            group = ConsumerGroup(group_id)
        is_old = self._seen.get(group_id) != self._images
        HeartbeatTurn(draft, group, event, self._image).take(topics_may_have_changed=is_old)
        self._seen[group_id] = self._images

    def _make_way(
        self, draft: Draft, group_id: str, classic: ClassicGroup | None, *, joins: bool
    ) -> None:
        if classic is None and not joins:
            message = f"Consumer group {group_id} not found."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        if classic is None:
            return
        if not joins or classic.state is not ClassicState.EMPTY:
            message = f"Group {group_id} is not a consumer group."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        draft.write_group(group_id, None)

    def describe(
        self, draft: Draft, event: DescribeConsumerGroups, classic: Container[str]
    ) -> None:
        """See `DescribeConsumerGroups`. `classic`: ids of groups of another kind."""
        default = draft.settings.consumer.assignors[0]
        told = []
        for group_id in event.group_ids:
            group = self._groups.get(group_id)
            if group is None:
                is_classic = group_id in classic
                told.append(not_described(group_id, is_of_another_kind=is_classic))
            else:
                told.append(described(group, self._image, default))
        draft.reply(event.token, ConsumerGroupsDescribed(tuple(told)))

    def time_out(self, draft: Draft, event: MemberSilent | RevocationTimedOut) -> None:
        """A timer has fired; its group may be gone."""
        group = self._groups.get(event.group_id)
        if group is not None:
            timed_out(draft, group, event, self._image)

    def load(self, draft: Draft) -> None:
        """All members have a fresh session from now on, and fresh time to give partitions up."""
        for group in self._groups.values():
            settings = settings_of(group.group_id, self._image, draft.settings.consumer)
            for member in group.members.values():
                keep_session(draft, group.group_id, member.member_id, settings.session_timeout_ms)
                watch_revocation(draft, group.group_id, member)

    def forget(self, group_id: str) -> None:
        """What is known of the group beside its records may be ahead of them, or it is gone."""
        self._seen.pop(group_id, None)
