"""What one broker asks another, from the asking to its end, and in which version it goes out."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.errors import KafkaError, ProtocolError
from kafkalite.ports.clock import Timer
from kafkalite.protocol.api_keys import response_class
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header
from kafkalite.protocol.schema import Request, Response, schema_of
from kafkalite.protocol.versions import Versions

OnResponse = Callable[[Response | KafkaError], None]
"""Gets the response, or why there is none. Record bytes in it are views that die when it
returns."""


class Asked:
    """One request from the asking to its response."""

    __slots__ = ("api_key", "correlation_id", "is_over", "on_reply", "request", "timer", "version")

    def __init__(self, request: Request, on_reply: OnResponse, version_cap: int | None) -> None:
        self.request: Request | None = request
        """Let go of when it is sent."""
        self.api_key = schema_of(type(request)).api_key
        self.on_reply = on_reply
        self.version = version_cap
        """The highest that it may have, until it is sent; the one that it has, after that."""
        self.correlation_id = 0
        self.timer: Timer | None = None
        self.is_over = False

    def read(self, frame: memoryview) -> Response:
        """What is answered in the frame, which is due. `ProtocolError` for what makes no sense."""
        assert self.version is not None, "not sent"
        header, position = read_response_header(self.api_key, self.version, frame)
        if header.correlation_id != self.correlation_id:
            raise ProtocolError(
                f"the answer of request {header.correlation_id}, where that of "
                f"{self.correlation_id} is due"
            )
        return decode(response_class(self.api_key), self.version, frame[position:])

    def end(self, reply: Response | KafkaError) -> None:
        """Once; after that it does nothing."""
        if self.is_over:
            return
        self.is_over = True
        self.request = None
        if self.timer is not None:
            self.timer.cancel()
        self.on_reply(reply)


def common_version(asked: Asked, theirs: dict[int, Versions]) -> int | None:
    """The highest that both know and the asker wants; None: there is none. What brokers alone are
    served is not listed by all: then it is our own. What a client asks through us, which has a cap,
    is listed where it is served: a Kafka hangs up on the rest."""
    assert asked.request is not None, "sent twice"
    ours = schema_of(type(asked.request)).versions
    offered = theirs.get(asked.api_key, ours if asked.version is None else None)
    if offered is None:
        return None
    version = min(ours.last, offered.last)
    if asked.version is not None:
        version = min(version, asked.version)
    return version if version in ours and version in offered else None
