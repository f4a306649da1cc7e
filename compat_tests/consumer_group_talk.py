"""A talk with consumer groups of the new protocol (KIP-848), the same with every broker: what is
asked, step by step, and what is answered, as far as brokers share it.

`consumer-groups.jsonl` is the real Kafka 4.4.0's part of it:

    python -m compat_tests.record_consumer_groups HOST:PORT
"""

from __future__ import annotations

import itertools
import re
import socket
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from compat_tests.golden import turns
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.messages import consumer_group_describe as describing
from kafkalite.protocol.messages import consumer_group_heartbeat as beating
from kafkalite.protocol.messages import (
    create_topics,
    delete_groups,
    describe_groups,
    find_coordinator,
    list_groups,
    offset_commit,
    offset_fetch,
)
from kafkalite.protocol.schema import Request, Response, Struct, schema_of
from kafkalite.types import Uuid

R = TypeVar("R", bound=Response)

TOPICS = {"t": 7, "u": 3}
"""Names, before a suffix of their own in each run, and partitions."""
NOT_READY = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""
REBALANCE_MS = 60_000
WRONG_PATTERNS = (
    *("(abc", "abc)", "[a", "a**", "*a", "a{1001}", "a{2,1}", "\\", "\\8", "\\pX", "(?P<n"),
    *("(?z)", "[b-a]", "[[:foo:]]", "(?i", "(?=a)", "a++", "[a-\\d]"),
)
ORDER_OF_HASHES = {"groups", "subscribed_topic_names", "topic_partitions"}
"""Lists whose order depends on ids of topics or on the names of this run."""


class Step(NamedTuple):
    """A step of the talk."""

    name: str
    answer: Any  # JSON.


class Connection:
    """Requests and answers, one after the other."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), 30)
        self._answers = self._socket.makefile("rb")

    def close(self) -> None:
        """Hang up."""
        self._answers.close()
        self._socket.close()

    def ask(
        self, request: Request, version: int, response: type[R], *, client_id: str = "talk"
    ) -> R:
        """The answer."""
        self.send(request, version, client_id=client_id)
        return self.hear(type(request), version, response)

    def send(self, request: Request, version: int, *, client_id: str = "talk") -> None:
        """Ask, and do not wait for the answer."""
        parts = request_frame(request, version, correlation_id=1, client_id=client_id)
        # Requests hold nothing but bytes.
        self._socket.sendall(b"".join(map(bytes, parts)))  # type: ignore[arg-type]

    def hear(self, request: type[Request], version: int, response: type[R]) -> R:
        """The next answer, to such a request."""
        answer = self._answers.read(int.from_bytes(self._answers.read(4)))
        _, begin = read_response_header(schema_of(request).api_key, version, answer)
        return decode(response, version, memoryview(answer), begin)


class Talker:
    """Asks as the members of one group do; everybody does at once what it is told."""

    def __init__(self, connection: Connection, version: int, group: str, names: Names) -> None:
        self._connection = connection
        self._version = version
        self._group = group
        self._names = names
        self._members: dict[str, dict[str, Any]] = {}

    def beat(self, member_id: str, **fields: Any) -> beating.ConsumerGroupHeartbeatResponse:
        """A heartbeat with these fields and no others."""
        request = beating.ConsumerGroupHeartbeatRequest(
            group_id=fields.pop("group_id", self._group), member_id=member_id, **fields
        )
        response = beating.ConsumerGroupHeartbeatResponse
        return self._connection.ask(request, self._version, response)

    def join(
        self,
        member_id: str,
        topics: Sequence[str] = ("t",),
        *,
        instance: str | None = None,
        assignor: str | None = None,
    ) -> beating.ConsumerGroupHeartbeatResponse:
        """A member's first heartbeat."""
        answer = self.beat(
            member_id,
            member_epoch=0,
            instance_id=instance,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[self._names.of_here(topic) for topic in topics],
            server_assignor=assignor,
            topic_partitions=[],
        )
        self._members[member_id] = {"instance": instance}
        self._told(member_id, answer)
        return answer

    def settle(self) -> Any:
        """Everybody goes on until the group is stable: the real Kafka may wait before it assigns.
        The group, as it is then."""
        for _ in turns(f"{self._group} to be stable"):
            self.go_on()
            told = self.describe()
            if told["groups"][0]["group_state"] == "Stable":
                return told
        raise AssertionError

    def go_on(self) -> None:
        """A heartbeat of everybody."""
        for member_id, member in self._members.items():
            answer = self.beat(
                member_id,
                member_epoch=member["epoch"],
                instance_id=member["instance"],
                topic_partitions=member["owned"],
            )
            self._told(member_id, answer)

    def leave(
        self, member_id: str, epoch: int = -1, instance: str | None = None
    ) -> beating.ConsumerGroupHeartbeatResponse:
        """A member's last heartbeat."""
        answer = self.beat(member_id, member_epoch=epoch, instance_id=instance)
        if not answer.error_code:
            self._members.pop(member_id)
        return answer

    def describe(self, *more: str) -> Any:
        """The group, and others."""
        request = describing.ConsumerGroupDescribeRequest(
            group_ids=[self._group, *more], include_authorized_operations=True
        )
        response = describing.ConsumerGroupDescribeResponse
        return self._names.shared(self._connection.ask(request, self._version, response))

    def _told(self, member_id: str, answer: beating.ConsumerGroupHeartbeatResponse) -> None:
        member = self._members[member_id]
        member["epoch"] = answer.member_epoch
        if answer.assignment is not None:
            member["owned"] = answer.assignment.topic_partitions


