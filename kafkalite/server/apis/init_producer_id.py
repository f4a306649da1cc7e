"""InitProducerId: a producer id for an idempotent producer.

Versions: 0 to 5.
- 2 flexible. 3 the producer may tell its old id and epoch. 4 knows PRODUCER_FENCED. 5 as 4.

Without a transactional id every call gives a fresh id with epoch 0, whatever the producer told; an
old id without its epoch, or an epoch without its id, is an INVALID_REQUEST.

Kafka differs: until its first block of ids has come it answers COORDINATOR_LOAD_IN_PROGRESS, and
the client asks again. Here the answer waits for the block.

Missing: transactional ids, which come with the transaction coordinator; they are refused with
COORDINATOR_NOT_AVAILABLE, which is what Kafka says while it has no such coordinator.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerId, TimestampMs

API = Api(
    ApiKey.INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
    min_version=0,
    max_version=5,
    missing="transactional ids",
)

_TIMEOUT_MS = 30_000
"""Kafka's default `request.timeout.ms`: how long a block of ids may take to come."""


def handle(ctx: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse | Parked:
    """A fresh id; parked only while a new block of ids is reserved."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    clock = ctx.services.clock
    parked = Parked(
        clock,
        TimestampMs(clock.now_ms() + _TIMEOUT_MS),
        lambda: refuse(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ""),
    )

    def on_id(result: ProducerId | KafkaError) -> None:
        if isinstance(result, KafkaError):
            refusal = result
            parked.complete(lambda: refuse(request, refusal.code, refusal.message))
        else:
            fresh = result
            parked.complete(lambda: InitProducerIdResponse(producer_id=fresh, producer_epoch=0))

    ctx.services.producer_ids.next(on_id)
    return parked


def refuse(request: InitProducerIdRequest, code: ErrorCode, message: str) -> InitProducerIdResponse:
    """No id."""
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
