"""Members of a consumer group that speak the classic protocol, while the group is on its way from
one to the other (KIP-848).

    JoinGroup    the member says what it reads and what it owns, and takes a step towards its target
                 assignment; answered at once, without a leader
    SyncGroup    it is told what it has now
    Heartbeat    it is told to join again when there is a step to take
    LeaveGroup   it goes

The generation that it is told is its member epoch. Source: Kafka's
`GroupMetadataManager.classicGroupJoinToConsumerGroup` and its neighbours.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.embedded import version_of, write_assignment
from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    Heartbeat,
    HeartbeatSeen,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    Left,
    LeftMember,
    Synced,
    SyncGroup,
)
from kafkalite.coordinator.groups.classic.membership import told
from kafkalite.coordinator.groups.classic.state import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from kafkalite.coordinator.groups.consumer.classic_joins import check_join, join, must_bring_id
from kafkalite.coordinator.groups.consumer.departures import known_static_member, send_away
from kafkalite.coordinator.groups.consumer.events import AwaitedRequest
from kafkalite.coordinator.groups.consumer.state import (
    NOTHING,
    ClassicUse,
    ConsumerGroup,
    Member,
    MemberState,
)
from kafkalite.coordinator.groups.consumer.timers import (
    await_request,
    keep_session,
    rejoin_timer,
    sync_timer,
)
from kafkalite.coordinator.groups.consumer.turn import Turn
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage


class ClassicMembers:
    """Of all consumer groups of one coordinator."""

    def __init__(self) -> None:
        self._rejoining: dict[str, frozenset[str]] = {}
        """Group -> members whose time to join again runs. Soft state."""

    def forget(self, group_id: str) -> None:
        """The group is gone, or is loaded anew."""
        self._rejoining.pop(group_id, None)

    # Joining.

    def join(self, turn: Turn, event: JoinGroup, image: MetadataImage) -> ClassicGroup | None:
        """Answered by `Joined`; the classic group that the group has become, if it has.
        `KafkaError` as `classic_joins.join`."""
        if must_bring_id(event):
            check_join(turn, event)
            answer = Joined(ErrorCode.MEMBER_ID_REQUIRED, event.new_member_id)
            turn.draft.reply(event.token, answer)
            return None
        joined = join(turn, event, image)
        self._joined(turn, event, joined.member, goes_on=joined.became is None)
        return joined.became

    def _joined(self, turn: Turn, event: JoinGroup, member: Member, *, goes_on: bool) -> None:
        draft, group_id = turn.draft, event.group_id
        waiting = self._rejoining.get(group_id, frozenset())
        self._rejoining[group_id] = waiting - {member.member_id}
        draft.cancel_timer(rejoin_timer(group_id, member.member_id))
        if goes_on:
            keep_session(draft, group_id, member.member_id, event.session_timeout_ms)
            await_request(draft, group_id, member, AwaitedRequest.SYNC)
        draft.reply(
            event.token,
            Joined(
                ErrorCode.NONE,
                member.member_id,
                member.epoch,
                CONSUMER_PROTOCOL_TYPE,
                event.protocols[0].name,
            ),
        )

    def _await_join(self, draft: Draft, group: ConsumerGroup, member: Member) -> None:
        """It has its rebalance timeout from when it was first told."""
        waiting = self._rejoining.get(group.group_id, frozenset()) & group.members.keys()
        if member.member_id not in waiting:
            await_request(draft, group.group_id, member, AwaitedRequest.JOIN)
        self._rejoining[group.group_id] = waiting | {member.member_id}

    # Between joins.

    def sync(
        self, draft: Draft, group: ConsumerGroup, event: SyncGroup, image: MetadataImage
    ) -> None:
        """Answered by `Synced`."""
        try:
            member, use = _classic_member(group, event.member_id, event.instance_id)
            _check_generation(member, event.generation)
            _check_protocol(use, event)
        except KafkaError as error:
            draft.reply(event.token, Synced(error.code))
            return
        may_step = member.state is not MemberState.UNREVOKED_PARTITIONS
        if group.assignment_epoch > member.epoch and may_step:
            self._await_join(draft, group, member)
            draft.reply(event.token, Synced(ErrorCode.REBALANCE_IN_PROGRESS))
            return
        draft.cancel_timer(sync_timer(group.group_id, member.member_id))
        keep_session(draft, group.group_id, member.member_id, use.session_timeout_ms)
        topics = ((image.topics_by_id.get(id), epochs) for id, epochs in member.assigned.items())
        named = {topic.name: tuple(epochs) for topic, epochs in topics if topic is not None}
        data = write_assignment(named, version_of(use.protocols[0].metadata))
        draft.reply(event.token, Synced(ErrorCode.NONE, event.protocol_type, event.protocol, data))

    def heartbeat(self, draft: Draft, group: ConsumerGroup, event: Heartbeat) -> None:
        """Answered by `HeartbeatSeen`."""
        try:
            member, use = _classic_member(group, event.member_id, event.instance_id)
            _check_generation(member, event.generation)
        except KafkaError as error:
            draft.reply(event.token, HeartbeatSeen(error.code))
            return
        keep_session(draft, group.group_id, member.member_id, use.session_timeout_ms)
        code = ErrorCode.NONE
        if _has_a_step_to_take(group, member):
            self._await_join(draft, group, member)
            code = ErrorCode.REBALANCE_IN_PROGRESS
        draft.reply(event.token, HeartbeatSeen(code))


def leave(
    draft: Draft, group: ConsumerGroup, event: LeaveGroup, image: MetadataImage
) -> ClassicGroup | None:
    """Answered by `Left`. Members of the consumer protocol may be sent away too. See
    `send_away`."""
    gone: dict[str, Member] = {}
    left, reasons = [], []
    for leaving in event.members:
        code = ErrorCode.NONE
        try:
            member = _leaving(group, leaving)
            gone[member.member_id] = member
            reasons.append(told(leaving))
        except KafkaError as error:
            code = error.code
        left.append(LeftMember(leaving.member_id, leaving.instance_id, code))
    draft.reply(event.token, Left(ErrorCode.NONE, tuple(left)))
    reason = "left: " + ", ".join(reasons)
    return send_away(draft, group, list(gone.values()), image, reason)


def _leaving(group: ConsumerGroup, leaving: LeavingMember) -> Member:
    if leaving.instance_id is None:
        return group.member(leaving.member_id)
    member_id = leaving.member_id
    if member_id == NO_MEMBER_ID:
        member_id = group.static_members.get(leaving.instance_id, NO_MEMBER_ID)
    return known_static_member(group, leaving.instance_id, member_id)


# Who asks.


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Member, ClassicUse]:
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = known_static_member(group, instance_id, member_id)
    if member.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    return member, member.classic


def _check_generation(member: Member, generation: int) -> None:
    if generation != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _check_protocol(use: ClassicUse, event: SyncGroup) -> None:
    is_ours = event.protocol_type in (None, CONSUMER_PROTOCOL_TYPE)
    if not is_ours or event.protocol not in (None, use.protocols[0].name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _has_a_step_to_take(group: ConsumerGroup, member: Member) -> bool:
    """It has something to give up, or what it waited for is free, or there is a new target."""
    if member.epoch < group.assignment_epoch:
        return True
    match member.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS:
            return not any(
                index not in member.assigned.get(topic, NOTHING)
                and (topic, index) in group.owner_epochs
                for topic, indexes in group.targets.get(member.member_id, NOTHING).items()
                for index in indexes
            )
        case _:
            return False