class Names:
    """What is another's in each broker and each run, and what stands for it."""

    def __init__(self) -> None:
        self._suffix = "-" + uuid.uuid4().hex[:8]  # noqa: TID251  # Another one in each run.
        self.ids: dict[Uuid, str] = {}

    def of_here(self, name: str) -> str:
        return name + self._suffix

    def shared(self, value: Any) -> Any:
        """As JSON. How often heartbeats are wanted is a setting."""
        if isinstance(value, Response | Struct):
            fields = schema_of(type(value)).fields
            shared = {f.name: self.shared(getattr(value, f.name)) for f in fields}
            if "heartbeat_interval_ms" in shared:
                shared["heartbeat_interval_ms"] = shared["heartbeat_interval_ms"] > 0
            for name in shared.keys() & ORDER_OF_HASHES:
                shared[name].sort(key=str)
            shared.pop("throttle_time_ms", None)
            return shared
        if isinstance(value, list):
            return [self.shared(item) for item in value]
        if isinstance(value, bytes):
            return self.ids.get(Uuid(value), value.hex())
        if isinstance(value, str):
            return re.sub(r"^[\w-]{22}$", "drawn", value.replace(self._suffix, ""))
        return value


def prepare(connection: Connection, names: Names, groups: Iterable[str]) -> None:
    """Make the topics, and wait until coordinators know them; there are no such groups then."""
    wanted = [
        create_topics.CreatableTopic(
            name=names.of_here(name), num_partitions=count, replication_factor=1
        )
        for name, count in TOPICS.items()
    ]
    request = create_topics.CreateTopicsRequest(topics=wanted, timeout_ms=5_000)
    made = connection.ask(request, 7, create_topics.CreateTopicsResponse)
    names.ids = {topic.topic_id: topic.name.rsplit("-", 1)[0] for topic in made.topics}
    find = find_coordinator.FindCoordinatorRequest(coordinator_keys=["g"])
    for _ in turns("a coordinator"):
        found = connection.ask(find, 4, find_coordinator.FindCoordinatorResponse)
        if not found.coordinators[0].error_code:
            break
    # The coordinators learn of the topics, and load their partitions, later than that is answered.
    for group in groups:
        probe = Talker(connection, 1, group, names)
        for number in itertools.count():
            answer = probe.join(f"probe-{number}", tuple(TOPICS))
            if not answer.error_code:
                probe.leave(f"probe-{number}")
                assigned = answer.assignment
                if assigned is not None and len(assigned.topic_partitions) == len(TOPICS):
                    break
            assert not answer.error_code or answer.error_code in NOT_READY, answer
        gone = delete_groups.DeleteGroupsRequest(groups_names=[group])
        connection.ask(gone, 2, delete_groups.DeleteGroupsResponse)


Steps = Iterator[tuple[str, Any]]


