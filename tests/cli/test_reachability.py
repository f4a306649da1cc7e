"""What takes connections at the address of a broker, and is none: it is told at once, not when a
client's patience is over."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kafkalite.cli.client_security import ClientSecurity, Login
from kafkalite.cli.errors import CommandError
from kafkalite.cli.reachability import CONNECT_WITHIN_S, check_advertised
from kafkalite.ports.clock import RealClock
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkalite.protocol.messages.metadata import MetadataResponse

Answer = Callable[[bytes], bytes | None]
"""To what came at first; None: hang up."""

IN_CLEAR = ClientSecurity()
NOT_ONE = "answers, but is no Kafka broker; name one with --bootstrap"
HANGS_UP = "takes connections, and hangs up on clients without TLS and SASL"
ASKS = "asks clients who they are; say security.protocol=SASL_PLAINTEXT"


@contextmanager
def server(answer: Answer) -> Iterator[tuple[str, int]]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            said = answer(self.request.recv(4096))
            if said is not None:
                self.request.sendall(said)
                self.request.recv(4096)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield ("127.0.0.1", serving.server_address[1])
        finally:
            serving.shutdown()
            thread.join()


def told(answer: Answer, security: ClientSecurity = IN_CLEAR) -> str:
    with server(answer) as place, pytest.raises(CommandError) as refused:
        check_advertised(place, security)
    (line,) = str(refused.value).splitlines()
    return line.removeprefix(f"{place[0]}:{place[1]} ")


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"-ERR unknown command\r\n",
        b"\x4a\x00\x00\x00\x0a8.0.36",
        b"\x00\x00\x00\x04\xff\xff\xff\xff",
    ],
    ids=["http", "ssh", "redis", "mysql", "a frame"],
)
def test_what_answers_and_is_no_broker(said: bytes) -> None:
    assert told(lambda asked: said) == NOT_ONE


def test_what_waits_for_the_end_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """As servers of HTTP do, which have something to say then."""
    monkeypatch.setattr("kafkalite.cli.reachability._SILENT_FOR_S", 0.05)

    def answer(asked: bytes) -> bytes:
        return b"HTTP/1.0 404" if asked.endswith(b"\r\n\r\n") else b""

    assert told(answer) == NOT_ONE


def test_what_waits_for_the_end_of_a_line_is_told_as_soon_to_who_would_log_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kafkalite.cli.reachability._SILENT_FOR_S", 0.05)

    def answer(asked: bytes) -> bytes:
        return b"HTTP/1.0 404" if asked.endswith(b"\r\n\r\n") else b""

    login = Login("PLAIN", "alice", "alice-secret")
    clock = RealClock()
    begun_ms = clock.now_ms()
    line = told(answer, ClientSecurity("SASL_PLAINTEXT", login=login))
    assert clock.now_ms() - begun_ms < CONNECT_WITHIN_S * 1000
    assert "does not answer like a Kafka broker that speaks SASL_PLAINTEXT (it answers" in line


def test_what_hangs_up_at_once() -> None:
    assert told(lambda asked: None).startswith(HANGS_UP)


def test_who_lists_what_it_serves_and_hangs_up_asks_who_somebody_is() -> None:
    def answer(asked: bytes) -> bytes | None:
        is_api_versions = asked[4:6] == b"\0\x12"
        served = ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, max_version=13)])
        return framed(encode(served, 0)) if is_api_versions else None

    assert told(answer).startswith(ASKS)


def test_a_broker_that_is_too_old_for_the_question_is_let_be() -> None:
    def answer(asked: bytes) -> bytes | None:
        return framed(encode(MetadataResponse(), 0)) if asked[4:8] == b"\0\3\0\0" else None

    with server(answer) as place:
        check_advertised(place, ClientSecurity())


def framed(body: bytes) -> bytes:
    """The answer to a first request."""
    return (len(body) + 4).to_bytes(4, "big") + b"\0\0\0\0" + body
