"""AllocateProducerIds: a broker wants a block of producer ids from the controller (KIP-730).

Versions: 0. Between brokers: clients are not told of it.

Only the controller answers; another broker says NOT_CONTROLLER.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import AllocateProducerIds, ProducerIdBlock
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer, refuse_elsewhere
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerEpoch, BrokerId

API = Api(
    ApiKey.ALLOCATE_PRODUCER_IDS,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    min_version=0,
    max_version=0,
    between_brokers=True,
)


def handle(ctx: RequestContext, request: AllocateProducerIdsRequest) -> Parked:
    """Ask the controller, and wait for the commit."""
    refuse_elsewhere(ctx)
    parked, on_reply = parked_answer(ctx.services, answer=_answer, refuse=partial(refuse, request))
    event = AllocateProducerIds(
        None, BrokerId(request.broker_id), BrokerEpoch(request.broker_epoch)
    )
    ctx.services.controller.submit(event, on_reply)
    return parked


def refuse(
    request: AllocateProducerIdsRequest, code: ErrorCode, message: str
) -> AllocateProducerIdsResponse:
    """The code, and no ids."""
    return AllocateProducerIdsResponse(error_code=code)


def _answer(block: ProducerIdBlock) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.size)