def _errors(talker: Talker, connection: Connection) -> Steps:
    def join(**fields: Any) -> Any:
        whole: dict[str, Any] = {
            "member_epoch": 0,
            "rebalance_timeout_ms": REBALANCE_MS,
            "subscribed_topic_names": [],
            "topic_partitions": [],
        }
        return talker.beat(fields.pop("member_id", "m"), **(whole | fields))

    one = [beating.TopicPartitions(topic_id=Uuid(bytes(16)), partitions=[0])]
    anonymous = join(member_id="")
    yield "no id", anonymous
    if anonymous.member_id:
        yield "it leaves", talker.beat(anonymous.member_id, member_epoch=-1)
        delete = delete_groups.DeleteGroupsRequest(groups_names=[talker._group])
        connection.ask(delete, 2, delete_groups.DeleteGroupsResponse)
    yield "no group", join(group_id="")
    yield "no instance", join(instance_id="")
    yield "no rack", join(rack_id="")
    yield "no rebalance timeout", join(rebalance_timeout_ms=-1)
    yield "owns something", join(topic_partitions=one)
    yield "says nothing of what it owns", join(topic_partitions=None)
    yield "says nothing of topics", join(subscribed_topic_names=None)
    yield "assignor", join(server_assignor="sticky")
    yield "leaves for a while without an instance", talker.beat("m", member_epoch=-2)
    yield "epoch -3", talker.beat("m", member_epoch=-3)
    yield "goes on, no group", talker.beat("m", member_epoch=1)
    yield "leaves, no group", talker.beat("m", member_epoch=-1)
    yield "joins", join()
    yield "goes on, unknown", talker.beat("x", member_epoch=1)
    yield "leaves, unknown", talker.beat("x", member_epoch=-1)
    yield "goes on, unknown instance", talker.beat("x", member_epoch=1, instance_id="i")
    yield "newer epoch", talker.beat("m", member_epoch=9)
    yield "older epoch", talker.beat("m", member_epoch=1)
    yield "its epoch", talker.beat("m", member_epoch=2)
    yield "described", talker.describe("no-such-group", "")


def _members(talker: Talker, connection: Connection) -> Steps:
    yield "first joins", talker.join("first")
    yield "first joins again", talker.join("first")
    yield "one", talker.settle()
    talker.join("second")
    for _ in turns("first to hear of second"):
        answer = talker.beat("first", member_epoch=2)
        if answer.assignment is not None:
            break
    talker._told("first", answer)
    yield "first gives up", answer
    yield "in the midst", _without_epochs(talker.describe(), of_members=True)
    yield "two", talker.settle()
    for member_id in ("third", "fourth"):
        talker.join(member_id, ("t", "u"))
        talker.settle()
    yield "four, who read different topics", talker.settle()
    listed = list_groups.ListGroupsRequest(types_filter=["Consumer"], states_filter=["stable"])
    response = connection.ask(listed, 5, list_groups.ListGroupsResponse)
    yield (
        "listed",
        [
            (each.protocol_type, each.group_state, each.group_type)
            for each in response.groups
            if each.group_id == talker._group
        ],
    )
    classic = describe_groups.DescribeGroupsRequest(groups=[talker._group])
    yield "described as classic", connection.ask(classic, 6, describe_groups.DescribeGroupsResponse)
    yield "second leaves", talker.leave("second")
    yield "three", talker.settle()
    delete = delete_groups.DeleteGroupsRequest(groups_names=[talker._group])
    yield "deleted in use", connection.ask(delete, 2, delete_groups.DeleteGroupsResponse)
    for member_id in ("first", "third", "fourth"):
        yield f"{member_id} leaves", talker.leave(member_id)
    yield "empty", _without_epochs(talker.describe())
    yield "deleted", connection.ask(delete, 2, delete_groups.DeleteGroupsResponse)
    yield "gone", talker.describe()


def _without_epochs(told: Any, *, of_members: bool = False) -> Any:
    """Members that leave before or after an assignment give one epoch more or less; so do patterns
    that are resolved before or after."""
    for group in told["groups"]:
        del group["group_epoch"], group["assignment_epoch"]
        for member in group["members"] if of_members else ():
            del member["member_epoch"]
    return told


def _statics(talker: Talker, connection: Connection) -> Steps:
    talker.join("first", instance="one")
    yield "alone", talker.settle()
    yield (
        "taken",
        talker.beat(
            "second",
            member_epoch=0,
            instance_id="one",
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[],
            topic_partitions=[],
        ),
    )
    yield "leaves for a while", talker.leave("first", -2, "one")
    yield "away", talker.describe()
    yield "is back as second", talker.join("second", instance="one")
    yield "back", talker.settle()
    yield "first is fenced", talker.beat("first", member_epoch=2, instance_id="one")
    yield "first cannot leave", talker.beat("first", member_epoch=-1, instance_id="one")
    yield "leaves", talker.leave("second", -1, "one")


