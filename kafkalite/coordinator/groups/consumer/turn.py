"""What one request of a member makes of its consumer group, be it a heartbeat or a classic
JoinGroup.

    1. the member joins, or says what has changed; the group's epoch may rise
    2. a group whose epoch is above its assignment's gets a new target assignment
    3. the member takes a step towards its part of that

Records are written for what changes, in this order.

Kafka differs: what a regular expression stands for is found out after the heartbeat that brings it,
and assigned with the next one; of new topics it hears after 10 s or more. Here both are at once.

Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.coordinator.groups.assignors.subject import Partitions
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
    ConsumerGroup,
    Member,
    ResolvedRegex,
    names_of,
    names_of_all,
    recounted,
)
from kafkalite.coordinator.groups.consumer.targets import (
    make_targets,
    metadata_hash,
    preferred_assignor,
)
from kafkalite.coordinator.groups.consumer.timers import watch_revocation
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

MANY_MEMBERS = 100
"""Up to so many, the assignment interval is as it is set. Kafka differs: it is so for any number of
members, and 1 s by default."""
_LONGEST_MS = 1000
"""What a large group waits at most of its own accord: Kafka's default."""


class Turn:
    """The group as it is recorded, and what this request makes of it."""

    def __init__(
        self, draft: Draft, group: ConsumerGroup, image: MetadataImage, *, is_old: bool
    ) -> None:
        """`is_old`: topics may have changed since the group was last held against the metadata."""
        self.draft = draft
        self.group = group
        self.settings = settings_of(group.group_id, image, draft.settings.consumer)
        self.epoch = group.epoch
        self.subscription_changed = False
        """With this request."""
        self._is_old = is_old
        self._image = image
        self._said: Member | None = None
        """The member, if it is otherwise than recorded. A request must not cost the more the more
        members there are: only to assign are all gone through."""
        self._replaced: str | None = None
        """Who had its place until now."""
        self._made: Mapping[str, Partitions] | None = None
        """The new targets of all, if there are any."""
        self._regexes: Mapping[str, ResolvedRegex] = group.regexes
        self._subscriptions = group.subscriptions
        self._assignors = group.assignors
        self._assignment_epoch = group.assignment_epoch

    # Who sends it.

    def check_room(self, member_id: str, instance_id: str | None) -> None:
        """`KafkaError(GROUP_MAX_SIZE_REACHED)` for one more than may be in."""
        group, most = self.group, self.settings.max_size
        if len(group.members) < most or member_id in group.members:
            return
        if instance_id is None or instance_id not in group.static_members:
            raise KafkaError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {most} members.",
            )

    def replace(self, old: Member, member_id: str) -> Member:
        """A static member is back: it has what it had, and what it was to have."""
        group_id = self.group.group_id
        self._replaced = old.member_id
        new = self._said = old._replace(
            member_id=member_id, epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH
        )
        self.draft.write(
            *removal_records(group_id, old.member_id),
            member_record(group_id, new),
            target_record(group_id, member_id, self._target_of(member_id)),
            current_record(group_id, new),
        )
        return new

    def _known(self, member_id: str) -> Member | None:
        said = self._said
        if said is not None and said.member_id == member_id:
            return said
        return self.group.members.get(member_id)

    def _target_of(self, member_id: str) -> Partitions:
        if self._made is not None:
            return self._made.get(member_id, NOTHING)
        return self.group.targets.get(self._replaced or member_id, NOTHING)

    # What it means for the group.

    def say(self, before: Member, member: Member) -> None:
        """The member says that of itself from now on. `KafkaError(INVALID_REGULAR_EXPRESSION)`."""
        known = self._known(member.member_id)
        if known is member and not self._is_old:
            return  # Nothing, as with nearly every heartbeat.
        names_changed = member.topics != before.topics
        regex_changed = member.regex != before.regex
        self.subscription_changed = names_changed or regex_changed
        assignor_changes = self._assignor_changes(member)
        rises = self.subscription_changed or assignor_changes
        reason = self._reason(member, assignor_changes=assignor_changes)
        if known is None or member != before:
            self.draft.write(member_record(self.group.group_id, member))
            was = None if known is None else known.subscription
            self._subscriptions = recounted(self._subscriptions, was, member.subscription)
            self._said = member
        if regex_changed or self._is_old:
            rises |= self._resolve()
        if rises or self._is_old:
            self._look_at_topics(reason if rises else "")

    def _reason(self, member: Member, *, assignor_changes: bool) -> str:
        """Why the epoch rises, if it does for the member."""
        if member.member_id not in self.group.members:
            return f"{member.member_id} joins"
        if self.subscription_changed:
            return f"{member.member_id} reads other topics"
        if assignor_changes:
            return f"{member.member_id} asks for another assignor"
        return "other topics match a regular expression"

    def _assignor_changes(self, member: Member) -> bool:
        """Whether the group is assigned by another one from now on."""
        known = self._known(member.member_id)
        was = None if known is None else known.assignor
        if was == member.assignor:
            return False
        before = self._assignor
        self._assignors = recounted(self._assignors, was, member.assignor)
        return before != self._assignor

    @property
    def _assignor(self) -> str:
        return preferred_assignor(self._assignors, self.settings.assignors[0])

    def _resolve(self) -> bool:
        """What regular expressions stand for now; whether that has changed."""
        group_id = self.group.group_id
        wanted = dict.fromkeys(each.regex for each in self._subscriptions if each.regex)
        known = {} if self._is_old else self._regexes
        unknown = [regex for regex in wanted if regex not in known]
        found = resolve(unknown, self._image, TimestampMs(self.draft.now)) if unknown else {}
        resolved = {regex: known[regex] if regex in known else found[regex] for regex in wanted}
        changed = False
        for regex in [each for each in self._regexes if each not in resolved]:
            self.draft.write(regex_record(group_id, regex, None))
        for regex, new in resolved.items():
            old = self._regexes.get(regex)
            if old is None or old.topics != new.topics:
                self.draft.write(regex_record(group_id, regex, new))
                changed = True
        self._regexes = resolved
        return changed

    def _look_at_topics(self, reason: str) -> None:
        """The epoch rises for that reason, or if topics have changed."""
        group = self.group
        hashed = self._metadata_hash()
        if reason or hashed != group.metadata_hash:
            self.draft.rebalance(group.group_id, reason or "its topics have changed")
            self.epoch += 1
            self.draft.write(epoch_record(group.group_id, self.epoch, hashed))

    def _metadata_hash(self) -> int:
        """As recorded, where neither topics have changed nor who reads which."""
        group, read = self.group, self._subscriptions
        is_new = self._regexes != group.regexes or read.keys() != group.subscriptions.keys()
        if self._is_old or is_new:
            return metadata_hash(names_of_all(read, self._regexes), self._image)
        return group.metadata_hash

    def assign(self) -> None:
        """A new target assignment, if it is time for one."""
        if self.epoch > self._assignment_epoch and self._may_assign():
            self._assign()

    def _may_assign(self) -> bool:
        """Not too soon after the assignment before; in a large group not sooner than it has
        members, in ms, up to a second, for an assignment costs some 15 us for each."""
        made_at = self.group.assignment_timestamp
        interval_ms = self.settings.assignment_interval_ms
        said, members = self._said, self.group.members
        is_new = said is not None and said.member_id not in members and self._replaced is None
        count = len(members) + is_new
        if count > MANY_MEMBERS:
            interval_ms = max(interval_ms, min(count, _LONGEST_MS))
        return not made_at or not interval_ms or self.draft.now >= made_at + interval_ms

    def _assign(self) -> None:
        group = self.group
        group_id = group.group_id
        members, targets, said = dict(group.members), dict(group.targets), self._said
        if said is not None:
            if self._replaced is not None:
                del members[self._replaced]
                targets[said.member_id] = targets.pop(self._replaced, NOTHING)
            members[said.member_id] = said
        made = make_targets(group, members, self._regexes, targets, self._image, self._assignor)
        for member_id, target in made.items():
            if targets.get(member_id) != target:
                self.draft.write(target_record(group_id, member_id, target))
        now = TimestampMs(self.draft.now)
        self.draft.write(assignment_epoch_record(group_id, self.epoch, now))
        self._made = made
        self._assignment_epoch = self.epoch

    # What it means for the member.

    def reconcile(self, member: Member, reported: Reported | None) -> Member:
        """The member after its step. `reported`: what it says that it owns; None: nothing of
        that."""
        if not self.subscription_changed and member.is_reconciled_to(self._assignment_epoch):
            return member
        group = self.group
        found = [self._image.topics.get(name) for name in names_of(member, self._regexes)]
        way = Way(
            target=self._target_of(member.member_id),
            epoch=self._assignment_epoch,
            subscribed=frozenset(topic.id for topic in found if topic is not None),
            subscription_changed=self.subscription_changed,
            is_owned=lambda topic, index: (topic, index) in group.owner_epochs,
            reported=reported,
        )
        reached = reconcile(member, way)
        if reached != member:
            self.draft.write(current_record(group.group_id, reached))
            if member.classic is None:
                watch_revocation(self.draft, group.group_id, reached)
        return reached
