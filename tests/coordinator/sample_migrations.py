"""Groups on their way from one protocol to the other: members that speak the classic one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafkalite.coordinator.groups.classic.embedded import read_assignment, write_assignment
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    Left,
    Synced,
)
from kafkalite.coordinator.groups.settings import (
    ConsumerSettings,
    GroupSettings,
    MigrationPolicy,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from tests.coordinator.sample_consumers import ConsumerStage
from tests.coordinator.sample_groups import GROUP

Owned = dict[str, tuple[int, ...]]
SESSION_MS = 20_000
REBALANCE_MS = 40_000


def subscription_bytes(
    topics: Sequence[str], owned: Mapping[str, Sequence[int]], rack: str | None = None
) -> bytes:
    """What a consumer of today says of itself, in version 3."""
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=list(indexes))
            for topic, indexes in owned.items()
        ],
        rack_id=rack,
    )
    return (3).to_bytes(2) + encode(message, 3)


def settings_with(policy: MigrationPolicy) -> GroupSettings:
    return GroupSettings(consumer=ConsumerSettings(migration=policy))


@dataclass
class Classic:
    """A client: what it was told, and what it owns."""

    member_id: str = ""
    generation: int = -1
    instance: str | None = None
    topics: tuple[str, ...] = ("t",)
    protocols: tuple[str, ...] = ("range",)
    owned: Owned = field(default_factory=dict)


class MixedStage(ConsumerStage):
    """Members of both protocols."""

    def __init__(self, settings: GroupSettings | None = None, **counts: int) -> None:
        super().__init__(settings, **counts)
        self.classics: dict[str, Classic] = {}

    def classic_event(self, name: str, *, first: bool = False) -> JoinGroup:
        client = self.classics.setdefault(name, Classic())
        metadata = subscription_bytes(client.topics, client.owned)
        event = self.join_event(
            client.member_id,
            *(GroupProtocol(protocol, metadata) for protocol in client.protocols),
            instance=client.instance,
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
            first=first,
            client=name,
        )
        return event._replace(new_member_id=f"id of {name}")

    def classic_join(self, name: str) -> Joined:
        """One that is answered at once."""
        return self.joined_as(name, self.join(self.classic_event(name)))

    def joined_as(self, name: str, answer: Joined) -> Joined:
        if answer.code is ErrorCode.NONE:
            client = self.classics[name]
            client.member_id, client.generation = answer.member_id, answer.generation
        return answer

    def classic_sync(self, name: str) -> Synced:
        client = self.classics[name]
        reply = self.sync(
            self.sync_event(client.member_id, client.generation, instance=client.instance)
        )
        self._synced(client, reply)
        return reply

    def _synced(self, client: Classic, reply: Synced) -> None:
        if reply.code is ErrorCode.NONE:
            read = read_assignment(reply.assignment)
            client.owned = {p.topic: tuple(p.partitions) for p in read.assigned_partitions}

    def classic_beat(self, name: str) -> ErrorCode:
        client = self.classics[name]
        return self.heartbeat(client.member_id, client.generation, client.instance)

    def classic_leave(self, *leaving: LeavingMember) -> Left:
        reply = self.ask(LeaveGroup(self.token(), GROUP, leaving))
        assert isinstance(reply, Left)
        return reply

    def assign(self, **parts: Owned) -> None:
        """A classic group of these in a generation of theirs; the first one leads. The group is
        new."""
        events = {name: self.classic_event(name) for name in parts}
        for event in events.values():
            self.feed(event)
        leader = next(iter(parts))
        self.joined_as(leader, self.joined(events[leader]))
        if len(parts) > 1:
            # It was alone in its generation until the others came.
            events[leader] = self.classic_event(leader)
            self.feed(events[leader])
        for name, event in events.items():
            self.joined_as(name, self.joined(event))
        given = {self.classics[name].member_id: write_assignment(parts[name], 3) for name in parts}
        for name in parts:
            client = self.classics[name]
            event_ = self.sync_event(
                client.member_id, client.generation, assignments=given, instance=client.instance
            )
            self._synced(client, self.sync(event_))

    def settle_all(self) -> None:
        """Everybody goes on until nothing changes any more."""
        for _ in range(12):
            before = len(self.log)
            told = [self.classic_beat(name) for name in self.classics]
            for name, code in zip(self.classics, told, strict=True):
                if code is ErrorCode.REBALANCE_IN_PROGRESS:
                    self.classic_join(name)
                    self.classic_sync(name)
            for member_id in self.consumers:
                self.go_on(member_id)
            if len(self.log) == before and set(told) <= {ErrorCode.NONE}:
                return
        raise AssertionError("they do not settle")

    def all_owned(self) -> dict[str, Owned]:
        """Who owns what, as the members know it."""
        classic = {name: client.owned for name, client in self.classics.items()}
        return classic | {id: consumer.owned for id, consumer in self.consumers.items()}

    def code_of(self, event: JoinGroup) -> ErrorCode:
        """Why a member may not join."""
        try:
            return self.join(event).code
        except KafkaError as error:
            return error.code


def mixed(**counts: int) -> MixedStage:
    """A group of two, `old` with the classic protocol and `new`, each with a half of topic t."""
    stage = MixedStage(None, **counts)
    stage.assign(old={"t": tuple(range(stage.counts["t"]))})
    stage.join_as("new")
    stage.settle_all()
    return stage
