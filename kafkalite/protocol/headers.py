"""What stands before each request and response, and which version of it.

    request   api_key (int16) | api_version (int16) | correlation_id (int32) | client_id | tags
    response  correlation_id (int32) | tags

Requests have header version 2 and responses version 1 where the API's version is flexible, else 1
and 0; `client_id` keeps its int16 length always. Two exceptions: ControlledShutdown v0 has header
version 0, without a client id, and the response to ApiVersions always has version 0, since its
reader may not know yet what the broker speaks (KIP-511; `ApiMessageType.java`).
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from kafkalite.errors import ProtocolError
from kafkalite.protocol.api_keys import FACTS, ApiKey
from kafkalite.protocol.codec import decode_prefix, encode, encode_parts
from kafkalite.protocol.fields import Sized
from kafkalite.protocol.framing import add_length
from kafkalite.protocol.messages.header import RequestHeader, ResponseHeader
from kafkalite.protocol.schema import Request, Response, schema_of

Buffer = bytes | bytearray | memoryview

_KEY_AND_VERSION: Final = Struct(">hh")
_CORRELATION: Final = Struct(">i")
_CORRELATION_AND_NO_TAGS: Final = Struct(">ix")


def request_header_version(key: int, version: int) -> int:
    """For any version of the API, served or not. `ProtocolError` for a key that is none."""
    facts = FACTS.get(key)
    if facts is None:
        raise ProtocolError(f"there is no API {key}")
    if facts.first_flexible_version is not None and version >= facts.first_flexible_version:
        return 2
    return 0 if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0 else 1


def response_header_version(key: int, version: int) -> int:
    """As `request_header_version`."""
    if key == ApiKey.API_VERSIONS:
        return 0
    return 1 if request_header_version(key, version) == 2 else 0


def read_request_header(buffer: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
    """The header at `position` of a frame, and where the request starts. `ProtocolError` when it is
    cut off or its key is none; whether the version is served is for the caller to say."""
    try:
        key, version = _KEY_AND_VERSION.unpack_from(buffer, position)
    except error:
        raise ProtocolError("the bytes end before the request header does") from None
    return decode_prefix(RequestHeader, request_header_version(key, version), buffer, position)


def response_header(key: int, version: int, correlation_id: int) -> bytes:
    """The encoded header of a response to version `version`."""
    if response_header_version(key, version):
        return _CORRELATION_AND_NO_TAGS.pack(correlation_id)
    return _CORRELATION.pack(correlation_id)


def read_response_header(
    key: int, version: int, buffer: Buffer, position: int = 0
) -> tuple[ResponseHeader, int]:
    """The header at `position` of a frame, and where the response starts."""
    return decode_prefix(ResponseHeader, response_header_version(key, version), buffer, position)


def request_frame(
    request: Request, version: int, *, correlation_id: int, client_id: str | None
) -> list[Buffer | Sized]:
    """The whole frame, length and all, in parts. Errors as `codec.encode`."""
    key = schema_of(type(request)).api_key
    header = RequestHeader(
        request_api_key=key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    header_bytes = encode(header, request_header_version(key, version))
    return _frame(header_bytes, encode_parts(request, version))


def response_frame(
    response: Response, version: int, *, correlation_id: int
) -> list[Buffer | Sized]:
    """The whole frame, length and all, in parts. Errors as `codec.encode`."""
    key = schema_of(type(response)).api_key
    header_bytes = response_header(key, version, correlation_id)
    return _frame(header_bytes, encode_parts(response, version))


def _frame(header: bytes, parts: list[Buffer | Sized]) -> list[Buffer | Sized]:
    """The encoder's first part is its own bytes, never records: the header joins it."""
    first, *rest = parts or [b""]
    assert isinstance(first, bytes), first
    return add_length([header + first, *rest])
