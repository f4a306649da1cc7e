"""`kafkalite produce`, on kafkalite and on the real Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat_tests.cli.command_line import CommandLine
from kafkalite.cli import produce
from kafkalite.testing import Broker


def in_order(records: list[Any]) -> list[Any]:
    return sorted(records, key=lambda record: (record["partition"], record["offset"]))


def test_lines_become_records_of_each_partition_in_turn(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", f"{topic}:3")
    told = kafkalite.json("produce", topic, typed=b"a\nb\n\nd\n")
    assert told == {
        "topic": topic,
        "records": 4,
        "partitions": [
            {"partition": 0, "records": 2, "first_offset": 0, "last_offset": 1},
            {"partition": 1, "records": 1, "first_offset": 0, "last_offset": 0},
            {"partition": 2, "records": 1, "first_offset": 0, "last_offset": 0},
        ],
    }
    read = {(each["partition"], each["offset"]): each for each in kafkalite.records(topic)}
    in_turn = [read[place]["value"] for place in ((0, 0), (1, 0), (2, 0), (0, 1))]
    assert in_turn == ["a", "b", "", "d"]
    assert {each["key"] for each in read.values()} == {None}


def test_keys_go_where_java_sends_them(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", f"{topic}:7")
    kafkalite("produce", topic, "--separator", ":", typed=b"foobar:1\nabc:2:3\n:4\n")
    read = {each["key"]: (each["partition"], each["value"]) for each in kafkalite.records(topic)}
    assert read == {"foobar": (0, "1"), "abc": (4, "2:3"), "": (2, "4")}


def test_a_file_of_json_says_all_that_a_record_has(
    kafkalite: CommandLine, topic: str, tmp_path: Path
) -> None:
    kafkalite("topics", "create", f"{topic}:3", "--set", "retention.ms=-1")  # Its records are old.
    file = tmp_path / "records"
    file.write_text(
        '{"key": "a", "value": {"x": 1}, "headers": [["h", "1"], ["h", "2"]], "partition": 2,'
        ' "timestamp": 1700000000123}\n'
        '{"key": "gone", "partition": 2}\n'
        '{"value": {"base64": "/wA="}, "headers": {"b": {"base64": "/w=="}}, "partition": 2}\n'
    )
    told = kafkalite("produce", topic, str(file), "--format", "json")
    assert told == f"sent 3 records to {topic}, partition 2, offset 0 to 2\n"
    first, second, third = kafkalite.records(topic)
    assert first == {
        "topic": topic,
        "partition": 2,
        "offset": 0,
        "timestamp": 1700000000123,
        "timestamp_type": "create",
        "key": "a",
        "value": '{"x": 1}',
        "headers": [["h", "1"], ["h", "2"]],
    }
    assert (second["key"], second["value"], second["headers"]) == ("gone", None, [])
    assert third["value"] == {"base64": "/wA="}
    assert third["headers"] == [["b", {"base64": "/w=="}]]


def test_what_was_consumed_can_be_produced_again(
    kafkalite: CommandLine, topic: str, tmp_path: Path
) -> None:
    copy = f"{topic}-copy"
    kafkalite("topics", "create", f"{topic}:2", f"{copy}:2")
    kafkalite("produce", topic, "--separator", "=", "--header", "h=1", typed=b"a=1\nb=2\nc=3\n")
    file = tmp_path / "records"
    file.write_text(kafkalite("consume", topic, "--json"))
    kafkalite("produce", copy, str(file), "--format", "json")
    copied = [{**each, "topic": topic} for each in kafkalite.records(copy)]
    assert in_order(copied) == in_order(kafkalite.records(topic))


def test_options_are_for_records_that_do_not_say_it(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", f"{topic}:3")
    kafkalite(
        "produce", topic, "--format", "json", "--key", "k", "--partition", "1", "--header", "a=b=c",
        typed=b'{"value": "1"}\n'
        b'{"value": "2", "key": "own", "partition": 2, "headers": [["h", ""]]}',
    )  # fmt: skip
    read = [
        (each["partition"], each["key"], each["value"], each["headers"])
        for each in kafkalite.records(topic)
    ]
    assert sorted(read) == [
        (1, "k", "1", [["a", "b=c"]]),
        (2, "own", "2", [["a", "b=c"], ["h", ""]]),
    ]


@pytest.mark.parametrize(
    ("compression", "acks"),
    [
        ("none", "all"),
        ("none", "1"),
        ("none", "0"),
        ("gzip", "all"),
        ("snappy", "all"),
        ("lz4", "all"),
        ("zstd", "1"),
    ],
)
def test_every_compression_and_every_acks(
    kafkalite: CommandLine, topic: str, compression: str, acks: str
) -> None:
    kafkalite("topics", "create", topic)
    lines = [f"line {number}" for number in range(1000)]
    typed = "".join(f"{line}\n" for line in lines).encode()
    options = ("--compression", compression, "--acks", acks)
    (partition,) = kafkalite.json("produce", topic, *options, typed=typed)["partitions"]
    offsets = (None, None) if acks == "0" else (0, 999)
    assert partition == {
        "partition": 0,
        "records": 1000,
        "first_offset": offsets[0],
        "last_offset": offsets[1],
    }
    assert [each["value"] for each in kafkalite.records(topic)] == lines


def test_a_broker_that_creates_topics_by_itself_does_so(kafkalite: CommandLine, topic: str) -> None:
    told = kafkalite("produce", topic, typed=b"a\n")
    assert told == f"sent 1 record to {topic}, partition 0, offset 0\n"


def test_nothing_to_send_is_no_failure(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    assert kafkalite("produce", topic) == f"sent 0 records to {topic}\n"


def test_a_line_that_is_no_record_ends_it_after_those_before(
    kafkalite: CommandLine, topic: str
) -> None:
    kafkalite("topics", "create", topic)
    ended = kafkalite.ended("produce", topic, "--separator=:", typed=b"a:1\nb:2\nc\nd:4\n")
    assert (ended.code, ended.output) == (1, "")
    assert ended.errors == (
        f"kafkalite: line 3: there is no ':' after a key\nkafkalite: 2 records got to {topic}\n"
    )
    assert [each["value"] for each in kafkalite.records(topic)] == ["1", "2"]


def test_a_machine_is_told_what_got_there_before_a_failure(
    kafkalite: CommandLine, topic: str
) -> None:
    kafkalite("topics", "create", topic)
    ended = kafkalite.ended("produce", topic, "--separator=:", "--json", typed=b"a:1\nb:2\nc\n")
    partition = {"partition": 0, "records": 2, "first_offset": 0, "last_offset": 1}
    assert ended.document == {"topic": topic, "records": 2, "partitions": [partition]}
    assert ended.code == 1
    assert "line 3" in ended.errors


def test_what_the_broker_refuses_is_told(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic, "--set", "max.message.bytes=100")
    ended = kafkalite.ended("produce", topic, typed=b"small\n" + b"x" * 200 + b"\n")
    assert ended.code == 1
    first, second = ended.errors.splitlines()
    assert first.startswith("kafkalite: line 2: ")
    assert first.endswith("(MESSAGE_TOO_LARGE); raise the topic's max.message.bytes")
    assert second == f"kafkalite: 1 record got to {topic}"
    assert [each["value"] for each in kafkalite.records(topic)] == ["small"]


def test_a_large_record_fits_where_the_topic_takes_it(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic, "--set", "max.message.bytes=4000000")
    assert kafkalite.json("produce", topic, typed=b"x" * 3_000_000)["records"] == 1
    assert kafkalite("consume", topic, "--raw") == "x" * 3_000_000 + "\n"


def test_mistakes_are_told_before_anything_is_sent(
    kafkalite: CommandLine, topic: str, tmp_path: Path
) -> None:
    kafkalite("topics", "create", f"{topic}:2")
    for options, says in (
        (("--separator", ""), "separates nothing"),
        (("--separator", ":", "--key", "a"), "cannot go together"),
        (("--separator", ":", "--format", "json"), "in JSON the key has its field"),
        (("--header", "a"), "expected NAME=VALUE"),
        (("--compression", "rar"), "rar"),
        (("--acks", "2"), "--acks 2: expected"),
    ):
        assert says in kafkalite.refusal("produce", topic, *options, code=2)
    assert "is illegal" in kafkalite.refusal("produce", f"{topic}/b", code=2)
    assert "cannot read" in kafkalite.refusal("produce", topic, str(tmp_path / "none"))
    ended = kafkalite.ended("produce", topic, "--partition", "2", typed=b"a\n")
    assert "line 1: there is no partition 2; the last is 1" in ended.errors
    assert kafkalite.records(topic) == []


def test_a_topic_that_is_not_there_and_is_not_created_either(
    kafkalite: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produce, "_TOPIC_WITHIN_MS", 500)
    with Broker(settings={"auto.create.topics.enable": False}) as broker:
        line = kafkalite.refusal("produce", "t", "-b", broker.bootstrap)
        assert kafkalite.json("topics", "list", "-b", broker.bootstrap) == []
    assert line == (
        "kafkalite: there is no topic t, and the broker does not create it by itself; "
        "`kafkalite topics create t` does"
    )
