"""`kafkalite users`, on kafkalite and on the real Kafka."""

from __future__ import annotations

from typing import Any

from compat_tests.cli.command_line import CommandLine, until


def of(kafkalite: CommandLine, user: str) -> list[Any]:
    """What is listed of that user. Others may be there."""
    return [row for row in kafkalite.json("users", "list") if row["user"] == user]


def listed(user: str, *mechanisms: str, iterations: int = 4096) -> list[Any]:
    return [
        {"user": user, "mechanism": mechanism, "iterations": iterations} for mechanism in mechanisms
    ]


def test_a_user_comes_and_goes(kafkalite: CommandLine, topic: str) -> None:
    user = f"user-of-{topic}"
    done = kafkalite("users", "add", user, "--iterations", "8192", typed=b"secret\n")
    assert done == f"added {user} for SCRAM-SHA-256\n"
    until(lambda: of(kafkalite, user), listed(user, "SCRAM-SHA-256", iterations=8192))
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        options = ("--mechanism", mechanism)
        (added,) = kafkalite.json("users", "add", user, *options, typed=b"other")
        assert added == {"user": user, "mechanism": mechanism, "added": True, "error": None}
    both = listed(user, "SCRAM-SHA-256", "SCRAM-SHA-512")
    until(lambda: of(kafkalite, user), both)
    lines = [line.split() for line in kafkalite("users", "list").splitlines()]
    assert lines[0] == ["USER", "MECHANISM", "ITERATIONS"]
    assert [user, "SCRAM-SHA-512", "4096"] in lines
    deleted = kafkalite("users", "delete", user, "--mechanism", "SCRAM-SHA-256")
    assert deleted == f"deleted {user} for SCRAM-SHA-256\n"
    until(lambda: of(kafkalite, user), both[1:])
    kafkalite("users", "add", user, typed=b"third")
    until(lambda: of(kafkalite, user), both)
    assert kafkalite("users", "delete", user).splitlines() == [
        f"deleted {user} for SCRAM-SHA-256",
        f"deleted {user} for SCRAM-SHA-512",
    ]
    until(lambda: of(kafkalite, user), [])


def test_what_cannot_be_is_told(kafkalite: CommandLine, topic: str) -> None:
    assert f"{topic}: there is no such user" in kafkalite.refusal("users", "delete", topic)
    ended = kafkalite.ended("users", "delete", topic, "--mechanism", "SCRAM-SHA-512", "--json")
    (told,) = ended.document
    assert (told["user"], told["deleted"]) == (topic, False)
    assert told["error"]["code"] == "RESOURCE_NOT_FOUND"
    assert "no password" in kafkalite.refusal("users", "add", topic, code=2)
    words = ("users", "add", topic, "--iterations", "4095")
    assert "4095 is not from 4096 to 16384" in kafkalite.refusal(*words, code=2)
