"""One request over a connection of the commands' own, and how its answer comes."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafkalite.cli.authentication import SpeaksTlsError, ask
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

ALERT = b"\x15\x03\x03\x00\x02\x02\x46"
"""That what came was no TLS."""


class Chunks:
    """A connection on which these come, one after the other."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = [*chunks, b""]

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        return self._chunks.pop(0)


def asked(*chunks: bytes) -> SaslHandshakeResponse | None:
    connection = cast("Any", Chunks(*chunks))  # Any: it has what of a socket is used.
    return ask(connection, SaslHandshakeRequest(mechanism="PLAIN"), 1, SaslHandshakeResponse)


@pytest.mark.parametrize("at", range(len(ALERT)))
def test_who_speaks_tls_alone_is_known_however_the_alert_comes(at: int) -> None:
    with pytest.raises(SpeaksTlsError):
        asked(*filter(None, (ALERT[:at], ALERT[at:])))


def test_an_answer_that_comes_in_parts_may_look_like_it_in_the_middle() -> None:
    response = SaslHandshakeResponse(mechanisms=["PLAIN", ALERT.decode()])
    body = bytes(4) + encode(response, 1)
    frame = len(body).to_bytes(4) + body
    at = frame.index(ALERT)
    assert asked(frame[:at], frame[at:]) == response


def test_who_hangs_up_answers_nothing() -> None:
    assert asked(b"\0\0") is None
