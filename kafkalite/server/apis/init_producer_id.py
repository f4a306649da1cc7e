"""InitProducerId: a producer id for an idempotent producer.

Versions: 0 to 5.
- 2 flexible. 3 the producer may tell its old id and epoch. 4 knows PRODUCER_FENCED. 5 as 4.

Without a transactional id every call gives a fresh id with epoch 0, whatever the producer told; an
old id without its epoch, or an epoch without its id, is an INVALID_REQUEST.

Kafka differs: until its first block of ids has come it answers COORDINATOR_LOAD_IN_PROGRESS, and
the client asks again. Here the answer waits for the block.

Missing: transactional ids, which come with the transaction coordinator; they are refused with
UNSUPPORTED_VERSION, upon which clients give up and say so, and with a line in the log.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import NoReturn

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
from kafkalite.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerId

_log = logging.getLogger(__name__)

API = Api(
    ApiKey.INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
    min_version=0,
    max_version=5,
    missing="transactional ids",
)


def handle(ctx: RequestContext, request: InitProducerIdRequest) -> Parked:
    """A fresh id; it waits while a new block of ids is reserved."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        _refuse_transactions(ctx, request)
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


def _refuse_transactions(ctx: RequestContext, request: InitProducerIdRequest) -> NoReturn:
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if not 0 < request.transaction_timeout_ms <= ctx.services.config.transaction_max_timeout_ms:
        raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    _log.warning(
        "%r asks for transactions (transactional.id %r): they are not served yet",
        ctx.client_id,
        request.transactional_id,
    )
    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
