"""`kafkalite serve` as a process that is a controller alone."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from kafkalite.cli.client_security import ClientSecurity
from kafkalite.cli.errors import CommandError
from kafkalite.cli.reachability import check_advertised
from kafkalite.cli.readiness import Ready
from kafkalite.ports.complaints import IN_FULL
from tests.cli.serving import ran, serving

SETTINGS = (
    "--set=process.roles=controller",
    "--set=controller.listener.names=CONTROLLER",
    "--set=controller.quorum.voters=1@controller-1:9093,2@controller-2:9093",
)
FREE = "--set=listeners=CONTROLLER://127.0.0.1:0"


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_stands_until_it_is_stopped_and_leaves_nothing(
    tmp_path: Path, stop: signal.Signals
) -> None:
    with serving(*SETTINGS, FREE, "--ready-file=ready", folder=tmp_path, port=None) as served:
        assert served.where is None
        assert (tmp_path / "ready").read_text() == f"127.0.0.1:{served.port}\n"
        socket.create_connection(("127.0.0.1", served.port), timeout=60).close()  # As `nc -z`.
        code, log = served.end(stop)
    assert code == 0, log
    (told,) = log.splitlines()
    assert " INFO process.roles=controller (--set): each broker brings its own controller" in told
    assert list(tmp_path.iterdir()) == [], "the ready-file is gone, and there was no data"


def test_a_command_that_takes_it_for_a_broker_says_so_at_once(tmp_path: Path) -> None:
    with serving(*SETTINGS, FREE, folder=tmp_path, port=None) as served:
        with pytest.raises(CommandError) as refused:
            check_advertised(("127.0.0.1", served.port), ClientSecurity())
        code, log = served.end(signal.SIGTERM)
    assert str(refused.value) == (
        f"127.0.0.1:{served.port} is a controller, which serves no clients; name a broker with "
        "--bootstrap"
    )
    assert code == 0, log


def test_what_it_closed_without_a_line_is_told_at_the_stop(tmp_path: Path) -> None:
    with serving(*SETTINGS, FREE, folder=tmp_path, port=None) as served:
        for _ in range(IN_FULL + 3):
            with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert client.recv(1) == b""
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    assert "closed 3 more connections, the last " in log.splitlines()[-1]


def test_machines_are_told_no_bootstrap() -> None:
    addresses = {"CONTROLLER": "127.0.0.1:9093"}
    told = json.loads(Ready("127.0.0.1:9093", None, addresses, is_broker=False).json())
    assert told["bootstrap"] is None
    assert told["listeners"] == addresses


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
