"""Members that are out: they leave, fall silent, or do not give up what they are to give up.

Source: Kafka's `GroupMetadataManager.consumerGroupLeave` and `consumerGroupFenceMember`.
"""

from __future__ import annotations

from dataclasses import replace

from kafkalite.coordinator.groups.consumer.events import (
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
    MemberState,
    names_of_all,
)
from kafkalite.coordinator.groups.consumer.targets import metadata_hash
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs


def session_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of a member's session timer."""
    return ("consumer session", group_id, member_id)


def revocation_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of the timer that ends the wait for a member to give partitions up."""
    return ("revocation", group_id, member_id)


def keep_session(draft: Draft, group_id: str, member_id: str, timeout_ms: int) -> None:
    """A member is alive: it has its session timeout from now."""
    draft.set_timer(
        session_timer(group_id, member_id),
        timeout_ms,
        MemberSilent(group_id, member_id),
    )


def watch_revocation(draft: Draft, group_id: str, member: Member) -> None:
    """Give the member its rebalance timeout, if there is something that it is to give up."""
    key = revocation_timer(group_id, member.member_id)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        event = RevocationTimedOut(group_id, member.member_id, member.epoch)
        draft.set_timer(key, member.rebalance_timeout_ms, event)
    else:
        draft.cancel_timer(key)


def leave(
    draft: Draft, group: ConsumerGroup, event: ConsumerHeartbeat, image: MetadataImage
) -> None:
    """A member goes; a static one may say that it will be back."""
    if event.instance_id is None:
        member = group.member(event.member_id)
    else:
        member = known_static_member(group, event.instance_id, event.member_id)
    if event.instance_id is not None and event.member_epoch == STATIC_LEAVING_EPOCH:
        away = replace(member, epoch=STATIC_LEAVING_EPOCH, revoking=NOTHING)
        draft.write(current_record(group.group_id, away))
    else:
        remove(draft, group, member, image)
    draft.reply(event.token, ConsumerHeartbeatSeen(event.member_id, event.member_epoch))


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


def remove(draft: Draft, group: ConsumerGroup, member: Member, image: MetadataImage) -> None:
    """A member is out; what it had is free. The group's epoch rises, and the next heartbeat of
    another member makes the new assignment."""
    group_id = group.group_id
    draft.write(*removal_records(group_id, member.member_id))
    left = [each for each in group.members.values() if each is not member]
    if member.regex in group.regexes and all(each.regex != member.regex for each in left):
        draft.write(regex_record(group_id, member.regex, None))
    names = names_of_all(left, group.regexes)
    epoch = group.epoch + 1
    draft.write(epoch_record(group_id, epoch, metadata_hash(names, image)))
    if not left:
        draft.write(assignment_epoch_record(group_id, epoch, TimestampMs(0)))
    draft.cancel_timer(session_timer(group_id, member.member_id))
    draft.cancel_timer(revocation_timer(group_id, member.member_id))


def timed_out(
    draft: Draft,
    group: ConsumerGroup,
    event: MemberSilent | RevocationTimedOut,
    image: MetadataImage,
) -> None:
    """A timer has fired; its member may be gone, or have moved on since."""
    member = group.members.get(event.member_id)
    if member is None:
        return
    if isinstance(event, RevocationTimedOut) and member.epoch != event.member_epoch:
        return
    remove(draft, group, member, image)
