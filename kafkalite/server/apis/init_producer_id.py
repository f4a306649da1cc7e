"""InitProducerId: a producer id for an idempotent producer.

Versions: 0 to 5.
- 2 flexible. 3 the producer may tell its old id and epoch. 4 knows PRODUCER_FENCED. 5 as 4.

Without a transactional id every call gives a fresh id with epoch 0, whatever the producer told; an
old id without its epoch, or an epoch without its id, is an INVALID_REQUEST.

Kafka differs: until its first block of ids has come it answers COORDINATOR_LOAD_IN_PROGRESS, and
the client asks again. Here the answer waits for the block.

With a transactional id each call gives the id another epoch, so that whoever had the one before it
writes no more (KIP-98); a producer that tells what it was goes on (KIP-360). While a transaction of
the id ends the answer is CONCURRENT_TRANSACTIONS, also when this call aborts it.

Not served: version 6, two-phase commit (KIP-939). Kafka does not advertise it either, with
`transaction.two.phase.commit.enable` or without, and hangs up on who asks for it.
"""

from __future__ import annotations

from functools import partial

from kafkalite.coordinator.transactions.events import InitProducerId, Producer, ProducerIdGiven
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for, told
from kafkalite.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerEpoch, ProducerId

API = Api(
    ApiKey.INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
    min_version=0,
    max_version=5,
)


_FIRST_VERSION_WITH_FENCED = 4


def handle(ctx: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse | Parked:
    """A fresh id; it waits while a new block of ids is reserved. Or the one of a transactional
    id."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _initialize(ctx, request, request.transactional_id)
    parked, on_id = parked_answer(
        ctx.services,
        answer=_fresh,
        refuse=partial(refuse, request),
        late=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )
    ctx.services.producer_ids.next(on_id)
    return parked


def refuse(request: InitProducerIdRequest, code: ErrorCode, message: str) -> InitProducerIdResponse:
    """No id."""
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )


def _fresh(producer_id: ProducerId) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _initialize(
    ctx: RequestContext, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse | Parked:
    transactions = ctx.services.transactions
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))
    event = InitProducerId(None, transactional_id, request.transaction_timeout_ms, expected)

    def answer(reply: ProducerIdGiven | KafkaError) -> InitProducerIdResponse:
        if isinstance(reply, KafkaError):
            code = told(reply.code, ctx.version, _FIRST_VERSION_WITH_FENCED)
            return refuse(request, code, reply.message)
        id, epoch = reply.producer
        return InitProducerIdResponse(producer_id=id, producer_epoch=epoch)

    submit = partial(transactions.initialize, event)
    return ask_for(ctx, submit, ProducerIdGiven, answer)
