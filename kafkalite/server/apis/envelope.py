"""Envelope: another broker hands on what one of its clients asks of the controller (KIP-590).

Versions: 0. Between brokers: clients are not told of it.

Kafka differs: it checks that the sender may act for the cluster, and who the client inside is. Here
nobody can be asked who they are yet.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.ENVELOPE,
    EnvelopeRequest,
    EnvelopeResponse,
    min_version=0,
    max_version=0,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: EnvelopeRequest) -> EnvelopeResponse | Parked:
    """Answer what is inside."""
    envelopes = ctx.services.envelopes
    if envelopes is None:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    return envelopes.open(ctx, request)


def refuse(request: EnvelopeRequest, code: ErrorCode, message: str) -> EnvelopeResponse:
    """The code, around nothing."""
    return EnvelopeResponse(error_code=code)
