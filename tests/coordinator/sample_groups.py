"""A coordinator with a log, a clock and timers, and members who know what they were told."""

from __future__ import annotations

from collections.abc import Hashable

from kafkalite.coordinator.groups.administration_events import (
    DescribedGroup,
    DescribeGroups,
    GroupsDescribed,
)
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    Heartbeat,
    HeartbeatSeen,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    Loaded,
    MemberAssignment,
    Synced,
    SyncGroup,
)
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.draft import GroupOutcome
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import (
    Record,
    TransactionEnded,
    decode_record,
    encode_record,
)
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    FetchedOffset,
    FetchOffsets,
    OffsetsFetched,
    OffsetToCommit,
)
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import CancelTimer, SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Offset, TimestampMs

RANGE = GroupProtocol("range", b"range's")
STICKY = GroupProtocol("sticky", b"sticky's")
GROUP = "g"
START = 1_000_000


def subscription(*topics: str) -> bytes:
    """What a consumer says of itself, in version 0."""
    names = b"".join(len(t).to_bytes(2) + t.encode() for t in topics)
    return b"\0\0" + len(topics).to_bytes(4) + names + b"\xff\xff\xff\xff"


class Stage:
    """Carries out what a coordinator answers, as a driver does."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.now = START
        self.log: list[Record | TransactionEnded] = []
        self.replies: dict[Hashable, object] = {}
        self.timers: dict[Hashable, SetTimer[Event]] = {}
        self.core = GroupCoordinator(self.settings)
        self.uuids = 0
        self.tokens = 0

    def feed(self, event: Event) -> GroupOutcome:
        """Decide, append, apply, and keep what follows. `KafkaError` as the core raises it."""
        outcome = self.core.decide(event, TimestampMs(self.now))
        for record in outcome.records:
            self.append(record)
        for reply in outcome.replies:
            assert reply.token not in self.replies, "answered twice"
            self.replies[reply.token] = reply.body
        self._set_timers(outcome)
        return outcome

    def lose(self, event: Event, error: KafkaError) -> GroupOutcome:
        """The log does not take what is decided on `event`. What the core answers to that."""
        now = TimestampMs(self.now)
        outcome = self.core.decide(event, now)
        assert outcome.records
        self._set_timers(outcome)
        settled = self.core.refused(outcome.records, error, now)
        assert not settled.records
        self._set_timers(settled)
        return settled

    def _set_timers(self, outcome: GroupOutcome) -> None:
        for timer in outcome.timers:
            self.timers.pop(timer.key, None)
            if not isinstance(timer, CancelTimer):
                self.timers[timer.key] = timer

    def append(self, record: Record | TransactionEnded) -> None:
        """Into the log, as bytes that are read again, and into the core."""
        if isinstance(record, Record):
            key, value = encode_record(record)
            record = decode_record(key, value, record.producer_id)
        self.log.append(record)
        self.core.apply(record)

    def advance(self, ms: int) -> None:
        """Time passes; timers fire when they are due."""
        end = self.now + ms
        while True:
            due = [timer for timer in self.timers.values() if timer.at_ms <= end]
            if not due:
                break
            first = min(due, key=lambda timer: timer.at_ms)
            del self.timers[first.key]
            self.now = max(self.now, first.at_ms)
            self.feed(first.event)
        self.now = end

    def reload(self) -> None:
        """A new core reads the log; who waited is told to look elsewhere, by the driver."""
        self.core = GroupCoordinator(self.settings)
        self.timers.clear()
        for record in self.log:
            self.core.apply(record)
        self.feed(Loaded())

    def token(self) -> int:
        self.tokens += 1
        return self.tokens

    def join_event(
        self,
        member_id: str = "",
        *protocols: GroupProtocol,
        instance: str | None = None,
        type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int | None = 60_000,
        first: bool = False,
        skip: bool = True,
        group: str = GROUP,
        client: str = "c",
    ) -> JoinGroup:
        """`first`: an id has to be known before, as from version 4."""
        self.uuids += 1
        return JoinGroup(
            self.token(),
            group,
            member_id,
            instance,
            type,
            protocols or (RANGE,),
            session_ms,
            rebalance_ms,
            client,
            "/127.0.0.1",
            str(self.uuids),
            requires_known_member_id=first,
            supports_skipping_assignment=skip,
        )

    def ask(self, event: Event) -> object:
        """The reply, or None while it waits."""
        self.feed(event)
        return self.replies.get(event.token)

    def join(self, event: JoinGroup) -> Joined:
        """The answer to a join that does not wait."""
        reply = self.ask(event)
        assert isinstance(reply, Joined), reply
        return reply

    def joined(self, event: JoinGroup) -> Joined:
        """The answer to a join that waited."""
        reply = self.replies[event.token]
        assert isinstance(reply, Joined)
        return reply

    def sync_event(
        self,
        member_id: str,
        generation: int,
        *,
        assignments: dict[str, bytes] | None = None,
        instance: str | None = None,
        type: str | None = None,
        protocol: str | None = None,
    ) -> SyncGroup:
        given = tuple(MemberAssignment(*pair) for pair in (assignments or {}).items())
        token = self.token()
        return SyncGroup(token, GROUP, generation, member_id, instance, type, protocol, given)

    def sync(self, event: SyncGroup) -> Synced:
        reply = self.ask(event)
        assert isinstance(reply, Synced), reply
        return reply

    def heartbeat(
        self, member_id: str, generation: int, instance: str | None = None, group: str = GROUP
    ) -> ErrorCode:
        reply = self.ask(Heartbeat(self.token(), group, generation, member_id, instance))
        assert isinstance(reply, HeartbeatSeen)
        return reply.code

    def leave(self, *member_ids: str) -> object:
        members = tuple(LeavingMember(id) for id in member_ids)
        return self.ask(LeaveGroup(self.token(), GROUP, members))

    def commit_event(
        self, *offsets: OffsetToCommit, member_id: str = "", generation: int = -1
    ) -> CommitOffsets:
        return CommitOffsets(self.token(), GROUP, generation, member_id, None, offsets)

    def commit(self, topic: str, offset: int, *, member_id: str = "", generation: int = -1) -> None:
        """To partition 0."""
        kept = OffsetToCommit(topic, 0, Offset(offset))
        self.feed(self.commit_event(kept, member_id=member_id, generation=generation))

    def refused(self, event: Event) -> ErrorCode:
        """Why the event is refused as a whole."""
        try:
            self.feed(event)
        except KafkaError as error:
            return error.code
        raise AssertionError("not refused")

    def fetched(self, group: str = GROUP) -> dict[str, int]:
        """All committed offsets, by topic and partition as Kafka's tools print them."""
        return {f"{o.topic}-{o.partition}": o.offset for o in self.fetch(group)}

    def fetch(self, group: str = GROUP) -> tuple[FetchedOffset, ...]:
        reply = self.ask(FetchOffsets(self.token(), group, None))
        assert isinstance(reply, OffsetsFetched)
        return reply.offsets

    def describe(self, group: str = GROUP) -> DescribedGroup:
        reply = self.ask(DescribeGroups(self.token(), (group,)))
        assert isinstance(reply, GroupsDescribed)
        return reply.groups[0]

    def stable(self, *clients: str, type: str = "consumer", metadata: bytes = b"") -> list[str]:
        """A group of these in the generation that they have then; ids in their order, the leader's
        first. The group is new."""
        protocol = GroupProtocol("range", metadata)
        events = [self.join_event("", protocol, client=c, type=type) for c in clients]
        for event in events:
            self.feed(event)
        leader = self.joined(events[0])
        if len(clients) > 1:
            # The first one was alone in its generation until the others came.
            again = self.join_event(leader.member_id, protocol, client=clients[0], type=type)
            self.feed(again)
            leader = self.joined(again)
        ids = [leader.member_id, *(self.joined(event).member_id for event in events[1:])]
        given = {id: b"for " + id.encode() for id in ids}
        self.sync(self.sync_event(ids[0], leader.generation, assignments=given))
        for id in ids[1:]:
            self.sync(self.sync_event(id, leader.generation))
        return ids

    @property
    def generation(self) -> int:
        group = self.core.group(GROUP)
        assert group is not None
        return group.generation

    @property
    def state(self) -> str:
        return self.describe().state
