"""What can go wrong with a broker for tests: it ends all the same, and says why in one line."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafkalite.errors import InvariantError
from kafkalite.ports.network import Connection, Dialing, Listener, NewConnection
from kafkalite.protocol.headers import request_frame
from kafkalite.server import broker as server_broker
from kafkalite.testing import Broker, BrokerError
from tests.server.requests import fetch
from tests.testing.broker_address import address_of, can_be_dialled
from tests.testing.confluent_calls import send

FETCH = 12


class SilentNetwork:
    """Nobody answers there."""

    def __init__(self) -> None:
        self.dialled = threading.Event()

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        self.dialled.set()
        return self

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        raise NotImplementedError

    def cancel(self) -> None:
        """Of a dialing."""


def test_a_client_that_takes_no_answers_does_not_hold_up_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_broker, "STOP_WITHIN_MS", 50)
    with Broker(topics={"t": 1}) as broker, socket.socket() as client:
        send(broker.bootstrap, "t", bytes(900_000))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(address_of(broker))
        for n in range(4):
            frame = request_frame(fetch("t", {0: 0}), FETCH, correlation_id=n, client_id="slow")
            client.sendall(b"".join(bytes(part) for part in frame if isinstance(part, bytes)))
        assert client.recv(1), "the first answer is on its way"
        broker.stop()
        assert not broker.is_running


def test_a_broker_that_stops_by_itself_says_so() -> None:
    broker = Broker().start()
    life = broker._life
    assert life is not None

    def break_something() -> None:
        raise InvariantError("two and two are five")

    life._loop.call_soon_threadsafe(break_something)
    with pytest.raises(BrokerError):
        life.ended.result(10)
    assert not broker.is_running
    assert not can_be_dialled(broker.bootstrap)
    with pytest.raises(BrokerError, match="not running"):
        broker.create_topic("orders")
    with pytest.raises(BrokerError, match=r"stopped by itself.*two and two are five"):
        broker.stop()
    broker.stop()


def test_what_is_asked_of_a_broker_that_stops_meanwhile_ends() -> None:
    broker = Broker().start()
    life = broker._life
    assert life is not None
    network = life._network = SilentNetwork()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(broker.create_topic, "orders")
        assert network.dialled.wait(10)
        broker.stop()
        with pytest.raises(BrokerError, match="did not create topic 'orders': it was stopped"):
            asked.result(10)


def test_a_data_folder_that_was_removed_is_told_at_the_stop(tmp_path: Path) -> None:
    data = tmp_path / "d"
    broker = Broker(topics={"t": 1}, data=data).start()
    shutil.rmtree(data)
    with pytest.raises(BrokerError, match=r"^kafkalite did not stop cleanly: [^\n]*No such file"):
        broker.stop()
    assert not broker.is_running
    assert not can_be_dialled(broker.bootstrap)
    broker.stop()


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda: Broker().bootstrap, "not started: use start"),
        (lambda: Broker().create_topic("t"), "kafkalite is not running here"),
        (lambda: Broker(topics={"a b": 1}).start(), "topic 'a b' cannot be created: Topic name is"),
        (lambda: Broker(topics={"t": 0}).start(), "topic 't' cannot be created: Number of part"),
        (
            lambda: Broker(topics={"t": 1}, settings={"socket.request.max.bytes": 1}).start(),
            "topic 't' cannot be created: kafkalite hangs up; do its settings let a client in",
        ),
        (
            lambda: Broker(topics={"t": 1, "u": 1}, settings={"max.connections": 0}).start(),
            "topics 't', 'u' cannot be created: kafkalite hangs up; do its settings let a client",
        ),
        (lambda: Broker(data=__file__).start(), f"kafkalite cannot start: {__file__}: Not a dir"),
        (
            lambda: Broker(settings={"listeners": "PLAINTEXT://192.0.2.1:0"}).start(),
            "cannot start: cannot listen on 192.0.2.1:0: Cannot assign",
        ),
    ],
)
def test_what_fails_is_told_in_one_line(use: Callable[[], object], told: str) -> None:
    with pytest.raises(BrokerError) as failure:
        use()
    message = str(failure.value)
    assert told in message
    assert "\n" not in message


def test_a_port_in_use_is_told_with_the_remedy() -> None:
    with Broker() as broker:
        port = address_of(broker).port
        with pytest.raises(BrokerError, match=rf"{port}: Address.*in use; port=0 takes a free one"):
            Broker(port=port).start()


def test_a_thread_that_cannot_be_had_leaves_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    broker = Broker()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(BrokerError, match="cannot start: can't start new thread"):
            broker.start()
    assert not broker.is_running
    broker.stop()
