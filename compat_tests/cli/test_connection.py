"""Whatever a command is: how it reaches a broker, and what it says when it does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from kafka.errors import KafkaTimeoutError

from compat_tests.cli.command_line import CommandLine
from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import CommandError
from kafkalite.testing import Broker

COMMANDS = [
    ("topics", "list"),
    ("produce", "t"),
    ("consume", "t"),
    ("consume", "t", "--group", "g"),
    ("groups", "list"),
    ("configs", "describe", "topic", "t"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nobody_listens(kafkalite: CommandLine, words: tuple[str, ...]) -> None:
    line = kafkalite.refusal(*words, "--bootstrap", "127.0.0.1:1")
    assert line == (
        "kafkalite: no broker at 127.0.0.1:1 (connection refused); "
        "start one with `kafkalite serve`, or name another with --bootstrap"
    )


@pytest.mark.parametrize("address", ["", ":", "a:b", "a:0", "a:70000", ",", "a:1,", "[::1"])
def test_what_is_no_address(kafkalite: CommandLine, address: str) -> None:
    line = kafkalite.refusal("topics", "list", "--bootstrap", address, code=2)
    assert "expected HOST:PORT, such as localhost:9092" in line


def test_a_name_that_nobody_knows(kafkalite: CommandLine) -> None:
    line = kafkalite.refusal("topics", "list", "--bootstrap", f"{'b' * 64}:9092")
    assert line.startswith("kafkalite: no broker at bbb")


def test_one_of_several_addresses_is_enough(kafkalite: CommandLine, bootstrap: str) -> None:
    kafkalite("topics", "list", "-b", f"127.0.0.1:1,{bootstrap}")


@pytest.fixture
def hangs_up() -> Iterator[str]:
    """Takes connections and closes them, as a server that speaks something else does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        host, port = server.getsockname()
        yield f"{host}:{port}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_server_that_is_no_broker(kafkalite: CommandLine, hangs_up: str) -> None:
    line = kafkalite.refusal("topics", "list", "-b", hangs_up)
    assert line.startswith(
        f"kafkalite: {hangs_up} takes connections, and hangs up on clients without TLS and SASL; "
    )
    assert "--bootstrap" in line


def test_a_broker_that_ends_while_a_client_connects() -> None:
    """Nothing is said of TLS then: nobody listens any more."""

    def wait_in_vain(**settings: object) -> None:
        broker.stop()
        raise KafkaTimeoutError

    with Broker() as broker, pytest.raises(CommandError) as failure:
        Connection(bootstrap=broker.bootstrap)._connect(wait_in_vain, {})
    assert str(failure.value).startswith(f"no broker at {broker.bootstrap} (connection refused); ")


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address that is taken, and refuses."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        host, port = held.getsockname()
        yield f"{host}:{port}"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_broker_that_sends_clients_where_nobody_listens(
    kafkalite: CommandLine, nobody: str, words: tuple[str, ...]
) -> None:
    with Broker(settings={"advertised.listeners": f"PLAINTEXT://{nobody}"}) as broker:
        line = kafkalite.refusal(*words, "-b", broker.bootstrap)
        assert line == (
            f"kafkalite: {broker.bootstrap} answered, but tells clients to connect to {nobody}, "
            "which refuses; see advertised.listeners"
        )


def test_a_broker_that_sends_clients_where_no_host_is(kafkalite: CommandLine) -> None:
    nowhere = f"{'b' * 64}:9092"  # Longer than a name in DNS can be: nobody is asked.
    with Broker(settings={"advertised.listeners": f"PLAINTEXT://{nowhere}"}) as broker:
        line = kafkalite.refusal("produce", "t", "-b", broker.bootstrap)
    assert f"to connect to {nowhere}, which this machine cannot resolve;" in line
