"""`kafkalite groups`, on kafkalite and on the real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from kafka import KafkaConsumer

from compat_tests.cli.command_line import CommandLine, until
from compat_tests.consumer_group_talk import Connection
from compat_tests.golden import turns
from compat_tests.language_cases import is_foreign
from kafkalite.coordinator.groups.classic.embedded import write_assignment
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkalite.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.coordinator.sample_migrations import subscription_bytes

Row = dict[str, object]


@pytest.fixture
def group(kafkalite: CommandLine, topic: str) -> str:
    """Has read 2 and 4 of the 10 records in each of two partitions; is named as its topic."""
    kafkalite("topics", "create", f"{topic}:2", "--set", "retention.ms=-1")  # Its records are old.
    lines = "".join(
        f'{{"value": "v", "partition": {n % 2},'
        f' "timestamp": {1_700_000_000_000 + 1000 * (n // 2)}}}\n'
        for n in range(20)
    )
    kafkalite("produce", topic, "--format", "json", typed=lines.encode())
    kafkalite("groups", "reset", topic, "--topic", f"{topic}:0", "--to", "2", "--execute")
    kafkalite("groups", "reset", topic, "--topic", f"{topic}:1", "--to", "4", "--execute")
    return topic


def committed(kafkalite: CommandLine, group: str) -> list[object]:
    (document,) = kafkalite.json("groups", "describe", group)
    return [offset["committed_offset"] for offset in document["offsets"]]


def why(document: Row) -> str | None:
    """The reason of the group's last rebalance, which the real Kafka does not tell; taken out of
    the document."""
    last = document.pop("last_rebalance")
    if is_foreign():
        assert last is None
        return None
    assert isinstance(last, dict)
    assert str(last["at_ms"]).isdigit()
    return str(last["reason"])


@contextmanager
def member(bootstrap: str, group: str) -> Iterator[None]:
    """Somebody is in the group."""
    consumer = KafkaConsumer(
        group,
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id="reader",
        enable_auto_commit=False,
    )
    try:
        # It ends with the first records. One that ends amid a second join makes kafka-python
        # 3.0.12 miss what it was assigned.
        consumer.poll(timeout_ms=60_000)
        assert consumer.assignment()
        yield
    finally:
        consumer.close()


def test_groups_are_listed_with_their_lag(kafkalite: CommandLine, group: str) -> None:
    rows = {row["group"]: row for row in kafkalite.json("groups", "list")}
    assert rows[group] == {
        "group": group,
        "state": "Empty",
        "type": "classic",
        "member_count": 0,
        "lag": 14,
    }
    lines = [line.split() for line in kafkalite("groups", "list").splitlines()]
    assert lines[0] == ["GROUP", "STATE", "TYPE", "MEMBERS", "LAG"]
    assert [group, "Empty", "classic", "0", "14"] in lines


def test_a_group_with_a_member_is_described(
    kafkalite: CommandLine, group: str, bootstrap: str
) -> None:
    with member(bootstrap, group):
        (document,) = kafkalite.json("groups", "describe", group)
        table = kafkalite("groups", "describe", group)
    (reader,) = document.pop("members")
    reason = why(document)
    assert reason is None or reason.startswith(reader["member_id"])
    assert reader["client_id"] == "reader"
    assert reader["host"] == "127.0.0.1"
    assert reader["partitions"] == [{"topic": group, "partition": n} for n in (0, 1)]
    assert document == {
        "group": group,
        "state": "Stable",
        "type": "classic",
        "protocol": "range",
        "lag": 14,
        "offsets": [
            {
                "topic": group,
                "partition": number,
                "committed_offset": offset,
                "end_offset": 10,
                "lag": 10 - offset,
                "member_id": reader["member_id"],
            }
            for number, offset in ((0, 2), (1, 4))
        ],
    }
    head, *told, empty, columns, first, second = table.splitlines()
    assert (head, empty) == (f"{group}  Stable, 1 member, assigned by range, lag 14", "")
    assert [line.partition("+00:00: ")[2] for line in told] == [reason] * (not is_foreign())
    assert columns.split() == ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "HOST"]
    assert first.split() == [group, "0", "2", "10", "8", "reader", "127.0.0.1"]
    assert second.split() == [group, "1", "4", "10", "6", "reader", "127.0.0.1"]


def test_a_group_of_the_newer_protocol_is_described(
    kafkalite: CommandLine, group: str, bootstrap: str
) -> None:
    connection = Connection(bootstrap)
    try:
        consume(connection, group)
        (document,) = kafkalite.json("groups", "describe", group)
        (row,) = [row for row in kafkalite.json("groups", "list") if row["group"] == group]
    finally:
        connection.close()
    assert (row["type"], row["member_count"], row["lag"]) == ("consumer", 1, 14)
    assert why(document) in (None, "m joins", "its topics have changed")
    assert (document["protocol"], document["lag"]) == ("uniform", 14)
    assert document["members"] == [
        {
            "member_id": "m",
            "instance_id": None,
            "client_id": "talk",
            "host": "127.0.0.1",
            "partitions": [{"topic": group, "partition": n} for n in (0, 1)],
        }
    ]
    assert [each["member_id"] for each in document["offsets"]] == ["m", "m"]


def test_a_group_of_both_protocols_is_described(
    kafkalite: CommandLine, group: str, bootstrap: str
) -> None:
    with closing(Connection(bootstrap)) as connection:
        old = ClassicMember(connection, group)
        for _ in turns("the coordinator"):
            old.join()
            if old.generation > 0:
                break
        old.sync(leads=True)
        beat = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="m",
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[group],
            topic_partitions=[],
        )
        for _ in turns("both to have a partition"):
            new = connection.ask(beat, 1, ConsumerGroupHeartbeatResponse)
            if new.assignment is not None and new.assignment.topic_partitions:
                break
            beat = ConsumerGroupHeartbeatRequest(
                group_id=group, member_id="m", member_epoch=new.member_epoch, topic_partitions=[]
            )
            if old.must_join():
                old.join()
                old.sync()
        (document,) = kafkalite.json("groups", "describe", group)
        table = kafkalite("groups", "describe", group)
    assert (document["type"], document["protocol"], document["lag"]) == ("consumer", "uniform", 14)
    members = {member["member_id"]: member["partitions"] for member in document["members"]}
    assert members.keys() == {"m", old.member_id}
    assert [len(partitions) for partitions in members.values()] == [1, 1]
    assert {each["member_id"] for each in document["offsets"]} == members.keys()
    assert why(document) in (None, "m joins")
    assert (": m joins\n" in table) == (not is_foreign())
    assert table.startswith(f"{group}  {document['state']}, 2 members, assigned by uniform, lag 14")


class ClassicMember:
    """A member of the classic protocol, of which no thread knows: it does one thing at a time, and
    gives up everything before it joins again."""

    def __init__(self, connection: Connection, group: str) -> None:
        self._connection, self._group = connection, group
        self.member_id, self.generation = "", -1

    def join(self) -> None:
        protocol = JoinGroupRequestProtocol(
            name="range", metadata=subscription_bytes([self._group], {})
        )
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        answer = self._connection.ask(request, 3, JoinGroupResponse)
        self.member_id, self.generation = answer.member_id, answer.generation_id

    def sync(self, *, leads: bool = False) -> None:
        """`leads`: alone."""
        mine = SyncGroupRequestAssignment(
            member_id=self.member_id, assignment=write_assignment({self._group: [0, 1]}, 3)
        )
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self.generation,
            member_id=self.member_id,
            assignments=[mine] if leads else [],
        )
        self._connection.ask(request, 3, SyncGroupResponse)

    def must_join(self) -> bool:
        request = HeartbeatRequest(
            group_id=self._group, generation_id=self.generation, member_id=self.member_id
        )
        return bool(self._connection.ask(request, 3, HeartbeatResponse).error_code)


def test_members_without_partitions_are_named(
    kafkalite: CommandLine, group: str, bootstrap: str
) -> None:
    connection = Connection(bootstrap)
    try:
        consume(connection, group)
        idle = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="idle",
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[],
            topic_partitions=[],
        )
        connection.ask(idle, 1, ConsumerGroupHeartbeatResponse)
        lines = kafkalite("groups", "describe", group).splitlines()
    finally:
        connection.close()
    assert "without partitions: talk at 127.0.0.1" in lines


def consume(connection: Connection, group: str) -> None:
    """A member that reads the topic, as soon as the coordinator knows of that."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[group],
        topic_partitions=[],
    )
    for _ in turns("a member to get its partitions"):
        answer = connection.ask(request, 1, ConsumerGroupHeartbeatResponse)
        if answer.assignment is not None and answer.assignment.topic_partitions:
            break


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        (("--to", "earliest"), [0, 0]),
        (("--to", "latest"), [10, 10]),
        (("--to", "7"), [7, 7]),
        (("--to", "99"), [10, 10]),
        (("--to", "@1700000005000"), [5, 5]),
        (("--to", "2023-11-14T22:13:26.500Z"), [7, 7]),
        (("--to", "1s"), [10, 10]),
        (("--shift", "3"), [5, 7]),
        (("--shift", "-3"), [0, 1]),
        (("--shift=7",), [9, 10]),
    ],
    ids=repr,
)
def test_a_group_is_moved_when_it_is_said_twice(
    kafkalite: CommandLine, group: str, options: tuple[str, ...], offsets: list[int]
) -> None:
    planned = kafkalite.json("groups", "reset", group, *options)
    assert [(row["committed_offset"], row["new_offset"]) for row in planned] == list(
        zip([2, 4], offsets, strict=True)
    )
    assert {row["reset"] for row in planned} == {False}
    assert committed(kafkalite, group) == [2, 4]
    done = kafkalite.json("groups", "reset", group, *options, "--execute")
    assert {row["reset"] for row in done} == {True}
    assert committed(kafkalite, group) == offsets


