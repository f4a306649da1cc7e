"""DescribeTransactions: transactional ids, and what belongs to the transaction of each.

Versions: 0 (KIP-664). An id that its coordinator does not know is TRANSACTIONAL_ID_NOT_FOUND.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import attrgetter

from kafkalite.coordinator.transactions import events
from kafkalite.coordinator.transactions.state import Transaction
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.core_driver import ask_each
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for

API = Api(
    ApiKey.DESCRIBE_TRANSACTIONS,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    min_version=0,
    max_version=0,
)


def handle(
    ctx: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse | Parked:
    """Ask the coordinator of each id."""
    ids = request.transactional_ids

    def answer(replies: list[object] | KafkaError) -> DescribeTransactionsResponse:
        each = [replies] * len(ids) if isinstance(replies, KafkaError) else replies
        return DescribeTransactionsResponse(transaction_states=list(map(_described, ids, each)))

    ask_about = ctx.services.transactions.ask_about
    asks = [partial(ask_about, events.DescribeTransactions(None, id)) for id in ids]
    return ask_for(ctx, partial(ask_each, asks), list, answer)


def refuse(
    request: DescribeTransactionsRequest, code: ErrorCode, message: str
) -> DescribeTransactionsResponse:
    """The same code for every id."""
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(transactional_id=id, error_code=code)
            for id in request.transactional_ids
        ]
    )


def _described(id: str, reply: object) -> TransactionState:
    if isinstance(reply, KafkaError):
        return TransactionState(transactional_id=id, error_code=reply.code)
    assert isinstance(reply, events.TransactionDescribed), reply
    transaction = reply.transaction
    return TransactionState(
        transactional_id=id,
        transaction_state=transaction.state.kafka_name,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=_topics(transaction),
    )


def _topics(transaction: Transaction) -> list[TopicData]:
    by_topic = groupby(sorted(transaction.partitions), key=attrgetter("topic"))
    return [
        TopicData(topic=topic, partitions=[each.partition for each in partitions])
        for topic, partitions in by_topic
    ]
