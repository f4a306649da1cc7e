"""AddPartitionsToTxn: what a transaction is about to write to.

Versions: 0 to 5.
- 2 knows PRODUCER_FENCED. 3 flexible.
- 4 is asked by brokers: several transactions, and whether partitions were added (KIP-890).
- 5 knows TRANSACTION_ABORTABLE.

If a partition of a transaction does not exist, or a client names an internal topic, none is added:
the others are told OPERATION_NOT_ATTEMPTED. Clients of version 2 of the protocol do not ask: their
first Produce adds.

Kafka differs: it never answers a request of version 4 or later without transactions.

Kafka differs: of transactions of one id in a request it adds the last one's partitions alone, and
answers each with the first one's. Here each is looked at by itself.
"""

from __future__ import annotations

from functools import partial

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsVerified,
    Producer,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.core_driver import ask_each
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for, told
from kafkalite.server.transaction_verification import ask_about_existing
from kafkalite.types import ProducerEpoch, ProducerId, TopicPartition

API = Api(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    min_version=0,
    max_version=5,
)

_FIRST_VERSION_WITH_FENCED = 2
_FIRST_VERSION_OF_BROKERS = 4
_BUMPS_EPOCHS = 2
"""What brokers add is added for a producer under version 2 of the protocol."""


def handle(
    ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Parked:
    """Ask for each transaction; the answer goes out when all are there."""
    by_broker = ctx.version >= _FIRST_VERSION_OF_BROKERS
    asked = request.transactions if by_broker else [_of_client(request)]

    def answer(replies: list[object] | KafkaError) -> AddPartitionsToTxnResponse:
        if isinstance(replies, KafkaError):
            return refuse(request, replies.code, replies.message)
        results = [_results(ctx, *each) for each in zip(asked, replies, strict=True)]
        if not by_broker:
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0])
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id, topic_results=topics
                )
                for each, topics in zip(asked, results, strict=True)
            ]
        )

    version = _BUMPS_EPOCHS if by_broker else 0
    asks = [
        partial(
            ask_about_existing,
            ctx.services,
            _event(each, version),
            verifies=each.verify_only,
            of_client=not by_broker,
        )
        for each in asked
    ]
    return ask_for(ctx, partial(ask_each, asks), list, answer)


def refuse(
    request: AddPartitionsToTxnRequest, code: ErrorCode, message: str
) -> AddPartitionsToTxnResponse:
    """The same code for every partition; from version 4 on for the request alone."""
    return AddPartitionsToTxnResponse(
        error_code=code,
        results_by_topic_v3_and_below=_same(request.v3_and_below_topics, code),
    )


def _of_client(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    """Versions before 4, as one of the later ones."""
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


def _event(asked: AddPartitionsToTxnTransaction, protocol_version: int) -> AddPartitions:
    partitions = frozenset(
        TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partitions
    )
    producer = Producer(ProducerId(asked.producer_id), ProducerEpoch(asked.producer_epoch))
    return AddPartitions(None, asked.transactional_id, producer, partitions, protocol_version)


def _results(
    ctx: RequestContext, asked: AddPartitionsToTxnTransaction, reply: object
) -> list[AddPartitionsToTxnTopicResult]:
    if isinstance(reply, KafkaError):
        return _same(asked.topics, told(reply.code, ctx.version, _FIRST_VERSION_WITH_FENCED))
    results = _same(asked.topics, ErrorCode.NONE)
    if isinstance(reply, PartitionsVerified):
        for topic in results:
            for result in topic.results_by_partition:
                partition = TopicPartition(topic.name, result.partition_index)
                result.partition_error_code = reply.codes[partition]
    return results


def _same(
    topics: list[AddPartitionsToTxnTopic], code: ErrorCode
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
