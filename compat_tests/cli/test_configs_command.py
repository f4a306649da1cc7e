"""`kafkalite configs`, on kafkalite and on the real Kafka."""

from __future__ import annotations

from typing import Any

from compat_tests.cli.command_line import CommandLine, until


def settings(kafkalite: CommandLine, kind: str, name: str, *options: str) -> dict[str, Any]:
    rows = kafkalite.json("configs", "describe", kind, name, *options)
    return {row.pop("name"): row for row in rows}


def test_settings_of_a_topic(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    assert settings(kafkalite, "topic", topic).keys() <= {"min.insync.replicas"}
    changed = kafkalite.json("configs", "set", "topic", topic, "retention.ms=1", "flush.ms=7")
    assert changed == [{"kind": "topic", "name": topic, "changed": True, "error": None}]

    def own() -> dict[str, str]:
        found = settings(kafkalite, "topic", topic)
        return {
            key: row["value"]
            for key, row in found.items()
            if row["source"] == "DYNAMIC_TOPIC_CONFIG"
        }

    until(own, {"retention.ms": "1", "flush.ms": "7"})
    done = kafkalite("configs", "delete", "topic", topic, "flush.ms")
    assert done == f"deleted flush.ms for topic {topic}\n"
    until(own, {"retention.ms": "1"})
    everything = settings(kafkalite, "topic", topic, "--all")
    assert everything["flush.ms"] == {
        "value": "9223372036854775807",
        "source": "DEFAULT_CONFIG",
        "read_only": False,
        "sensitive": False,
    }
    assert everything["retention.ms"]["value"] == "1"


def test_a_table_says_where_a_value_is_from(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic, "--set", "retention.ms=1")
    lines = kafkalite("configs", "describe", "topic", topic, "--all").splitlines()
    rows = [line.split() for line in lines]
    assert rows[0] == ["SETTING", "VALUE", "FROM"]
    assert ["retention.ms", "1", "topic"] in rows
    assert ["flush.messages", "9223372036854775807", "default"] in rows


def test_settings_of_a_broker(kafkalite: CommandLine) -> None:
    kafkalite("configs", "set", "broker", "1", "log.index.interval.bytes=4097")
    until(
        lambda: settings(kafkalite, "broker", "1").get("log.index.interval.bytes"),
        {
            "value": "4097",
            "source": "DYNAMIC_BROKER_CONFIG",
            "read_only": False,
            "sensitive": False,
        },
    )
    kafkalite("configs", "delete", "broker", "1", "log.index.interval.bytes")
    until(lambda: "log.index.interval.bytes" in settings(kafkalite, "broker", "1"), False)
    everything = settings(kafkalite, "broker", "1", "--all")
    assert everything["num.io.threads"]["value"]
    assert everything["ssl.key.password"]["sensitive"] is True
    shown = kafkalite("configs", "describe", "broker", "1", "--all").splitlines()
    assert ["ssl.key.password", "(hidden)", "default"] in [line.split() for line in shown]


def test_settings_of_a_group(kafkalite: CommandLine, topic: str) -> None:
    assert settings(kafkalite, "group", topic) == {}
    everything = settings(kafkalite, "group", topic, "--all")
    assert everything["share.heartbeat.interval.ms"]["value"] == "5000"
    ended = kafkalite.ended("configs", "describe", "group", topic)
    assert (ended.code, ended.output) == (0, "")
    assert ended.errors == f"Nothing is set for group {topic}; --all shows what acts.\n"


def test_what_is_not_there_is_told(kafkalite: CommandLine, topic: str) -> None:
    assert "no such topic" in kafkalite.refusal("configs", "describe", "topic", topic)
    assert "no such topic" in kafkalite.refusal("configs", "set", "topic", topic, "flush.ms=1")
    line = kafkalite.refusal("configs", "describe", "broker", "99")
    assert "there is no broker 99; there is 1" in line
    assert "there is no broker x" in kafkalite.refusal("configs", "set", "broker", "x", "a=1")
    for kind, name, code in (
        ("topic", topic, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("broker", "99", "BROKER_NOT_AVAILABLE"),
    ):
        ended = kafkalite.ended("configs", "delete", kind, name, "flush.ms", "--json")
        (told,) = ended.document
        assert (told["kind"], told["name"], told["changed"]) == (kind, name, False)
        assert told["error"]["code"] == code
        assert ended.errors == f"kafkalite: {name}: {told['error']['message']}\n"


def test_what_is_not_set_cannot_be_deleted(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic, "--set", "flush.ms=7")
    until(lambda: "flush.ms" in settings(kafkalite, "topic", topic), True)
    for keys, what in (
        (("retention.ms",), "retention.ms is not set"),
        (("flush.ms", "no.such"), "no.such is not set"),
        (("no.such", "retention.ms"), "no.such, retention.ms are not set"),
    ):
        line = kafkalite.refusal("configs", "delete", "topic", topic, *keys)
        assert line.startswith(f"kafkalite: {topic}: {what}; ")
        assert f"`kafkalite configs describe topic {topic}` shows what is" in line
        deletes = [f"--delete={key}" for key in keys]
        assert what in kafkalite.refusal(
            "topics", "alter", topic, *deletes, "--set", "segment.ms=8"
        )
    for kind, name in (("broker", "1"), ("group", topic)):
        line = kafkalite.refusal("configs", "delete", kind, name, "num.io.threads")
        assert "num.io.threads is not set" in line
    assert list(settings(kafkalite, "topic", topic)) == ["flush.ms"], "all at once or none"
    both = ("--set", "flush.ms=8", "--delete", "flush.ms")
    assert "both set and deleted" in kafkalite.refusal("topics", "alter", topic, *both, code=2)


def test_what_a_topic_has_from_its_broker_is_deleted_there(
    kafkalite: CommandLine, topic: str
) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("configs", "set", "broker", "1", "log.flush.interval.messages=12345")
    until(
        lambda: settings(kafkalite, "topic", topic).get("flush.messages", {}).get("value"), "12345"
    )
    try:
        for words in (
            ("configs", "delete", "topic", topic, "flush.messages"),
            ("topics", "alter", topic, "--delete", "flush.messages"),
        ):
            assert "flush.messages is not set" in kafkalite.refusal(*words)
    finally:
        kafkalite("configs", "delete", "broker", "1", "log.flush.interval.messages")
    until(lambda: "flush.messages" in settings(kafkalite, "topic", topic), False)


def test_bad_settings_are_told_in_kafkas_words(kafkalite: CommandLine, topic: str) -> None:
    kafkalite("topics", "create", topic)
    for wrong in ("no.such=1", "retention.ms=soon"):
        assert "INVALID_CONFIG" in kafkalite.refusal("configs", "set", "topic", topic, wrong)
    assert "expected KEY=VALUE" in kafkalite.refusal(
        "configs", "set", "topic", topic, "retention.ms", code=2
    )
