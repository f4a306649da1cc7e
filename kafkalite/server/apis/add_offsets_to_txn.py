"""AddOffsetsToTxn: a transaction is about to commit offsets of a group.

Versions: 0 to 4.
- 2 knows PRODUCER_FENCED. 3 flexible. 4 knows TRANSACTION_ABORTABLE.

What is added is the partition of `__consumer_offsets` that keeps the group. Clients of version 2 of
the protocol do not ask: their TxnOffsetCommit adds.
"""

from __future__ import annotations

from functools import partial

from kafkalite.coordinator.transactions.events import AddPartitions, PartitionsAdded, Producer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for, told
from kafkalite.types import ProducerEpoch, ProducerId, TopicPartition

API = Api(
    ApiKey.ADD_OFFSETS_TO_TXN,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    min_version=0,
    max_version=4,
)

_FIRST_VERSION_WITH_FENCED = 2


def handle(
    ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Parked:
    """Ask the coordinator to add the group's partition."""
    services = ctx.services
    home = TopicPartition(CONSUMER_OFFSETS, services.groups.partition_of(request.group_id))
    event = AddPartitions(
        None,
        request.transactional_id,
        Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch)),
        frozenset({home}),
    )

    def answer(reply: PartitionsAdded | KafkaError) -> AddOffsetsToTxnResponse:
        if isinstance(reply, KafkaError):
            code = told(reply.code, ctx.version, _FIRST_VERSION_WITH_FENCED)
            return AddOffsetsToTxnResponse(error_code=code)
        return AddOffsetsToTxnResponse()

    submit = partial(services.transactions.ask_about, event)
    return ask_for(ctx, submit, PartitionsAdded, answer)


def refuse(
    request: AddOffsetsToTxnRequest, code: ErrorCode, message: str
) -> AddOffsetsToTxnResponse:
    """The code."""
    return AddOffsetsToTxnResponse(error_code=code)
