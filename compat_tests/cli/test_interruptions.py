"""Commands as processes: Ctrl-C, a reader that has gone, a shell that completes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from compat_tests.cli.command_line import CommandLine, until
from compat_tests.process import KAFKALITE

WITHIN_S = 60


@contextmanager
def started(bootstrap: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*KAFKALITE, *words],
        env={**os.environ, "KAFKA_BOOTSTRAP_SERVERS": bootstrap},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_follows_ends_well_when_told_to(
    kafkalite: CommandLine, bootstrap: str, topic: str, number: signal.Signals
) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("produce", topic, typed=b"first\n")
    with started(bootstrap, "consume", topic, "--follow", "--raw") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        kafkalite("produce", topic, typed=b"second\n")
        assert process.stdout.readline() == "second\n"
        process.send_signal(number)
        assert process.communicate(timeout=WITHIN_S) == ("", "")
    assert process.returncode == 0


def test_a_member_of_a_group_leaves_it(kafkalite: CommandLine, bootstrap: str, topic: str) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("produce", topic, typed=b"first\n")
    with started(bootstrap, "consume", topic, "--group", topic, "-f", "--raw") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        until(lambda: kafkalite.json("groups", "describe", topic)[0]["lag"], 0)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=WITHIN_S) == ("", "")
    (group,) = kafkalite.json("groups", "describe", topic)
    assert (group["state"], group["lag"]) == ("Empty", 0)


def test_ctrl_c_before_the_end_is_130(kafkalite: CommandLine, bootstrap: str, topic: str) -> None:
    """How many records got there is told all the same."""
    kafkalite("topics", "create", topic)
    with started(bootstrap, "produce", topic, "--json") as process:
        assert process.stdin is not None
        process.stdin.write("first\n")
        process.stdin.flush()
        until(lambda: [each["value"] for each in kafkalite.records(topic)], ["first"])
        process.send_signal(signal.SIGINT)
        process.wait(WITHIN_S)
        output, errors = process.communicate(timeout=WITHIN_S)
    assert errors == f"kafkalite: 1 record got to {topic}\n"
    assert json.loads(output)["records"] == 1
    assert process.returncode == 130


def test_nobody_reads_on(kafkalite: CommandLine, bootstrap: str, topic: str) -> None:
    """As with `| head`: what a shell shows of `cat` then."""
    kafkalite("topics", "create", topic)
    kafkalite("produce", topic, typed=b"line\n" * 20_000)
    with started(bootstrap, "consume", topic) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(WITHIN_S) == 128 + signal.SIGPIPE


def test_a_shell_is_offered_topics_and_groups(
    kafkalite: CommandLine, bootstrap: str, topic: str
) -> None:
    kafkalite("topics", "create", topic)
    kafkalite("groups", "reset", topic, "--topic", topic, "--to", "latest", "--execute")
    for words in (
        ("topics", "describe"),
        ("consume",),
        ("consume", "t", "--group"),
        ("groups", "reset"),
        ("configs", "describe", "topic"),
        ("configs", "set", "group"),
    ):
        offered = kafkalite("__complete", *words, "").splitlines()
        assert topic in [line.strip("\t") for line in offered], words
    assert "1" in kafkalite("__complete", "configs", "describe", "broker", "").split()
    nobody = kafkalite("__complete", "consume", "--bootstrap", "127.0.0.1:1", "")
    assert nobody.split() == ["begin"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_shell_is_given_what_it_completes_with(kafkalite: CommandLine, shell: str) -> None:
    script = kafkalite("completion", shell)
    for word in ("kafkalite", "topics", "follow", "snappy", "__complete"):
        assert word in script


def test_bash_completes(
    kafkalite: CommandLine, bootstrap: str, topic: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kafkalite("topics", "create", topic)
    folder = tmp_path_factory.mktemp("bash")
    command = folder / "kafkalite"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkalite "$@"\n')
    command.chmod(0o755)
    (folder / "script").write_text(kafkalite("completion", "bash"))
    program = (
        f'. "{folder}/script"\n'
        'function offered { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        ' _kafkalite; echo "${COMPREPLY[*]}"; }\n'
        "offered kafkalite topics ''\n"
        "offered kafkalite topics describe ''\n"
        "complete -p kafkalite\n"
    )
    ended = subprocess.run(
        ["bash", "--norc", "-c", program],
        env={
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "PATH": f"{folder}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    commands, topics, how = ended.stdout.splitlines()
    assert how == "complete -o bashdefault -o default -F _kafkalite kafkalite"
    assert commands.split() == ["list", "describe", "create", "alter", "delete"], ended.stderr
    assert topic in topics.split()
