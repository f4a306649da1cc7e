"""SaslHandshake: which mechanism a client will show by who it is. Where that is asked, the gate of
the listener answers (`server/sasl_gate.py`); here is what is told elsewhere, and to those who are
in.

Versions: 0 to 1.
- 1 has the tokens that follow come in requests of SaslAuthenticate (KIP-152).
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse, min_version=0, max_version=1
)


def handle(ctx: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """ILLEGAL_SASL_STATE."""
    return refuse(request, ErrorCode.ILLEGAL_SASL_STATE, "")


def refuse(request: SaslHandshakeRequest, code: ErrorCode, message: str) -> SaslHandshakeResponse:
    """The code, and no mechanism."""
    return SaslHandshakeResponse(error_code=code)
