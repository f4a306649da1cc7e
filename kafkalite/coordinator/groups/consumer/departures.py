"""Members that are out: they leave, fall silent, or do not do in time what they are to do.

Source: Kafka's `GroupMetadataManager.consumerGroupLeave` and `consumerGroupFenceMembers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafkalite.coordinator.groups.classic.events import MemberDisconnected
from kafkalite.coordinator.groups.classic.state import ClassicGroup
from kafkalite.coordinator.groups.consumer.downgrade import downgrade, may_downgrade
from kafkalite.coordinator.groups.consumer.events import (
    ClassicMemberLate,
    ConsumerHeartbeat,
    ConsumerHeartbeatSeen,
    MemberSilent,
    RevocationTimedOut,
)
from kafkalite.coordinator.groups.consumer.member_records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    regex_record,
    removal_records,
)
from kafkalite.coordinator.groups.consumer.state import (
    NOTHING,
    STATIC_LEAVING_EPOCH,
    ConsumerGroup,
    Member,
    names_of_all,
)
from kafkalite.coordinator.groups.consumer.targets import metadata_hash
from kafkalite.coordinator.groups.consumer.timers import cancel_timers
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

MemberOut = MemberSilent | RevocationTimedOut | ClassicMemberLate | MemberDisconnected
"""What is told of members who do not say it themselves."""

_WHY: Mapping[type[MemberOut], str] = {
    MemberSilent: "was silent for its session timeout",
    RevocationTimedOut: "did not give partitions up in time",
    ClassicMemberLate: "did not join or sync in time",
    MemberDisconnected: "has lost its connection",
}
_UNKNOWN_EPOCH = 0
"""Of what a static member has while it is away."""


def leave(
    draft: Draft, group: ConsumerGroup, event: ConsumerHeartbeat, image: MetadataImage
) -> ClassicGroup | None:
    """A member goes; a static one may say that it will be back. See `send_away`."""
    if event.instance_id is None:
        member = group.member(event.member_id)
    else:
        member = known_static_member(group, event.instance_id, event.member_id)
    draft.reply(event.token, ConsumerHeartbeatSeen(event.member_id, event.member_epoch))
    if event.instance_id is None or event.member_epoch != STATIC_LEAVING_EPOCH:
        return send_away(draft, group, [member], image, f"left: {member.member_id}")
    away = member._replace(
        epoch=STATIC_LEAVING_EPOCH,
        revoking=NOTHING,
        assigned={
            topic: dict.fromkeys(epochs, _UNKNOWN_EPOCH)
            for topic, epochs in member.assigned.items()
        },
    )
    draft.write(current_record(group.group_id, away))
    return None


def known_static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> Member:
    """`KafkaError`: UNKNOWN_MEMBER_ID for an instance that is none, FENCED_INSTANCE_ID where
    another has its place."""
    member = group.static_member(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member"
            f" {member.member_id}.",
        )
    return member


def send_away(
    draft: Draft,
    group: ConsumerGroup,
    members: Sequence[Member],
    image: MetadataImage,
    reason: str,
) -> ClassicGroup | None:
    """Members are out. Where nobody is left who speaks the consumer protocol, the group is that
    classic one from now on.

    Kafka differs: where it cannot read what classic members said of themselves, the last one of the
    consumer protocol cannot leave. Here it can, and the group stays a consumer group."""
    if not members:
        return None
    draft.rebalance(group.group_id, reason)
    left = len(group.members) - len(members)
    if may_downgrade(group, members, left, draft.settings):
        try:
            return downgrade(draft, group, image, gone=members, rebalances=True)
        except ProtocolError:
            pass
    _fence(draft, group, members, image)
    return None


def _fence(
    draft: Draft, group: ConsumerGroup, members: Sequence[Member], image: MetadataImage
) -> None:
    """What they had is free. The group's epoch rises, and the next request of another member makes
    the new assignment."""
    group_id = group.group_id
    for member in members:
        draft.write(*removal_records(group_id, member.member_id))
    left = group.subscriptions - Counter(member.subscription for member in members)
    still_read = {each.regex for each in left}
    for regex in dict.fromkeys(member.regex for member in members):
        if regex in group.regexes and regex not in still_read:
            draft.write(regex_record(group_id, regex, None))
    names = names_of_all(left, group.regexes)
    epoch = group.epoch + 1
    draft.write(epoch_record(group_id, epoch, metadata_hash(names, image)))
    if not left:
        draft.write(assignment_epoch_record(group_id, epoch, TimestampMs(0)))
    for member in members:
        cancel_timers(draft, group_id, member.member_id)


def timed_out(
    draft: Draft,
    group: ConsumerGroup,
    event: MemberOut,
    image: MetadataImage,
) -> ClassicGroup | None:
    """A timer has fired; its member may be gone, or have moved on since. See `send_away`."""
    member = group.members.get(event.member_id)
    if member is None:
        return None
    if isinstance(event, RevocationTimedOut) and member.epoch != event.member_epoch:
        return None
    return send_away(draft, group, [member], image, f"{member.member_id} {_WHY[type(event)]}")
