"""What a command makes of the bytes with which a broker answers."""

from __future__ import annotations

import socket
from typing import cast

import pytest

from kafkalite.cli.authentication import SpeaksTlsError, ask
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse


class Answering:
    """Gives these, one after the other, and then hangs up."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)

    def sendall(self, data: bytes) -> None: ...

    def recv(self, size: int) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


@pytest.mark.parametrize(
    "chunks", [(b"\x15\x03\x03\x00\x02\x02\x46",), (b"\x15", b"\x03\x03\x00\x02\x02\x46")]
)
def test_an_alert_is_known_however_it_comes(chunks: tuple[bytes, ...]) -> None:
    connection = cast("socket.socket", Answering(*chunks))
    with pytest.raises(SpeaksTlsError):
        ask(connection, MetadataRequest(topics=[]), 1, MetadataResponse)