def _ranges(talker: Talker, connection: Connection) -> Steps:
    for member_id in ("b", "a", "c"):
        talker.join(member_id, ("t", "u"), assignor="range")
    yield "three", talker.settle()
    talker.join("d", ("u",), instance="z", assignor="range")
    yield "four, who read different topics", talker.settle()


def _offsets(talker: Talker, connection: Connection) -> Steps:
    talker.join("first")
    talker.settle()
    yield from commits(talker, connection, [("first", e) for e in (-1, 0, 1, 2, 3)])
    yield from commits(talker, connection, [("", -1), ("x", 2)])
    yield from _fetches(talker, connection, [(None, -1), ("first", 2), ("first", 3), ("x", 2)])
    talker.leave("first")
    for name, answer in commits(talker, connection, [("", -1), ("x", 2)]):
        yield f"empty, {name}", answer


def commits(talker: Talker, connection: Connection, asked: Sequence[tuple[str, int]]) -> Steps:
    for member_id, epoch in asked:
        partition = offset_commit.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=5
        )
        topic = offset_commit.OffsetCommitRequestTopic(
            name=talker._names.of_here("t"), partitions=[partition]
        )
        request = offset_commit.OffsetCommitRequest(
            group_id=talker._group,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            topics=[topic],
        )
        for version in (8, 9):
            answer = connection.ask(request, version, offset_commit.OffsetCommitResponse)
            yield f"commit v{version} of {member_id!r} in {epoch}", answer


def _fetches(
    talker: Talker, connection: Connection, asked: Sequence[tuple[str | None, int]]
) -> Steps:
    for member_id, epoch in asked:
        group = offset_fetch.OffsetFetchRequestGroup(
            group_id=talker._group, member_id=member_id, member_epoch=epoch, topics=None
        )
        request = offset_fetch.OffsetFetchRequest(groups=[group])
        answer = connection.ask(request, 9, offset_fetch.OffsetFetchResponse)
        yield f"fetch of {member_id!r} in {epoch}", answer


def _patterns(talker: Talker, connection: Connection) -> Steps:
    """Version 0 has none."""
    if not talker._version:
        return
    for wrong in WRONG_PATTERNS:
        yield (
            f"wrong {wrong}",
            talker.beat(
                "m",
                member_epoch=0,
                rebalance_timeout_ms=REBALANCE_MS,
                subscribed_topic_regex=wrong,
                topic_partitions=[],
            ),
        )
    pattern = talker._names.of_here("[tu]").replace("-", "[-]")
    yield "described before", _pattern_settled(talker, pattern, {"t", "u"})
    yield "described after", _pattern_settled(talker, pattern.replace("[tu]", "t"), {"t"})
    yield "leaves", talker.leave("m")


def _pattern_settled(talker: Talker, pattern: str, topics: set[str]) -> Any:
    """The group, when its one member has these: what patterns match is found out in time."""
    epoch = talker._members.get("m", {}).get("epoch", 0)
    answer = talker.beat(
        "m",
        member_epoch=epoch,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=[],
        subscribed_topic_regex=pattern,
        topic_partitions=talker._members.get("m", {}).get("owned", []),
    )
    talker._members.setdefault("m", {"instance": None})
    talker._told("m", answer)
    for _ in turns("topics of a pattern"):
        told = talker.settle()
        (member,) = told["groups"][0]["members"]
        member["subscribed_topic_regex"] = "drawn"
        parts = member["assignment"]["topic_partitions"]
        if {part["topic_name"] for part in parts} == topics:
            return _without_epochs(told, of_members=True)
    raise AssertionError


PARTS = (_errors, _members, _statics, _ranges, _offsets, _patterns)


def talk(address: str, version: int) -> Iterator[Step]:
    """The steps, with that version of both APIs."""
    names, connection = Names(), Connection(address)
    try:
        groups = {names.of_here(part.__name__.strip("_")): part for part in PARTS}
        prepare(connection, names, groups)
        for group, part in groups.items():
            talker = Talker(connection, version, group, names)
            for name, answer in part(talker, connection):
                told = names.shared(answer) if isinstance(answer, Response) else answer
                yield Step(f"v{version} {part.__name__.strip('_')}: {name}", told)
    finally:
        connection.close()
