"""A consumer group becomes a classic group: its last member that speaks the consumer protocol has
gone, or is replaced by a static one that does not (KIP-848).

The epoch becomes the generation, and members keep what they were to have.

Source: Kafka's `GroupMetadataManager.convertToClassicGroup` and `ClassicGroup.fromConsumerGroup`.
"""

from __future__ import annotations

from collections.abc import Collection

from kafkalite.coordinator.groups.classic.embedded import version_of, write_assignment
from kafkalite.coordinator.groups.classic.rebalance import keep_session, prepare
from kafkalite.coordinator.groups.classic.records import record_of
from kafkalite.coordinator.groups.classic.state import (
    CONSUMER_PROTOCOL_TYPE,
    ClassicGroup,
    GroupState,
)
from kafkalite.coordinator.groups.classic.state import Member as ClassicMember
from kafkalite.coordinator.groups.consumer.member_records import group_tombstones
from kafkalite.coordinator.groups.consumer.state import NOTHING, ConsumerGroup, Member
from kafkalite.coordinator.groups.consumer.timers import cancel_timers
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.coordinator.java_maps import timeline_order
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.metadata.image import MetadataImage


def may_downgrade(
    group: ConsumerGroup, gone: Collection[Member], left: int, settings: GroupSettings
) -> bool:
    """Whether the group is to be a classic one without those; `left`: how many it will have."""
    return (
        0 < left <= settings.max_size
        and settings.consumer.migration.allows_downgrade
        and group.all_are_classic_but(gone)
    )


def downgrade(
    draft: Draft,
    group: ConsumerGroup,
    image: MetadataImage,
    *,
    gone: Collection[Member],
    joining: Member | None = None,
    rebalances: bool,
) -> ClassicGroup:
    """Write it, and what it will be. `joining`: in the place of the one who is `gone`.
    `ProtocolError` for a subscription that cannot be read."""
    renamed = {old.member_id: joining.member_id for old in gone if joining is not None}
    classic = ClassicGroup(
        group.group_id,
        GroupState.STABLE,
        draft.now,
        generation=group.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
    )
    gone_ids = {member.member_id for member in gone}
    in_order = (group.members[id] for id in timeline_order(group.members, java_hash))
    for member in (*(each for each in in_order if each.member_id not in gone_ids), joining):
        if member is not None:
            classic.add(_member(member))
    classic.protocol = classic.select_protocol()
    classic.update_subscribed_topics()
    targets = {renamed.get(id, id): target for id, target in group.targets.items()}
    for each in classic.members.values():
        target = targets.get(each.member_id, NOTHING)
        topics = ((image.topics_by_id.get(id), indexes) for id, indexes in target.items())
        named = {topic.name: indexes for topic, indexes in topics if topic is not None}
        each.assignment = write_assignment(named, version_of(each.metadata(classic.protocol)))
    draft.write(*group_tombstones(group, renamed))
    draft.write_group(group.group_id, record_of(classic))
    for id in group.members:
        cancel_timers(draft, group.group_id, id)
    for each in classic.members.values():
        keep_session(draft, classic, each)
    if rebalances:
        prepare(draft, classic, "nobody speaks the consumer protocol any more")
    return classic


def _member(member: Member) -> ClassicMember:
    assert member.classic is not None, member
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        member.classic.protocols,
    )
