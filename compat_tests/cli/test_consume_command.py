"""`kafkalite consume`, on kafkalite and on the real Kafka."""

from __future__ import annotations

import io
import re
import sys

import pytest
from confluent_kafka import Producer

from compat_tests.cli.command_line import CommandLine
from kafkalite.cli.main import main

LINE = re.compile(r"(?P<place>\d+:\d+) +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  (?P<rest>.*)")


@pytest.fixture
def ten(kafkalite: CommandLine, topic: str) -> str:
    """A topic of two partitions: five records in each, keys k0 to k9, a second apart."""
    kafkalite("topics", "create", f"{topic}:2", "--set", "retention.ms=-1")  # Its records are old.
    lines = "".join(
        f'{{"key": "k{n}", "value": "v{n}", "partition": {n % 2},'
        f' "timestamp": {1_700_000_000_000 + 1000 * n}}}\n'
        for n in range(10)
    )
    kafkalite("produce", topic, "--format", "json", typed=lines.encode())
    return topic


def values(kafkalite: CommandLine, *words: str) -> list[str]:
    return sorted(each["value"] for each in kafkalite.records(*words))


def test_a_topic_is_read_to_its_end(kafkalite: CommandLine, ten: str) -> None:
    assert values(kafkalite, ten) == [f"v{n}" for n in range(10)]
    offsets = [each["offset"] for each in kafkalite.records(ten) if each["partition"] == 1]
    assert offsets == list(range(5))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--from", "latest"), []),
        (("--from", "3"), [6, 7, 8, 9]),
        (("--from", "99"), []),
        (("--from", "@1700000004000"), [4, 5, 6, 7, 8, 9]),
        (("--from", "2023-11-14T22:13:27.500Z"), [8, 9]),
        (("--from", "2100-01-01"), []),
        (("--from", "1m"), []),
        (("--partition", "1"), [1, 3, 5, 7, 9]),
        (("--partition", "1", "--partition", "0", "--from", "4"), [8, 9]),
        (("--key", "k3"), [3]),
        (("--key", "/[37]$/"), [3, 7]),
        (("--value", "v", "--key", "/^k[0-2]/"), [0, 1, 2]),
        (("--value", "none"), []),
    ],
    ids=repr,
)
def test_where_it_begins_and_what_it_shows(
    kafkalite: CommandLine, ten: str, options: tuple[str, ...], found: list[int]
) -> None:
    assert values(kafkalite, ten, *options) == [f"v{n}" for n in found]


def test_an_offset_beyond_the_end_is_noted(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("produce", topic, typed=b"a\nb\n")
    assert kafkalite.ended("consume", topic, "--from", "2") == (0, "", "")
    note = f"kafkalite: nothing of {topic} is at offset 3; its end is 2\n"
    assert kafkalite.ended("consume", topic, "--from", "3") == (0, "", note)


def test_it_ends_after_so_many_that_are_shown(kafkalite: CommandLine, ten: str) -> None:
    assert len(kafkalite.records(ten, "-n", "3")) == 3
    assert values(kafkalite, ten, "--partition", "0", "--count", "2", "--key", "/[4-9]/") == [
        "v4",
        "v6",
    ]


def test_lines_for_people(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    lines = (
        b'{"key": "k", "value": "v", "headers": [["h", "1"], ["i", "\\u001b[0m"]]}\n'
        b'{"key": "gone"}\n{"value": "two\\nlines"}\n{"value": {"base64": "/w=="}}\n'
    )
    kafkalite("produce", topic, "--format", "json", typed=lines)
    first, headers, *others = kafkalite("consume", topic).splitlines()
    read = [LINE.fullmatch(line) for line in (first, *others)]
    assert [match and (match["place"], match["rest"]) for match in read] == [
        ("0:0", "k  v"),
        ("0:1", "gone  (null)"),
        ("0:2", r"-  two\nlines"),
        ("0:3", r"-  \xff"),
    ]
    assert headers == r"            h=1  i=\x1b[0m"


def test_raw_values_are_printed_as_they_are(
    kafkalite: CommandLine, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafkalite("topics", "create", topic)
    line = b'{"value": {"base64": "/wDx"}}\n{"key": "k"}\n{"value": "\xc3\xbc"}\n'
    kafkalite("produce", topic, "--format", "json", typed=line)
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed))
    assert main(["consume", topic, "--raw"]) == 0
    assert printed.getvalue() == b"\xff\x00\xf1\n\n\xc3\xbc\n"


def test_a_group_reads_what_it_has_not_read(kafkalite: CommandLine, ten: str) -> None:
    assert len(kafkalite.records(ten, "--group", ten, "-n", "3")) == 3
    (group,) = kafkalite.json("groups", "describe", ten)
    assert (group["state"], group["members"]) == ("Empty", [])
    assert sum(each["committed_offset"] for each in group["offsets"]) == 3
    assert len(kafkalite.records(ten, "--group", ten)) == 7
    assert kafkalite.records(ten, "--group", ten) == []
    kafkalite("produce", ten, "--partition", "1", typed=b"new\n")
    assert values(kafkalite, ten, "--group", ten) == ["new"]


def test_a_new_group_may_begin_at_the_end(kafkalite: CommandLine, ten: str) -> None:
    assert kafkalite.records(ten, "--group", ten, "--from", "latest") == []


def test_records_that_are_passed_over_are_committed_too(kafkalite: CommandLine, ten: str) -> None:
    assert values(kafkalite, ten, "--group", ten, "--key", "k3") == ["v3"]
    (group,) = kafkalite.json("groups", "describe", ten)
    assert group["lag"] == 0


def test_what_was_deleted_is_not_waited_for(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    assert kafkalite.records(topic) == []


def test_mistakes_are_told(kafkalite: CommandLine, ten: str) -> None:
    assert "there is no such topic" in kafkalite.refusal("consume", f"{ten}-none")
    assert "there is no such topic" in kafkalite.refusal("consume", f"{ten}-none", "--group", "g")
    assert "has no partition 2" in kafkalite.refusal("consume", ten, "--partition", "2")
    for options, says in (
        (("--count", "0"), "--count: 0 is not from 1"),
        (("--raw", "--json"), "cannot go together"),
        (("--group", "g", "--partition", "1"), "cannot go together"),
        (("--group", "g", "--from", "3"), "`kafkalite groups reset`"),
        (("--from", "soon"), "expected earliest, latest"),
        (("--key", "/(/"), "no regular expression"),
    ):
        assert says in kafkalite.refusal("consume", ten, *options, code=2)
    assert f"{ten}-none" not in kafkalite("topics", "list")


def test_without_transactions_all_is_committed(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("produce", topic, typed=b"a\nb\n")
    words = ("consume", topic, "--raw", "--isolation", "read_committed")
    assert kafkalite(*words) == "a\nb\n"
    assert kafkalite(*words, "--group", topic) == "a\nb\n"


def test_a_header_without_a_value_is_not_an_empty_one(
    kafkalite: CommandLine, bootstrap: str, topic: str
) -> None:
    kafkalite("topics", "create", topic)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"tea", headers=[("none", None), ("empty", b"")])
    producer.flush()
    assert kafkalite("consume", topic).endswith("  none=(null)  empty=\n")
    (record,) = kafkalite.records(topic)
    assert record["headers"] == [["none", None], ["empty", ""]]