@pytest.mark.parametrize(("options", "asked"), [(("--to", "99"), 99), (("--shift", "8"), 12)])
def test_who_asks_for_more_than_a_log_has_is_told(
    kafkalite: CommandLine, group: str, options: tuple[str, ...], asked: int
) -> None:
    ended = kafkalite.ended("groups", "reset", group, *options, "--topic", f"{group}:1")
    assert ended.code == 0
    assert ended.errors == (
        f"kafkalite: {group}, partition 1: the log has offsets from 0 to 10, not {asked};"
        " 10 is taken\n"
    )


def test_a_plan_is_a_table(kafkalite: CommandLine, group: str) -> None:
    columns, first, second, last = kafkalite("groups", "reset", group, "--to", "5").splitlines()
    assert columns.split() == ["TOPIC", "PARTITION", "COMMITTED", "NEW"]
    assert first.split() == [group, "0", "2", "5"]
    assert second.split() == [group, "1", "4", "5"]
    assert last == "Nothing is changed yet; --execute does it."


def test_only_some_partitions_are_moved(kafkalite: CommandLine, group: str) -> None:
    kafkalite("groups", "reset", group, "--topic", f"{group}:1", "--to", "latest", "--execute")
    assert committed(kafkalite, group) == [2, 10]


def test_a_group_that_is_used_is_not_moved_or_deleted(
    kafkalite: CommandLine, group: str, bootstrap: str
) -> None:
    with member(bootstrap, group):
        ended = kafkalite.ended("groups", "reset", group, "--to", "latest", "--execute", "--json")
        assert ended.code == 1
        assert [row["reset"] for row in ended.document] == [False, False]
        (line,) = ended.errors.splitlines()
        assert line == (
            f"kafkalite: {group}: the group has members (UNKNOWN_MEMBER_ID); "
            "stop its consumers first"
        )
        shown = kafkalite.ended("groups", "reset", group, "--to", "latest", "--execute")
        assert (shown.code, shown.output) == (1, ""), "what is not moved has no new place"
        assert "NON_EMPTY_GROUP" in kafkalite.refusal("groups", "delete", group)
    assert committed(kafkalite, group) == [2, 4]


