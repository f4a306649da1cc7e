"""What a process answers that is a controller alone, where no quorum is formed: ApiVersions, with
nothing but itself in the list. So clients that mistake it for a broker hear from their library what
they hear of a controller of Kafka (it does not support METADATA), and checks of its port pass.

Kafka differs: a controller alone serves its quorum, and tools that ask it by
`--bootstrap-controller`. Here there is nothing that it could tell: all but ApiVersions closes the
connection, as there what is for a broker.
"""

from __future__ import annotations

from typing import cast

from kafkalite.errors import ProtocolError
from kafkalite.log.files import Part
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.codec import decode_prefix
from kafkalite.protocol.hot import read_request_header, response_frame
from kafkalite.protocol.messages.api_versions import ApiVersionsResponse
from kafkalite.server.apis import api_versions
from kafkalite.server.apis.table import listed
from kafkalite.server.connection import Answer, ClientConnection
from kafkalite.server.request import Session


def answer(connection: ClientConnection[Session], frame: memoryview) -> Answer:
    """The answer of one frame (without its length), see `Handle`. `ProtocolError` closes the
    connection."""
    header, position = read_request_header(frame)
    key, version = header.request_api_key, header.request_api_version
    api = api_versions.API
    if key != ApiKey.API_VERSIONS:
        raise ProtocolError(f"{ApiKey(key).name} is not served by a controller alone")
    if api.min_version <= version <= api.max_version:
        decode_prefix(api.request, version, frame, position)
        response = ApiVersionsResponse(api_keys=listed([api_versions]))
    else:
        version, response = 0, api_versions.unsupported_version()
    parts = response_frame(response, version, correlation_id=header.correlation_id)
    return cast("list[Part]", parts)  # There are no records fields, whose type it cannot tell.
