"""BrokerHeartbeat: a broker tells the controller which of its log folders are offline (KIP-858).

Versions: 1 to 2. Between brokers: clients are not told of it.
- 2 cordoned folders, which are left alone here.

Kafka differs: heartbeats say that a broker lives, and it is fenced without them. Here its session
with the metadata store says that, and only offline folders are told so.

Only the controller answers; another broker says NOT_CONTROLLER.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import DirectoriesKnown, FailDirectories
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer, refuse_elsewhere
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerEpoch, BrokerId

API = Api(
    ApiKey.BROKER_HEARTBEAT,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    min_version=1,
    max_version=2,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: BrokerHeartbeatRequest) -> Parked:
    """Ask the controller, and wait for the commit."""
    refuse_elsewhere(ctx)
    parked, on_reply = parked_answer(ctx.services, answer=_answer, refuse=partial(refuse, request))
    event = FailDirectories(
        None,
        BrokerId(request.broker_id),
        BrokerEpoch(request.broker_epoch),
        tuple(request.offline_log_dirs),
    )
    ctx.services.controller.submit(event, on_reply)
    return parked


def refuse(
    request: BrokerHeartbeatRequest, code: ErrorCode, message: str
) -> BrokerHeartbeatResponse:
    """The code for the whole request."""
    return BrokerHeartbeatResponse(error_code=code)


def _answer(known: DirectoriesKnown) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False)
