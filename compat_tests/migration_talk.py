"""A talk with groups that pass from the classic protocol to the consumer protocol and back while
they are in use (KIP-848), the same with every broker.

`migrations.jsonl` is the real Kafka 4.4.0's part of it:

    python -m compat_tests.record_consumer_groups HOST:PORT
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat_tests.classic_member import Seat
from compat_tests.consumer_group_talk import (
    REBALANCE_MS,
    Connection,
    Names,
    Step,
    Talker,
    prepare,
)
from compat_tests.golden import turns
from kafkalite.coordinator.groups.classic.embedded import read_assignment, write_assignment
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages import (
    add_offsets_to_txn,
    end_txn,
    find_coordinator,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_fetch,
    sync_group,
    txn_offset_commit,
)
from kafkalite.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)

SESSION_MS = 300_000
"""Longer than another broker needs to take over the folder."""
SUBSCRIPTION = 3
"""Its version."""
CLASSIC = "classic"
Owned = dict[str, list[int]]


class Member(Seat):
    """A member that speaks the classic protocol."""

    def __init__(self, address: str, group: str, names: Names, instance: str | None = None) -> None:
        super().__init__(address, group, instance)
        self._names = names
        self.owned: Owned = {}

    def join(self, version: int = 9, *, again: bool = True, **fields: Any) -> Any:
        """Until it is in, if `again`; what is answered, without ids."""
        answer = self.ask_join(version, **fields)
        if again and answer.error_code == 79:
            answer = self.ask_join(version, **fields)
        if not answer.error_code:
            self.generation = answer.generation_id
        return self._told(answer)

    def ask_join(
        self, version: int, *, protocols: tuple[str, ...] = ("range",), type: str = "consumer"
    ) -> join_group.JoinGroupResponse:
        request = join_group.JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.id,
            group_instance_id=self._instance,
            protocol_type=type,
            protocols=[
                join_group.JoinGroupRequestProtocol(name=name, metadata=self._subscription())
                for name in protocols
            ],
        )
        answer = self._connection.ask(request, version, join_group.JoinGroupResponse)
        self.id = answer.member_id or self.id
        return answer

    def _subscription(self) -> bytes:
        message = ConsumerProtocolSubscription(
            topics=[self._names.of_here("t")],
            owned_partitions=[
                ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=partitions)
                for topic, partitions in self.owned.items()
            ],
            generation_id=self.generation,
        )
        return SUBSCRIPTION.to_bytes(2) + encode(message, SUBSCRIPTION)

    def _told(self, answer: join_group.JoinGroupResponse) -> Any:
        return {
            "error": answer.error_code,
            "has id": bool(answer.member_id),
            "is its own": answer.member_id == self.id,
            "type": answer.protocol_type,
            "protocol": answer.protocol_name,
            "leads": answer.leader == self.id,
            "leader": bool(answer.leader),
            "skips": answer.skip_assignment,
            "members": len(answer.members),
        }

    def sync(self, partitions: list[int] | None = None, **fields: Any) -> Any:
        """It assigns these to itself, if it leads."""
        given = []
        if partitions is not None:
            data = write_assignment({self._names.of_here("t"): partitions}, SUBSCRIPTION)
            given = [sync_group.SyncGroupRequestAssignment(member_id=self.id, assignment=data)]
        request = sync_group.SyncGroupRequest(
            group_id=self._group, assignments=given, **(self._says_to_sync() | fields)
        )
        answer = self._connection.ask(request, 5, sync_group.SyncGroupResponse)
        told: dict[str, Any] = {
            "error": answer.error_code,
            "type": answer.protocol_type,
            "protocol": answer.protocol_name,
        }
        if not answer.error_code:
            read = read_assignment(answer.assignment)
            self.owned = {each.topic: each.partitions for each in read.assigned_partitions}
            told["version"] = int.from_bytes(answer.assignment[:2])
            told["partitions"] = sorted(index for part in self.owned.values() for index in part)
        return told

    def leave(self, *member_ids: str) -> Any:
        """Itself, or others."""
        request = leave_group.LeaveGroupRequest(
            group_id=self._group,
            members=[leave_group.MemberIdentity(member_id=id) for id in member_ids or (self.id,)],
        )
        answer = self._connection.ask(request, 5, leave_group.LeaveGroupResponse)
        return [answer.error_code, [member.error_code for member in answer.members]]

    def commit(self, version: int, **fields: Any) -> Any:
        whole: dict[str, Any] = {
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.id,
            "group_instance_id": self._instance,
        }
        partition = offset_commit.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=5
        )
        topic = offset_commit.OffsetCommitRequestTopic(
            name=self._names.of_here("t"), partitions=[partition]
        )
        request = offset_commit.OffsetCommitRequest(
            group_id=self._group, topics=[topic], **(whole | fields)
        )
        answer = self._connection.ask(request, version, offset_commit.OffsetCommitResponse)
        return answer.topics[0].partitions[0].error_code

    def fetch(self, member_id: str | None, epoch: int) -> Any:
        asked = offset_fetch.OffsetFetchRequestGroup(
            group_id=self._group, member_id=member_id, member_epoch=epoch, topics=None
        )
        request = offset_fetch.OffsetFetchRequest(groups=[asked])
        answer = self._connection.ask(request, 9, offset_fetch.OffsetFetchResponse)
        (told,) = answer.groups
        offsets = [p.committed_offset for topic in told.topics for p in topic.partitions]
        return [told.error_code, offsets]

    def listed(self) -> Any:
        request = list_groups.ListGroupsRequest()
        answer = self._connection.ask(request, 5, list_groups.ListGroupsResponse)
        return [
            (each.protocol_type, each.group_type)
            for each in answer.groups
            if each.group_id == self._group
        ]


class Group:
    """One group, and all who have something to do with it."""

    def __init__(self, address: str, name: str, names: Names) -> None:
        self._address = address
        self._names = names
        self.name = names.of_here(name)
        self._connection = Connection(address)
        self.consumers = Talker(self._connection, 1, self.name, names)
        self._members: list[Member] = []

    def member(self, instance: str | None = None) -> Member:
        """One more that speaks the classic protocol."""
        member = Member(self._address, self.name, self._names, instance)
        self._members.append(member)
        return member

    def close(self) -> None:
        self._connection.close()
        for member in self._members:
            member.close()

    def first(self, instance: str | None = None) -> Member:
        """A classic group of one, who has all partitions."""
        member = self.member(instance)
        member.join()
        member.sync([0, 1, 2, 3, 4, 5, 6])
        return member

    def settle(self, *members: Member) -> Any:
        """All go on until the group is stable. Who has how many then, and who speaks what."""
        told: Any = None
        for _ in turns(f"{self.name} to be stable"):
            self.consumers.go_on()
            for member in members:
                if member.beat() == 27:
                    member.join()
                    member.sync()
            told = self.consumers.describe()["groups"][0]
            if told["group_state"] == "Stable":
                break
        return {
            "assignor": told["assignor_name"],
            "members": sorted(
                (
                    member["member_type"],
                    member["instance_id"],
                    member["subscribed_topic_names"],
                    sum(len(p["partitions"]) for p in member["assignment"]["topic_partitions"]),
                    member["assignment"] == member["target_assignment"],
                )
                for member in told["members"]
            ),
        }


Steps = Iterator[tuple[str, Any]]


def _upgrade(group: Group) -> Steps:
    classic = group.first()
    yield "committed", classic.commit(9)
    yield "listed as", classic.listed()
    upgraded = group.consumers.join("m")
    yield "the first of the new protocol", [upgraded.error_code, upgraded.error_message]
    yield "listed after", classic.listed()
    yield "both", group.settle(classic)
    yield "the classic member is told", classic.beat()
    yield "it syncs once more", classic.sync()
    yield "commits", [classic.commit(version) for version in (2, 8, 9)]
    yield (
        "commits of another generation",
        [classic.commit(9, generation_id_or_member_epoch=epoch) for epoch in (1, 99, -1)],
    )
    yield "fetches", [classic.fetch(None, -1), classic.fetch(classic.id, classic.generation)]
    yield "fetches of another generation", classic.fetch(classic.id, 99)
    yield "fetches with an epoch and no id", [classic.fetch(id, 3) for id in (None, "")]
    yield "beats of another generation", classic.beat(generation_id=99)
    yield "beats of nobody", classic.beat(member_id="nobody")
    yield "beats of an instance", classic.beat(group_instance_id="i")
    yield "beats of the other protocol", classic.beat(member_id="m")
    yield "syncs of another generation", classic.sync(generation_id=99)
    yield "syncs of nobody", classic.sync(member_id="nobody")
    yield "syncs of the other protocol", classic.sync(member_id="m")
    yield "syncs with another type", classic.sync(protocol_type="connect")
    yield "syncs with another protocol", classic.sync(protocol_name="roundrobin")
    yield "syncs with none", classic.sync(protocol_type=None, protocol_name=None)


def _join(group: Group) -> Steps:
    classic = group.first()
    group.consumers.join("m")
    group.settle(classic)
    yield "who brings no id", group.member().join(again=False)
    yield "who brings no id in version 3", group.member().join(3)
    stranger = group.member()
    stranger.id = "made-up"
    yield "who brings an id of its own", stranger.join()
    yield "another type", group.member().join(type="connect")
    yield "another protocol", group.member().join(protocols=("roundrobin",))
    yield "another protocol, of one who is in", classic.join(protocols=("roundrobin",))
    yield "no protocol", group.member().join(protocols=())
    yield "one of two protocols", group.member().join(protocols=("sticky", "range"))
    yield "leaves", [classic.leave("made-up", "nobody"), classic.leave("m", "m")]
    yield "listed after", classic.listed()


def _downgrade(group: Group) -> Steps:
    classic = group.first()
    group.consumers.join("m")
    group.settle(classic)
    classic.commit(9)
    left = group.consumers.leave("m")
    yield "the last of the new protocol leaves", [left.error_code, left.member_epoch]
    yield "listed after", classic.listed()
    yield "a heartbeat", classic.beat()
    yield "what is known of it", classic.fetch(None, -1)
    yield "joins again", classic.join()
    yield "syncs", classic.sync([0, 1, 2, 3, 4, 5, 6])
    yield "a heartbeat then", classic.beat()


def _static(group: Group) -> Steps:
    classic = group.first("i")
    upgraded = group.consumers.join("m", instance="i")
    yield "takes the place of the classic one", [upgraded.error_code, upgraded.error_message]
    yield "the old one beats", classic.beat()
    yield "the old one syncs", classic.sync()
    yield "alone", group.settle()
    again = group.member("i")
    yield "a classic one takes it back", again.join()
    yield "listed after", again.listed()
    yield "it syncs", again.sync()
    yield "it beats", again.beat()
    gone = group.consumers.beat("m", member_epoch=2, instance_id="i")
    yield "the one before it", [gone.error_code, gone.error_message]


def _commits(group: Group) -> Steps:
    """Outside of transactions and in one, to a group of each kind."""
    nobody = group.member()
    producer = Producer(nobody, group)
    yield "of no group", producer.commits([("", -1), ("", 1), ("x", -1), ("x", 0)])
    classic = group.first()
    yield (
        "of a classic group",
        producer.commits(
            [(id, generation) for id in ("", "x", classic.id) for generation in (-1, 0, 1, 2)]
        ),
    )
    yield "of an instance", producer.commits([("", -1), (classic.id, 1)], instance="i")
    group.consumers.join("m")
    group.settle(classic)
    yield (
        "of a group of both",
        producer.commits(
            [(id, epoch) for id in ("", "x", "m", classic.id) for epoch in (-1, 0, 99)]
        ),
    )
    yield "of an instance, of both", producer.commits([("", -1), ("m", -1)], instance="i")
    classic.leave()
    yield (
        "of a consumer group",
        producer.commits([(id, epoch) for id in ("", "x", "m") for epoch in (-2, -1, 0, 99)]),
    )
    group.consumers.leave("m")
    yield (
        "of an empty one",
        producer.commits([(id, epoch) for id in ("", "x") for epoch in (-2, -1, 0, 1)]),
    )
    producer.abort()


class Producer:
    """One that has a transaction."""

    def __init__(self, member: Member, group: Group) -> None:
        self._member = member
        self._group = group
        self._connection = member._connection
        self._id = group.name
        ask = init_producer_id.InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=60_000
        )
        find = find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=[self._id])
        for _ in turns("a coordinator of transactions"):
            self._connection.ask(find, 4, find_coordinator.FindCoordinatorResponse)
            made = self._connection.ask(ask, 4, init_producer_id.InitProducerIdResponse)
            if not made.error_code:
                break
        self._producer_id, self._epoch = made.producer_id, made.producer_epoch
        add = add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=self._id,
            group_id=group.name,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
        )
        for _ in turns("the group to be added"):
            added = self._connection.ask(add, 3, add_offsets_to_txn.AddOffsetsToTxnResponse)
            if not added.error_code:
                break

    def commits(self, asked: list[tuple[str, int]], instance: str | None = None) -> Any:
        """Codes without a transaction, and in it."""
        told = []
        for member_id, epoch in asked:
            plain = self._member.commit(
                9,
                member_id=member_id,
                generation_id_or_member_epoch=epoch,
                group_instance_id=instance,
            )
            told.append([plain, self._commit(member_id, epoch, instance)])
        return told

    def _commit(self, member_id: str, epoch: int, instance: str | None) -> int:
        partition = txn_offset_commit.TxnOffsetCommitRequestPartition(committed_offset=5)
        topic = txn_offset_commit.TxnOffsetCommitRequestTopic(
            name=self._group._names.of_here("t"), partitions=[partition]
        )
        request = txn_offset_commit.TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=self._group.name,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            group_instance_id=instance,
            topics=[topic],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
        )
        answer = self._connection.ask(request, 3, txn_offset_commit.TxnOffsetCommitResponse)
        return answer.topics[0].partitions[0].error_code

    def abort(self) -> None:
        request = end_txn.EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
        )
        self._connection.ask(request, 3, end_txn.EndTxnResponse)


PARTS = (_upgrade, _join, _downgrade, _static, _commits)


def talk(address: str) -> Iterator[Step]:
    """The steps."""
    names, connection = Names(), Connection(address)
    try:
        groups = {part.__name__.strip("_"): part for part in PARTS}
        prepare(connection, names, [names.of_here(name) for name in groups])
    finally:
        connection.close()
    for name, part in groups.items():
        group = Group(address, name, names)
        try:
            for step, answer in part(group):
                yield Step(f"{name}: {step}", names.shared(answer))
        finally:
            group.close()
