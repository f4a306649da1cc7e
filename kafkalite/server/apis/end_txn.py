"""EndTxn: a producer commits or aborts its transaction.

Versions: 0 to 5.
- 2 knows PRODUCER_FENCED. 3 flexible. 4 knows TRANSACTION_ABORTABLE.
- 5 gives the producer another epoch, or another id, for its next transaction (KIP-890).

The answer comes when the outcome is decided; markers are written after that. What each state of the
transaction answers is a table in `coordinator/transactions/ending.py`.
"""

from __future__ import annotations

from functools import partial

from kafkalite.coordinator.transactions.events import EndTransaction, Producer, TransactionEnding
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for, told
from kafkalite.types import ProducerEpoch, ProducerId

API = Api(ApiKey.END_TXN, EndTxnRequest, EndTxnResponse, min_version=0, max_version=5)

_FIRST_VERSION_WITH_FENCED = 2
_FIRST_VERSION_WITH_BUMP = 5


def handle(ctx: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Parked:
    """Ask the coordinator to decide."""
    event = EndTransaction(
        None,
        request.transactional_id,
        Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch)),
        request.committed,
        protocol_version=2 if ctx.version >= _FIRST_VERSION_WITH_BUMP else 0,
    )

    def answer(reply: TransactionEnding | KafkaError) -> EndTxnResponse:
        if isinstance(reply, KafkaError):
            return EndTxnResponse(
                error_code=told(reply.code, ctx.version, _FIRST_VERSION_WITH_FENCED)
            )
        id, epoch = reply.producer
        return EndTxnResponse(producer_id=id, producer_epoch=epoch)

    submit = partial(ctx.services.transactions.ask_with_id, event)
    return ask_for(ctx, submit, TransactionEnding, answer)


def refuse(request: EndTxnRequest, code: ErrorCode, message: str) -> EndTxnResponse:
    """The code."""
    return EndTxnResponse(error_code=code)
