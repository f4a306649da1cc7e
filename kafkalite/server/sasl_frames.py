"""Requests and answers of clients that are not let in yet, as bytes: the gate of a listener reads
and makes them (`sasl_gate.py`), for there is no dispatch that would do it."""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, cast

from kafkalite.errors import ProtocolError
from kafkalite.log.files import Part
from kafkalite.protocol.api_keys import FACTS
from kafkalite.protocol.hot import read_request_header, response_frame

if TYPE_CHECKING:
    from kafkalite.protocol.schema import Response
    from kafkalite.server.apis.api import Api
    from kafkalite.server.connection import Answer

_PREFIX = Struct(">hhi")
_ERROR_CODE = slice(8, 10)
"""Of a frame of ApiVersionsResponse, whose header never has tags."""


def request_prefix(frame: memoryview) -> tuple[int, int, int]:
    """API key, version, correlation id."""
    try:
        key, version, correlation_id = _PREFIX.unpack_from(frame)
    except error:
        raise ProtocolError(f"a frame of {len(frame)} bytes holds no request header") from None
    return key, version, correlation_id


def opened(api: Api, frame: memoryview, during: str) -> tuple[int, int, int]:
    """The version and correlation id of a request that has to be of that API, and where its body
    begins."""
    key, version, correlation_id = request_prefix(frame)
    if key != api.key:
        raise ProtocolError(f"Unexpected Kafka request of type {api_name(key)} during {during}.")
    if not api.min_version <= version <= api.max_version:
        raise ProtocolError(f"{api.key.name} version {version} is not served")
    _, position = read_request_header(frame)
    return version, correlation_id, position


def api_name(key: int) -> str:
    """As Kafka's messages have it; of a key that nobody knows, the number."""
    return FACTS[key].key.name if key in FACTS else str(key)


def is_refusal(answer: Answer) -> bool:
    """Of ApiVersions; one that a fault delays counts as an answer."""
    if not isinstance(answer, list):
        return False
    return any(bytes(cast("bytes", answer[0])[_ERROR_CODE]))


def answer_frame(response: Response, version: int, correlation_id: int) -> list[Part]:
    """Of a response without records."""
    # The type cannot tell that there are none.
    return cast("list[Part]", response_frame(response, version, correlation_id=correlation_id))
