"""The header of every request and the frame around every response, by hand.

The same as `headers` gives through the compiled codecs, but without a copy of the frame, however
large, and at less cost: both stand in the way of each request. `headers` stays the model, which
serves rare shapes and holds the tests. Produce and Fetch themselves need nothing of the kind
(docs/decisions/0002-compression-libraries.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct, error
from typing import TYPE_CHECKING, Final

from kafkalite.protocol import headers
from kafkalite.protocol.api_keys import FACTS, ApiKey
from kafkalite.protocol.codec import Buffer, encode_parts
from kafkalite.protocol.messages.header import RequestHeader
from kafkalite.protocol.schema import Response, schema_of

if TYPE_CHECKING:
    from kafkalite.protocol.fields import Sized

_FIXED: Final = Struct(">hhih")
"""API key, its version, correlation id, and the length of the client id."""
_LENGTH_AND_CORRELATION: Final = Struct(">ii")
_LENGTH_CORRELATION_AND_NO_TAGS: Final = Struct(">iix")
_LENGTH_SIZE: Final = 4
_CONTROLLED_SHUTDOWN: Final = int(ApiKey.CONTROLLED_SHUTDOWN)
"""Its version 0 has a header of its own."""


def read_request_header(buffer: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
    """The header at `position` of a frame, and where the request starts. Errors as in `headers`."""
    try:
        key, version, correlation_id, length = _FIXED.unpack_from(buffer, position)
    except error:
        return headers.read_request_header(buffer, position)
    begin = position + _FIXED.size
    end = begin + length if length > 0 else begin
    facts = FACTS.get(key)
    if facts is None or end > len(buffer) or key == _CONTROLLED_SHUTDOWN:
        return headers.read_request_header(buffer, position)
    after = end
    flexible = facts.first_flexible_version
    if flexible is not None and version >= flexible:
        if end == len(buffer) or buffer[end]:
            return headers.read_request_header(buffer, position)
        after = end + 1
    header = object.__new__(RequestHeader)
    header.request_api_key = key
    header.request_api_version = version
    header.correlation_id = correlation_id
    header.client_id = None if length < 0 else str(buffer[begin:end], "utf-8", "replace")
    header.unknown_tagged_fields = ()
    return header, after


def response_frame(
    response: Response, version: int, *, correlation_id: int
) -> list[Buffer | Sized]:
    """The whole frame, length and all, in parts. Errors as in `headers`."""
    parts = encode_parts(response, version) or [b""]
    pack, header_size = _prefix(type(response), version)
    size = header_size + sum(map(len, parts))
    first = parts[0]
    assert isinstance(first, bytes), first
    parts[0] = pack(size, correlation_id) + first
    return parts


@cache
def _prefix(cls: type[Response], version: int) -> tuple[Callable[[int, int], bytes], int]:
    """What packs length and header of such a response, and the bytes of the header alone."""
    if headers.response_header_version(schema_of(cls).api_key, version):
        prefix = _LENGTH_CORRELATION_AND_NO_TAGS
    else:
        prefix = _LENGTH_AND_CORRELATION
    return prefix.pack, prefix.size - _LENGTH_SIZE
