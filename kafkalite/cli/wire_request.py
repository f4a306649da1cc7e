"""Requests that kafka-python does not know, over its connections: our own codecs encode and decode
them, and it sees to brokers, TLS and passwords.

It takes whatever has the parts of its own requests that it looks at; those are the public names of
the classes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from kafkalite.protocol.codec import decode_prefix
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.schema import Request, Response, schema_of

if TYPE_CHECKING:
    from io import BytesIO

    from kafka.admin import KafkaAdminClient

R = TypeVar("R", bound=Response)


class WireRequest(Generic[R]):
    """One request, in a version that the broker is known to take."""

    def __init__(self, request: Request, version: int, response: type[R]) -> None:
        self.API_KEY = schema_of(type(request)).api_key
        self.API_VERSION = version
        self.header = _Header(self.API_KEY, version, response)
        self._request = request
        self._client_id = ""

    def expect_response(self) -> bool:
        """Always."""
        return True

    def with_header(self, correlation_id: int, client_id: str) -> None:
        """What goes with it."""
        self.header.correlation_id = correlation_id
        self._client_id = client_id

    def encode(self, *, framed: bool, header: bool) -> bytes:
        """With its length and its header."""
        assert framed, "kafka-python asks for it"
        assert header, "and for that"
        parts = request_frame(
            self._request,
            self.API_VERSION,
            correlation_id=self.header.correlation_id,
            client_id=self._client_id,
        )
        # Requests hold nothing but bytes.
        return b"".join(map(bytes, parts))  # type: ignore[arg-type]


class _Header(Generic[R]):
    """Remembered until the answer comes."""

    def __init__(self, api_key: int, api_version: int, response: type[R]) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = 0
        self._response = response

    def get_response_class(self) -> _Answers[R]:
        """Who reads the answer."""
        return _Answers(self.api_key, self.api_version, self._response)


class _Answers(Generic[R]):
    """Reads one answer, its header first."""

    def __init__(self, api_key: int, api_version: int, response: type[R]) -> None:
        self._key = api_key
        self._version = api_version
        self._response = response

    def parse_header(self, buffer: BytesIO) -> _AnswerHeader:
        """Leaves `buffer` behind it."""
        begin = buffer.tell()
        data = buffer.read()
        header, end = read_response_header(self._key, self._version, data)
        buffer.seek(begin + end)
        return _AnswerHeader(header.correlation_id)

    def decode(self, buffer: BytesIO) -> Answer[R]:
        """The rest. What comes behind it is passed over."""
        message, _ = decode_prefix(self._response, self._version, buffer.read())
        return Answer(message, self._version)


class _AnswerHeader:
    def __init__(self, correlation_id: int) -> None:
        self.correlation_id = correlation_id


class Answer(Generic[R]):
    """What the broker has said."""

    def __init__(self, message: R, version: int) -> None:
        self.message = message
        self.API_VERSION = version
        self.throttle_time_ms = 0


def newest_version(admin: KafkaAdminClient, request: type[Request]) -> int | None:
    """Of those that both ends know; None: the broker does not know the request."""
    versions = schema_of(request).versions
    taken = {int(key): range_ for key, range_ in _broker_versions(admin).items()}
    range_ = taken.get(schema_of(request).api_key)
    if range_ is None or range_[0] > versions.last or range_[1] < versions.first:
        return None
    return min(range_[1], versions.last)


def _broker_versions(admin: KafkaAdminClient) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = admin._manager.broker_version_data.api_versions
    return found
