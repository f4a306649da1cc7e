"""SaslAuthenticate: a token of the mechanism that a client has chosen. Where one is due, the gate
of the listener answers (`server/sasl_gate.py`); here is what is told elsewhere, and to those who
are in.

Versions: 0 to 2.
- 1 tells how long the session lasts (KIP-368). 2 is flexible.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    min_version=0,
    max_version=2,
    missing="GSSAPI, signed tokens for OAUTHBEARER, delegation tokens for SCRAM, and mechanisms"
    " that a Java class brings, see `config/sasl.py`.",
)


def handle(ctx: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    """ILLEGAL_SASL_STATE."""
    message = "SaslAuthenticate request received after successful authentication"
    return refuse(request, ErrorCode.ILLEGAL_SASL_STATE, message)


def refuse(
    request: SaslAuthenticateRequest, code: ErrorCode, message: str
) -> SaslAuthenticateResponse:
    """The code and the message."""
    return SaslAuthenticateResponse(error_code=code, error_message=message)
