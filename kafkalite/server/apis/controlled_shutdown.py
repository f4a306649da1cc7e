"""ControlledShutdown: a broker wants to stop, and others are to lead what it leads.

Versions: 3, the one of Kafka 3.9. Between brokers: clients are not told of it.

Only the controller answers; another broker says NOT_CONTROLLER.

Kafka differs: a KRaft broker says so in its heartbeats, and is not told what it leads still.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.replica_events import BrokerShutDown, ShutDownBroker
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer, refuse_elsewhere
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerEpoch, BrokerId

API = Api(
    ApiKey.CONTROLLED_SHUTDOWN,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    min_version=3,
    max_version=3,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: ControlledShutdownRequest) -> Parked:
    """Ask the controller, and wait for the commit."""
    refuse_elsewhere(ctx)
    parked, on_reply = parked_answer(ctx.services, answer=_answer, refuse=partial(refuse, request))
    event = ShutDownBroker(None, BrokerId(request.broker_id), BrokerEpoch(request.broker_epoch))
    ctx.services.controller.submit(event, on_reply)
    return parked


def refuse(
    request: ControlledShutdownRequest, code: ErrorCode, message: str
) -> ControlledShutdownResponse:
    """The code for the whole request."""
    return ControlledShutdownResponse(error_code=code)


def _answer(shut_down: BrokerShutDown) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(
        remaining_partitions=[
            RemainingPartition(topic_name=each.topic, partition_index=each.partition)
            for each in shut_down.remaining
        ]
    )
