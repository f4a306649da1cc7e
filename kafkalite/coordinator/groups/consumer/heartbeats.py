"""ConsumerGroupHeartbeat: everything that a member does but leave.

A heartbeat that changes nothing writes no record. Source: Kafka's
`GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.departures import known_static_member
from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatSeen
from kafkalite.coordinator.groups.consumer.reconciliation import Reported
from kafkalite.coordinator.groups.consumer.state import (
    JOINING_EPOCH,
    NOTHING,
    STATIC_LEAVING_EPOCH,
    ConsumerGroup,
    Member,
)
from kafkalite.coordinator.groups.consumer.timers import keep_session
from kafkalite.coordinator.groups.consumer.turn import Turn
from kafkalite.errors import ErrorCode, KafkaError

_NOTHING = (-1, None, None, None, None, None)
"""Told of itself by a member that has told all before."""


def heartbeat(turn: Turn, event: ConsumerHeartbeat) -> None:
    """Decide. `KafkaError`: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
    FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION."""
    member_id = event.member_id or event.new_member_id
    turn.check_room(member_id, event.instance_id)
    if event.instance_id is None:
        before = _dynamic_member(turn.group, event, member_id)
    else:
        before = _static_member(turn, event, member_id, event.instance_id)
    member = _updated(before, event)
    turn.say(before, member)
    turn.assign()
    reached = turn.reconcile(member, event.owned)
    keep_session(turn.draft, event.group_id, member_id, turn.settings.session_timeout_ms)
    _answer(turn, event, before, reached)


# Who sends it.


def _dynamic_member(group: ConsumerGroup, event: ConsumerHeartbeat, member_id: str) -> Member:
    if event.member_epoch == JOINING_EPOCH and member_id not in group.members:
        return Member(member_id)
    member = group.member(member_id)
    _check_epoch(event, member)
    return member


def _static_member(
    turn: Turn, event: ConsumerHeartbeat, member_id: str, instance_id: str
) -> Member:
    group = turn.group
    if event.member_epoch != JOINING_EPOCH:
        member = known_static_member(group, instance_id, member_id)
        _check_epoch(event, member)
        return member
    old = group.static_member(instance_id)
    if old is None:
        return group.members.get(member_id, Member(member_id))
    if old.epoch != STATIC_LEAVING_EPOCH and old.classic is None:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group"
            f" because the instance id is owned by {old.member_id} member.",
        )
    return turn.replace(old, member_id)


def _check_epoch(event: ConsumerHeartbeat, member: Member) -> None:
    """A member that is one epoch behind has missed an answer, if it owns nothing that it must
    not."""
    told = event.member_epoch
    if told in (JOINING_EPOCH, member.epoch):
        return
    if told < member.epoch:
        missed = told == member.previous_epoch and _is_within(event.owned, member)
        if missed:
            return
    size = "greater" if told > member.epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {size} member epoch ({told}) than the one known by"
        f" the group coordinator ({member.epoch}). The member must abandon all its partitions"
        " and rejoin.",
    )


def _updated(member: Member, event: ConsumerHeartbeat) -> Member:
    """What the member says of itself now. What it leaves out is as before: nearly always all."""
    timeout = event.rebalance_timeout_ms
    told = (timeout, event.instance_id, event.rack_id, event.assignor, event.topics, event.regex)
    client = (event.client_id, event.client_host, None)
    if told == _NOTHING and client == (member.client_id, member.client_host, member.classic):
        return member
    return member._replace(
        instance_id=member.instance_id if event.instance_id is None else event.instance_id,
        rack_id=member.rack_id if event.rack_id is None else event.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        assignor=member.assignor if event.assignor is None else event.assignor,
        topics=member.topics if event.topics is None else tuple(sorted({*event.topics})),
        regex=member.regex if event.regex is None else event.regex,
        client_id=event.client_id,
        client_host=event.client_host,
        classic=None,
    )


def _answer(turn: Turn, event: ConsumerHeartbeat, before: Member, reached: Member) -> None:
    """What it has is told where that has changed, and to one who tells all of itself."""
    is_full = (
        event.rebalance_timeout_ms != -1
        and (event.topics is not None or event.regex is not None)
        and event.owned is not None
    )
    assigned = None
    is_joining = event.member_epoch == JOINING_EPOCH
    if is_joining or is_full or reached.assigned != before.assigned:
        assigned = {topic: tuple(epochs) for topic, epochs in reached.assigned.items()}
    interval_ms = turn.settings.heartbeat_interval_ms
    seen = ConsumerHeartbeatSeen(reached.member_id, reached.epoch, interval_ms, assigned)
    turn.draft.reply(event.token, seen)


def _is_within(reported: Reported | None, member: Member) -> bool:
    """Whether it owns nothing but what it is assigned."""
    return reported is not None and all(
        indexes <= member.assigned.get(topic, NOTHING).keys() for topic, indexes in reported.items()
    )
