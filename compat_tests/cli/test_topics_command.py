"""`kafkalite topics`, on kafkalite and on the real Kafka."""

from __future__ import annotations

from typing import Any

from compat_tests.cli.command_line import CommandLine, until


def described(kafkalite: CommandLine, topic: str) -> Any:
    (document,) = kafkalite.json("topics", "describe", topic)
    return document


def test_topics_are_created_listed_and_deleted(kafkalite: CommandLine, topic: str) -> None:
    other = f"{topic}-b"
    told = kafkalite("topics", "create", f"{topic}:3", other)
    assert told == (
        f"created {topic}: 3 partitions, replication factor 1\n"
        f"created {other}: 1 partition, replication factor 1\n"
    )
    rows = {row["topic"]: row for row in kafkalite.json("topics", "list")}
    assert rows[topic] == {
        "topic": topic,
        "partitions": 3,
        "replication_factor": 1,
        "internal": False,
        "records": 0,
    }
    assert rows[other]["partitions"] == 1
    deleted = kafkalite.json("topics", "delete", topic, other)
    assert deleted == [
        {"topic": topic, "deleted": True, "error": None},
        {"topic": other, "deleted": True, "error": None},
    ]

    def left() -> set[str]:
        return {topic, other} & {row["topic"] for row in kafkalite.json("topics", "list")}

    until(left, set())


def test_a_list_is_a_table_with_the_number_of_records(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", f"{topic}:2")
    kafkalite("produce", topic, typed=b"a\nb\nc\n")
    lines = [line.split() for line in kafkalite("topics", "list").splitlines()]
    assert lines[0] == ["TOPIC", "PARTITIONS", "REPLICAS", "RECORDS"]
    assert [topic, "2", "1", "3"] in lines


def test_a_topic_is_described(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic, "--partitions", "2", "--set", "retention.ms=60000")
    kafkalite("produce", topic, "--partition", "1", typed=b"a\nb\n")
    document = described(kafkalite, topic)
    assert document.keys() == {"topic", "id", "internal", "configs", "partitions"}
    assert len(document["id"]) == 22
    assert document["configs"] == {"retention.ms": "60000"}
    assert document["partitions"][1] == {
        "partition": 1,
        "leader": 1,
        "leader_epoch": 0,
        "replicas": [1],
        "in_sync_replicas": [1],
        "offline_replicas": [],
        "start_offset": 0,
        "end_offset": 2,
    }
    head, setting, empty, *table = kafkalite("topics", "describe", topic).splitlines()
    assert head == f"{topic}  2 partitions, id {document['id']}"
    assert (setting, empty) == ("  retention.ms=60000", "")
    assert [line.split() for line in table] == [
        ["PARTITION", "LEADER", "REPLICAS", "IN", "SYNC", "START", "END"],
        ["0", "1", "1", "1", "0", "0"],
        ["1", "1", "1", "1", "0", "2"],
    ]


def test_a_topic_is_altered(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic, "--set", "retention.ms=1", "--set", "flush.ms=7")
    altered = kafkalite.json(
        "topics", "alter", topic, "--partitions", "3",
        "--set", "cleanup.policy=compact", "--delete", "retention.ms",
    )  # fmt: skip
    assert altered == [{"topic": topic, "altered": True, "error": None}]

    def seen() -> tuple[int, object]:
        document = described(kafkalite, topic)
        return len(document["partitions"]), document["configs"]

    until(seen, (3, {"cleanup.policy": "compact", "flush.ms": "7"}))


def test_what_is_refused_is_told_and_the_rest_is_done(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    ended = kafkalite.ended("topics", "create", topic, f"{topic}-b", f"{topic}/c", "--json")
    assert ended.code == 1
    assert [row["created"] for row in ended.document] == [False, True, False]
    assert [row["error"] and row["error"]["code"] for row in ended.document] == [
        "TOPIC_ALREADY_EXISTS",
        None,
        "INVALID_TOPIC_EXCEPTION",
    ]
    first, second = ended.errors.splitlines()
    assert first == (
        f"kafkalite: {topic}: Topic '{topic}' already exists (TOPIC_ALREADY_EXISTS); "
        "--if-not-exists passes over it"
    )
    assert "INVALID_TOPIC_EXCEPTION" in second


def test_what_is_there_or_gone_can_be_passed_over(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    assert kafkalite("topics", "create", topic, "--if-not-exists") == f"{topic} is there already\n"
    kafkalite("topics", "delete", topic)
    line = kafkalite.refusal("topics", "delete", topic)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in line
    assert kafkalite("topics", "delete", topic, "--if-exists") == f"{topic} is not there\n"


def test_a_topic_that_there_is_not(kafkalite: CommandLine, topic: str) -> None:
    line = kafkalite.refusal("topics", "describe", topic)
    assert line == (
        f"kafkalite: {topic}: there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION); "
        "`kafkalite topics list` lists those there are"
    )
    assert topic in kafkalite.refusal("topics", "alter", topic, "--partitions", "3")
    assert topic in kafkalite.refusal("topics", "alter", topic, "--set", "retention.ms=1")


def test_bad_values_are_told_in_kafkas_words(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", f"{topic}:2")
    assert "INVALID_CONFIG" in kafkalite.refusal(
        "topics", "create", f"{topic}-b", "--set", "no.such=1"
    )
    assert "INVALID_CONFIG" in kafkalite.refusal(
        "topics", "alter", topic, "--set", "retention.ms=x"
    )
    assert "INVALID_PARTITIONS" in kafkalite.refusal("topics", "alter", topic, "--partitions", "1")
    assert "INVALID_REPLICATION_FACTOR" in kafkalite.refusal(
        "topics", "create", f"{topic}-c", "--replication-factor", "9"
    )
    assert "nothing to alter" in kafkalite.refusal("topics", "alter", topic, code=2)


def test_internal_topics_are_shown_on_demand(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("groups", "reset", topic, "--to", "latest", "--topic", topic, "--execute")
    offsets = "__consumer_offsets"
    assert offsets not in kafkalite("topics", "list")
    rows = {row["topic"]: row for row in kafkalite.json("topics", "list", "--internal")}
    assert rows[offsets]["internal"] is True
