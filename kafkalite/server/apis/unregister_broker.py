"""UnregisterBroker: forget a broker that will not come back (KIP-631).

Versions: 0.

Partitions keep it among their replicas. A broker that lives is forgotten too, until it starts
again.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.replica_events import BrokerUnregistered, UnregisterBroker
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId

API = Api(
    ApiKey.UNREGISTER_BROKER,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    min_version=0,
    max_version=0,
    by_controller=True,
)


def handle(ctx: RequestContext, request: UnregisterBrokerRequest) -> Parked:
    """Ask the controller, and wait for it."""
    parked, on_reply = parked_answer(
        ctx.services, answer=_response, refuse=partial(refuse, request)
    )
    ctx.services.controller.submit(
        UnregisterBroker(token=None, broker_id=BrokerId(request.broker_id)), on_reply
    )
    return parked


def refuse(
    request: UnregisterBrokerRequest, code: ErrorCode, message: str
) -> UnregisterBrokerResponse:
    """The code and the reason."""
    return UnregisterBrokerResponse(error_code=code, error_message=message or None)


def _response(unregistered: BrokerUnregistered) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_message="")  # Not null, as Kafka has it.
