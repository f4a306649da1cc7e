"""AddPartitionsToTxn: what a transaction is about to write to.

Versions: 0 to 5.
- 2 knows PRODUCER_FENCED. 3 flexible.
- 4 is asked by brokers: several transactions, and whether partitions were added (KIP-890).
- 5 knows TRANSACTION_ABORTABLE.

If a partition of a transaction does not exist, none is added: the others are told
OPERATION_NOT_ATTEMPTED. Clients of version 2 of the protocol do not ask: their first Produce adds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsAdded,
    PartitionsVerified,
    Producer,
    VerifyPartitions,
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
)
from kafkalite.server.apis.api import Api
from kafkalite.server.core_driver import OnReply
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for, told
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


class _Asked(NamedTuple):
    transactional_id: str
    producer: Producer
    topics: list[AddPartitionsToTxnTopic]
    verifies: bool


class _AllCodes(NamedTuple):
    """Of each transaction, in the order of the request, what each partition is told."""

    codes: list[Callable[[TopicPartition], ErrorCode]]


def handle(
    ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Parked:
    """Ask for each transaction; the answer goes out when all are there."""
    by_broker = ctx.version >= _FIRST_VERSION_OF_BROKERS
    asked = _asked(request, by_broker=by_broker)

    def answer(reply: _AllCodes | KafkaError) -> AddPartitionsToTxnResponse:
        if isinstance(reply, KafkaError):
            return refuse(request, reply.code, reply.message)
        results = [
            _results(each.topics, code) for each, code in zip(asked, reply.codes, strict=True)
        ]
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

    return ask_for(ctx, partial(_ask_each, ctx, asked), _AllCodes, answer)


def refuse(
    request: AddPartitionsToTxnRequest, code: ErrorCode, message: str
) -> AddPartitionsToTxnResponse:
    """The same code for every partition; from version 4 on for the request alone."""
    return AddPartitionsToTxnResponse(
        error_code=code,
        results_by_topic_v3_and_below=_results(request.v3_and_below_topics, lambda _: code),
    )


def _asked(request: AddPartitionsToTxnRequest, *, by_broker: bool) -> list[_Asked]:
    if by_broker:
        return [
            _Asked(
                each.transactional_id,
                Producer(ProducerId(each.producer_id), ProducerEpoch(each.producer_epoch)),
                each.topics,
                each.verify_only,
            )
            for each in request.transactions
        ]
    producer = Producer(
        ProducerId(request.v3_and_below_producer_id),
        ProducerEpoch(request.v3_and_below_producer_epoch),
    )
    topics = request.v3_and_below_topics
    return [_Asked(request.v3_and_below_transactional_id, producer, topics, verifies=False)]


def _ask_each(ctx: RequestContext, asked: list[_Asked], on_all: OnReply) -> None:
    all_codes: list[Callable[[TopicPartition], ErrorCode]] = [lambda _: ErrorCode.NONE] * len(asked)
    missing = len(asked)
    if not missing:
        on_all(_AllCodes([]))

    def on_reply(at: int, reply: object) -> None:
        nonlocal missing
        if isinstance(reply, KafkaError):
            code = told(reply.code, ctx.version, _FIRST_VERSION_WITH_FENCED)
            all_codes[at] = lambda _: code
        elif isinstance(reply, PartitionsVerified):
            all_codes[at] = reply.codes.__getitem__
        elif isinstance(reply, dict):
            all_codes[at] = reply.__getitem__
        else:
            assert isinstance(reply, PartitionsAdded), reply
        missing -= 1
        if not missing:
            on_all(_AllCodes(all_codes))

    for at, each in enumerate(asked):
        _ask_one(ctx, each, partial(on_reply, at))


def _ask_one(ctx: RequestContext, asked: _Asked, on_reply: OnReply) -> None:
    """`on_reply` gets the codes at once when a partition does not exist."""
    partitions = [
        TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partitions
    ]
    topics = ctx.services.image.topics
    unknown = {
        each
        for each in partitions
        if each.topic not in topics
        or not 0 <= each.partition < len(topics[each.topic].partitions)
    }
    if unknown:
        on_reply(
            {
                each: (
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    if each in unknown
                    else ErrorCode.OPERATION_NOT_ATTEMPTED
                )
                for each in partitions
            }
        )
        return
    id, producer, wanted = asked.transactional_id, asked.producer, frozenset(partitions)
    version = _BUMPS_EPOCHS if ctx.version >= _FIRST_VERSION_OF_BROKERS else 0
    if asked.verifies:
        ctx.services.transactions.ask_about(VerifyPartitions(None, id, producer, wanted), on_reply)
    else:
        event = AddPartitions(None, id, producer, wanted, version)
        ctx.services.transactions.ask_about(event, on_reply)


def _results(
    topics: list[AddPartitionsToTxnTopic], code: Callable[[TopicPartition], ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=code(TopicPartition(topic.name, index)),
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
