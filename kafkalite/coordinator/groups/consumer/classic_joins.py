"""A member that speaks the classic protocol joins a consumer group, or joins again: that is a
heartbeat which tells all.

Source: Kafka's `GroupMetadataManager.classicGroupJoinToConsumerGroup`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafkalite.coordinator.groups.classic.embedded import read_subscription
from kafkalite.coordinator.groups.classic.events import NO_MEMBER_ID, JoinGroup
from kafkalite.coordinator.groups.classic.state import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from kafkalite.coordinator.groups.consumer.departures import known_static_member
from kafkalite.coordinator.groups.consumer.downgrade import downgrade, may_downgrade
from kafkalite.coordinator.groups.consumer.state import ClassicUse, Member
from kafkalite.coordinator.groups.consumer.turn import Turn
from kafkalite.coordinator.groups.settings import MigrationPolicy
from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.protocol.messages.consumer_protocol import ConsumerProtocolSubscription


class ClassicJoin(NamedTuple):
    """What has come of it."""

    member: Member
    became: ClassicGroup | None
    """The group is that one from now on."""


def must_bring_id(event: JoinGroup) -> bool:
    """Whether the member is sent back once, with an id to join by."""
    is_new = event.member_id == NO_MEMBER_ID and event.instance_id is None
    return is_new and event.requires_known_member_id


def check_join(turn: Turn, event: JoinGroup) -> None:
    """`KafkaError`: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED."""
    if turn.draft.settings.consumer.migration is MigrationPolicy.DISABLED:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    turn.check_room(_member_id(event), event.instance_id)
    is_ours = event.protocol_type == CONSUMER_PROTOCOL_TYPE
    if not is_ours or not turn.group.supports(event.protocols):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def join(turn: Turn, event: JoinGroup, image: MetadataImage) -> ClassicJoin:
    """Decide. `KafkaError`: as `check_join`, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND."""
    check_join(turn, event)
    group, instance_id = turn.group, event.instance_id
    replaced = None if instance_id is None else group.static_member(instance_id)
    before = _before(turn, event, _member_id(event))
    subscription = _subscription(event)
    member = _updated(before, event, subscription)
    turn.say(before, member)
    owned = {topic.id: frozenset(indexes) for topic, indexes in _owned(subscription, image)}
    if replaced is None or not _downgrades(turn, replaced):
        turn.assign()
        return ClassicJoin(turn.reconcile(member, owned), None)
    rebalances = group.assignment_epoch < turn.epoch
    if not rebalances:
        member = turn.reconcile(member, owned)
    became = _downgraded(turn, image, replaced, member, rebalances=rebalances)
    return ClassicJoin(member, became)


def _member_id(event: JoinGroup) -> str:
    return event.new_member_id if event.member_id == NO_MEMBER_ID else event.member_id


def _before(turn: Turn, event: JoinGroup, member_id: str) -> Member:
    """The member as it is known, or one that is not yet."""
    group = turn.group
    known = group.members.get(member_id, Member(member_id))
    if event.instance_id is None:
        return known
    if event.member_id != NO_MEMBER_ID:
        return known_static_member(group, event.instance_id, member_id)
    old = group.static_member(event.instance_id)
    return known if old is None else turn.replace(old, member_id)


def _subscription(event: JoinGroup) -> ConsumerProtocolSubscription:
    try:
        return read_subscription(event.protocols[0].metadata)
    except ProtocolError as error:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from None


def _updated(
    member: Member, event: JoinGroup, subscription: ConsumerProtocolSubscription
) -> Member:
    timeout = event.rebalance_timeout_ms
    if timeout is None:
        timeout = event.session_timeout_ms
    return member._replace(
        instance_id=member.instance_id if event.instance_id is None else event.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        topics=tuple(sorted({*subscription.topics})),
        regex="",
        client_id=event.client_id,
        client_host=event.client_host,
        classic=ClassicUse(event.session_timeout_ms, event.protocols),
    )


def _owned(
    subscription: ConsumerProtocolSubscription, image: MetadataImage
) -> Iterator[tuple[TopicImage, list[int]]]:
    for owned in subscription.owned_partitions:
        topic = image.topics.get(owned.topic)
        if topic is not None:
            yield topic, owned.partitions


# The last one of the consumer protocol is replaced.


def _downgrades(turn: Turn, replaced: Member) -> bool:
    group = turn.group
    left = len(group.members)
    return replaced.classic is None and may_downgrade(group, [replaced], left, turn.draft.settings)


def _downgraded(
    turn: Turn, image: MetadataImage, replaced: Member, member: Member, *, rebalances: bool
) -> ClassicGroup:
    try:
        return downgrade(
            turn.draft,
            turn.group,
            image,
            gone=[replaced],
            joining=member,
            rebalances=rebalances,
        )
    except ProtocolError as error:
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot downgrade the classic group {turn.group.group_id}: {error}.",
        ) from None
