"""Whether clients get further than the first address: a broker that answers there tells them where
to go on, and that may be where nobody is."""

from __future__ import annotations

import socket

from kafkalite.cli.errors import CommandError
from kafkalite.errors import ProtocolError

CLIENT_ID = "kafkalite-cli"
CONNECT_WITHIN_S = 5.0
"""For each address."""
_VERSION = 1
"""Of Metadata: the first that can ask for no topic."""
_CHUNK_BYTES = 1 << 16

_Place = tuple[str, int]
"""A host and a port."""


def try_to_connect(place: _Place) -> None:
    """`OSError`, or `UnicodeError` for what can be no host's name, when nobody takes it."""
    socket.create_connection(place, CONNECT_WITHIN_S).close()


def check_advertised(bootstrap: _Place) -> None:
    """`CommandError` when the broker there tells clients to go where none of them can. What does
    not answer like a broker is no concern of this."""
    try:
        places = _advertised(bootstrap)
    except (OSError, ProtocolError):
        return
    problem = None
    for place in places:
        try:
            try_to_connect(place)
        except (OSError, UnicodeError) as error:
            problem = (
                f"{written(bootstrap)} answered, but tells clients to connect to {written(place)}, "
                f"which {_what_it_does(error)}; see advertised.listeners"
            )
        else:
            return
    if problem is not None:
        raise CommandError(problem)


def written(place: _Place) -> str:
    """As `HOST:PORT`."""
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _what_it_does(error: OSError | UnicodeError) -> str:
    match error:
        case socket.gaierror() | UnicodeError():
            return "this machine cannot resolve"
        case ConnectionRefusedError():
            return "refuses"
        case TimeoutError():
            return "does not answer"
        case _:
            return f"this machine cannot reach ({error.strerror or error})"


def _advertised(bootstrap: _Place) -> list[_Place]:
    """Of all brokers of the cluster."""
    from kafkalite.protocol.codec import decode
    from kafkalite.protocol.framing import FrameSplitter
    from kafkalite.protocol.headers import Buffer, read_response_header, request_frame
    from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
    from kafkalite.protocol.schema import schema_of

    request = MetadataRequest(topics=[])
    parts = request_frame(request, _VERSION, correlation_id=0, client_id=CLIENT_ID)
    with socket.create_connection(bootstrap, CONNECT_WITHIN_S) as connection:
        for part in parts:
            assert isinstance(part, Buffer), "it holds no records"
            connection.sendall(part)
        splitter = FrameSplitter()
        frames: list[bytes] = []
        while not frames:
            chunk = connection.recv(_CHUNK_BYTES)
            if not chunk:
                return []
            frames = splitter.feed(chunk)
    _, position = read_response_header(schema_of(MetadataRequest).api_key, _VERSION, frames[0])
    answer = decode(MetadataResponse, _VERSION, memoryview(frames[0])[position:])
    return [(broker.host, broker.port) for broker in answer.brokers]