def test_groups_are_deleted(kafkalite: CommandLine, group: str) -> None:
    ended = kafkalite.ended("groups", "delete", group, f"{group}-none", "--json")
    assert ended.code == 1
    said = (
        "there is no such group (GROUP_ID_NOT_FOUND); `kafkalite groups list` lists those there are"
    )
    assert ended.errors == f"kafkalite: {group}-none: {said}\n"
    assert ended.document == [
        {"group": group, "deleted": True, "error": None},
        {
            "group": f"{group}-none",
            "deleted": False,
            "error": {"code": "GROUP_ID_NOT_FOUND", "message": said},
        },
    ]
    until(lambda: group in {row["group"] for row in kafkalite.json("groups", "list")}, False)


def test_a_topic_that_is_gone_is_no_obstacle(kafkalite: CommandLine, group: str) -> None:
    """Kafka forgets the offsets of a deleted topic, kafkalite too; whoever asks in between sees a
    lag that nobody knows."""
    kafkalite("topics", "delete", group)
    ended = kafkalite.ended("groups", "list", "--json")
    assert ended.code == 0, ended


def test_mistakes_are_told(kafkalite: CommandLine, group: str) -> None:
    none = f"{group}-none"
    line = kafkalite.refusal("groups", "describe", none)
    assert line == (
        f"kafkalite: there is no group {none}; `kafkalite groups list` lists those there are"
    )
    assert "say --topic" in kafkalite.refusal("groups", "reset", none, "--to", "latest")
    assert "no such topic" in kafkalite.refusal(
        "groups", "reset", group, "--to", "latest", "--topic", none
    )
    assert "no partition 2" in kafkalite.refusal(
        "groups", "reset", group, "--to", "latest", "--topic", f"{group}:2"
    )
    assert "cannot be shifted" in kafkalite.refusal(
        "groups", "reset", none, "--shift", "1", "--topic", group
    )
    for options, says in (
        ((), "either --to WHERE or --shift NUMBER"),
        (("--to", "latest", "--shift", "1"), "either --to WHERE or --shift NUMBER"),
        (("--to", "soon"), "expected earliest, latest"),
        (("--to", "latest", "--topic", "a:x"), "NAME:PARTITIONS, like orders:0,2"),
    ):
        assert says in kafkalite.refusal("groups", "reset", group, *options, code=2)
