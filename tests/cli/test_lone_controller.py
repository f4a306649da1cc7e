"""`kafkalite serve` as a process that is a controller alone."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.serving import COMMAND, environment, ran

SETTINGS = (
    "--set=process.roles=controller",
    "--set=controller.listener.names=CONTROLLER",
    "--set=controller.quorum.voters=1@controller-1:9093,2@controller-2:9093",
)
FREE = "--set=listeners=CONTROLLER://127.0.0.1:0"
READY = re.compile(
    r"kafkalite ready on (127\.0\.0\.1:\d+), a controller alone that serves no clients, "
    r"started in \d+ ms\n"
)


@contextmanager
def started(*options: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """With its first line; killed at the end if it still runs."""
    process = subprocess.Popen(
        [*COMMAND, "serve", *SETTINGS, *options],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_stands_until_it_is_stopped_and_leaves_nothing(
    tmp_path: Path, stop: signal.Signals
) -> None:
    with started(FREE, "--ready-file=ready", folder=tmp_path) as (process, line):
        found = READY.fullmatch(line)
        assert found is not None, line + process.communicate()[1]
        assert (tmp_path / "ready").read_text() == f"{found[1]}\n"
        host, _, port = found[1].partition(":")
        socket.create_connection((host, int(port)), timeout=60).close()  # As `nc -z`.
        process.send_signal(stop)
        more, log = process.communicate(timeout=60)
    assert (process.returncode, more) == (0, "")
    (told,) = log.splitlines()
    assert " INFO process.roles=controller (--set): each broker brings its own controller" in told
    assert list(tmp_path.iterdir()) == [], "the ready-file is gone, and there was no data"


def test_machines_are_told_no_bootstrap(tmp_path: Path) -> None:
    with started(FREE, "--json", folder=tmp_path) as (_, line):
        told = json.loads(line)
    assert told["bootstrap"] is None
    assert re.fullmatch(r"127\.0\.0\.1:\d+", told["listeners"]["CONTROLLER"])


def test_a_port_that_is_taken_is_told_with_what_can_be_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = ran("serve", *SETTINGS, f"--set=listeners=CONTROLLER://127.0.0.1:{port}")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1] == (
        f"kafkalite: port {port} is in use; stop what listens there, or choose another with "
        "--set listeners=... (0 takes a free one)"
    )


@pytest.mark.parametrize("option", ["--topic=a", "--zookeeper=localhost:1"])
def test_what_only_a_broker_can_do_is_not_asked_of_it(option: str) -> None:
    ended = ran("serve", *SETTINGS, FREE, option)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1] == (
        f"kafkalite: {option.partition('=')[0]} is for a broker, and process.roles=controller "
        "(--set) makes none; use one of them"
    )


def test_without_a_controllers_listener_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PROCESS_ROLES", "controller")
    ended = ran("serve", "--port=0")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1] == (
        "kafkalite: The listeners config must only contain KRaft controller listeners from "
        "controller.listener.names when process.roles=controller; name one in both, such as "
        "CONTROLLER://:9093; see listeners (--port) and process.roles (KAFKA_PROCESS_ROLES)"
    )
