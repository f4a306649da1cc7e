"""ConsumerGroupHeartbeat: everything that a member does but leave.

    1. the member joins, or says what has changed; the group's epoch may rise
    2. a group whose epoch is above its assignment's gets a new target assignment
    3. the member takes a step towards its part of that

Records are written for what changes, in this order; a heartbeat that changes nothing writes none.

Kafka differs: what a regular expression stands for is found out after the heartbeat that brings it,
and assigned with the next one; of new topics it hears after 10 s or more. Here both are at once.

Source: Kafka's `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafkalite.coordinator.groups.assignors.subject import Partitions
from kafkalite.coordinator.groups.consumer.departures import (
    keep_session,
    known_static_member,
    watch_revocation,
)
from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatSeen
from kafkalite.coordinator.groups.consumer.group_settings import settings_of
from kafkalite.coordinator.groups.consumer.member_records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_record,
    regex_record,
    removal_records,
    target_record,
)
from kafkalite.coordinator.groups.consumer.patterns import resolve
from kafkalite.coordinator.groups.consumer.reconciliation import Reported, Way, reconcile
from kafkalite.coordinator.groups.consumer.state import (
    JOINING_EPOCH,
    NOTHING,
    STATIC_LEAVING_EPOCH,
    ConsumerGroup,
    Member,
    ResolvedRegex,
    names_of,
    names_of_all,
)
from kafkalite.coordinator.groups.consumer.targets import (
    make_targets,
    metadata_hash,
    preferred_assignor,
)
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

MANY_MEMBERS = 100
"""Up to so many, the assignment interval is as it is set. Kafka differs: it is so for any number of
members, and 1 s by default."""


class HeartbeatTurn:
    """One heartbeat: the group as it is recorded, and what this heartbeat makes of it."""

    def __init__(
        self, draft: Draft, group: ConsumerGroup, event: ConsumerHeartbeat, image: MetadataImage
    ) -> None:
        self._draft = draft
        self._group = group
        self._event = event
        self._image = image
        self._settings = settings_of(group.group_id, image, draft.settings.consumer)
        self._members: Mapping[str, Member] = group.members
        self._targets: Mapping[str, Partitions] = group.targets
        self._regexes: Mapping[str, ResolvedRegex] = group.regexes
        self._epoch = group.epoch
        self._assignment_epoch = group.assignment_epoch

    def take(self, *, topics_may_have_changed: bool) -> None:
        """Decide. `KafkaError`: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
        FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION.
        `topics_may_have_changed`: since the group was last held against the metadata."""
        event = self._event
        member_id = event.member_id or event.new_member_id
        self._check_room(member_id)
        if event.instance_id is None:
            before = self._dynamic_member(member_id)
        else:
            before = self._static_member(member_id, event.instance_id)
        member = self._updated(before)
        names_changed = member.topics != before.topics
        regex_changed = member.regex != before.regex
        rises = names_changed or regex_changed or self._assignor_changes(member)
        if member != before or member_id not in self._members:
            self._draft.write(member_record(event.group_id, member))
            self._members = {**self._members, member_id: member}
        if regex_changed or topics_may_have_changed:
            rises |= self._resolve()
        if rises or topics_may_have_changed:
            self._look_at_topics(rises=rises)
        if self._epoch > self._assignment_epoch and self._may_assign():
            self._assign()
        reached = self._reconciled(member, subscription_changed=names_changed or regex_changed)
        keep_session(self._draft, event.group_id, member_id, self._settings.session_timeout_ms)
        self._answer(before, reached)

    # Who sends it.

    def _check_room(self, member_id: str) -> None:
        group, most = self._group, self._settings.max_size
        instance_id = self._event.instance_id
        if len(group.members) < most or member_id in group.members:
            return
        if instance_id is None or instance_id not in group.static_members:
            raise KafkaError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {most} members.",
            )

    def _dynamic_member(self, member_id: str) -> Member:
        if self._event.member_epoch == JOINING_EPOCH and member_id not in self._group.members:
            return Member(member_id)
        member = self._group.member(member_id)
        self._check_epoch(member)
        return member

    def _static_member(self, member_id: str, instance_id: str) -> Member:
        if self._event.member_epoch != JOINING_EPOCH:
            member = known_static_member(self._group, instance_id, member_id)
            self._check_epoch(member)
            return member
        old = self._group.static_member(instance_id)
        if old is None:
            return self._group.members.get(member_id, Member(member_id))
        if old.epoch != STATIC_LEAVING_EPOCH:
            raise KafkaError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group"
                f" because the instance id is owned by {old.member_id} member.",
            )
        return self._replaced(old, member_id)

    def _replaced(self, old: Member, member_id: str) -> Member:
        """A static member is back: it has what it had, and what it was to have."""
        group_id = self._group.group_id
        new = replace(old, member_id=member_id, epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH)
        target = self._targets.get(old.member_id, NOTHING)
        self._draft.write(
            *removal_records(group_id, old.member_id),
            member_record(group_id, new),
            target_record(group_id, member_id, target),
            current_record(group_id, new),
        )
        members, targets = dict(self._members), dict(self._targets)
        members.pop(old.member_id, None)
        targets.pop(old.member_id, None)
        self._members = {**members, member_id: new}
        self._targets = {**targets, member_id: target}
        return new

    def _check_epoch(self, member: Member) -> None:
        """A member that is one epoch behind has missed an answer, if it owns nothing that it must
        not."""
        told = self._event.member_epoch
        if told in (JOINING_EPOCH, member.epoch):
            return
        if told < member.epoch:
            missed = told == member.previous_epoch and _is_within(self._event.owned, member)
            if missed:
                return
        size = "greater" if told > member.epoch else "smaller"
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {size} member epoch ({told}) than the one known by"
            f" the group coordinator ({member.epoch}). The member must abandon all its partitions"
            " and rejoin.",
        )

    def _updated(self, member: Member) -> Member:
        """What the member says of itself now. What it leaves out is as before."""
        event = self._event
        timeout = event.rebalance_timeout_ms
        return replace(
            member,
            instance_id=member.instance_id if event.instance_id is None else event.instance_id,
            rack_id=member.rack_id if event.rack_id is None else event.rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
            assignor=member.assignor if event.assignor is None else event.assignor,
            topics=member.topics if event.topics is None else tuple(sorted({*event.topics})),
            regex=member.regex if event.regex is None else event.regex,
            client_id=event.client_id,
            client_host=event.client_host,
        )

    # What it means for the group.

    def _assignor_changes(self, member: Member) -> bool:
        """Whether the group is assigned by another one from now on."""
        before = self._members.get(member.member_id)
        if (None if before is None else before.assignor) == member.assignor:
            return False
        default = self._settings.assignors[0]
        after = {**self._members, member.member_id: member}
        return preferred_assignor(self._members.values(), default) != preferred_assignor(
            after.values(), default
        )

    def _resolve(self) -> bool:
        """What regular expressions stand for now; whether that has changed."""
        group_id = self._group.group_id
        wanted = {member.regex: None for member in self._members.values() if member.regex}
        resolved = resolve(wanted, self._image, TimestampMs(self._draft.now)) if wanted else {}
        changed = False
        for regex in [each for each in self._regexes if each not in resolved]:
            self._draft.write(regex_record(group_id, regex, None))
        for regex, new in resolved.items():
            old = self._regexes.get(regex)
            if old is None or old.topics != new.topics:
                self._draft.write(regex_record(group_id, regex, new))
                changed = True
        self._regexes = resolved
        return changed

    def _look_at_topics(self, *, rises: bool) -> None:
        group = self._group
        hashed = metadata_hash(names_of_all(self._members.values(), self._regexes), self._image)
        if rises or hashed != group.metadata_hash:
            self._epoch += 1
            self._draft.write(epoch_record(group.group_id, self._epoch, hashed))

    def _may_assign(self) -> bool:
        """Not too soon after the assignment before; in a large group not sooner than it has
        members, in ms, for an assignment costs some 50 us for each."""
        made_at = self._group.assignment_timestamp
        interval_ms = self._settings.assignment_interval_ms
        if len(self._members) > MANY_MEMBERS:
            interval_ms = max(interval_ms, len(self._members))
        return not made_at or not interval_ms or self._draft.now >= made_at + interval_ms

    def _assign(self) -> None:
        group_id, default = self._group.group_id, self._settings.assignors[0]
        made = make_targets(
            self._group, self._members, self._regexes, self._targets, self._image, default
        )
        for member_id, target in made.items():
            if member_id not in self._targets or self._targets[member_id] != target:
                self._draft.write(target_record(group_id, member_id, target))
        now = TimestampMs(self._draft.now)
        self._draft.write(assignment_epoch_record(group_id, self._epoch, now))
        self._targets = made
        self._assignment_epoch = self._epoch

    # What it means for the member.

    def _reconciled(self, member: Member, *, subscription_changed: bool) -> Member:
        if not subscription_changed and member.is_reconciled_to(self._assignment_epoch):
            return member
        group = self._group
        found = [self._image.topics.get(name) for name in names_of(member, self._regexes)]
        way = Way(
            target=self._targets.get(member.member_id, NOTHING),
            epoch=self._assignment_epoch,
            subscribed=frozenset(topic.id for topic in found if topic is not None),
            subscription_changed=subscription_changed,
            is_owned=lambda topic, index: (topic, index) in group.owner_epochs,
            reported=self._event.owned,
        )
        reached = reconcile(member, way)
        if reached != member:
            self._draft.write(current_record(group.group_id, reached))
            watch_revocation(self._draft, group.group_id, reached)
        return reached

    def _answer(self, before: Member, reached: Member) -> None:
        """What it has is told where that has changed, and to one who tells all of itself."""
        event = self._event
        is_full = (
            event.rebalance_timeout_ms != -1
            and (event.topics is not None or event.regex is not None)
            and event.owned is not None
        )
        assigned = None
        is_joining = event.member_epoch == JOINING_EPOCH
        if is_joining or is_full or reached.assigned != before.assigned:
            assigned = {topic: tuple(epochs) for topic, epochs in reached.assigned.items()}
        interval_ms = self._settings.heartbeat_interval_ms
        seen = ConsumerHeartbeatSeen(reached.member_id, reached.epoch, interval_ms, assigned)
        self._draft.reply(event.token, seen)


def _is_within(reported: Reported | None, member: Member) -> bool:
    """Whether it owns nothing but what it is assigned."""
    return reported is not None and all(
        indexes <= member.assigned.get(topic, NOTHING).keys() for topic, indexes in reported.items()
    )
