"""Produce: append record batches to partitions this broker leads.

Versions: 3 to 13; 0 to 2 are advertised, for old clients of librdkafka, but not served, as in Kafka
4.
- 3 batches of magic 2, transactions (`server/transactional_produce.py`). 7 zstd.
- 8 errors of single records. 9 flexible.
- 10 tells the current leader when this broker is not it (KIP-951).
- 11 knows TRANSACTION_ABORTABLE. 12 adds its partitions to the transaction itself (KIP-890).
- 13 topics by id instead of name (KIP-516).

acks=0 is never answered; when it is refused the connection closes, as Kafka has it.
Large batches that are recompressed wait for a worker (`recompressions.py`), those of transactions
maybe for their coordinator, and what the connection produces then waits behind them.
acks=all waits for the high watermark, at most `timeout_ms`. Records are decoded where the topic is
compacted or recompresses, or `kafkalite.record.validation` is `full`: see `log/validation.py`.

Kafka differs: to null records it gives no answer at all, and the client waits until its own
timeout. Here they are refused with INVALID_RECORD.

Kafka differs: of a partition that stands twice in a request it appends the last batch alone, and
its answer has topics that it does not know last. Here each batch is appended and answered, in the
order of the request: a batch that goes without a word is lost.
"""

from __future__ import annotations

from functools import partial

from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkalite.protocol.records.batch import (
    ATTRIBUTES_LOW_BYTE,
    COMPRESSION_BITS,
    HEADER_SIZE,
    TRANSACTIONAL_BIT,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.replica.held_back import ACKS_NONE, VALID_ACKS
from kafkalite.server.apis.api import Api
from kafkalite.server.produce_appender import ProduceAppender, Refused, append_known
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transactional_produce import append_verified

API = Api(
    ApiKey.PRODUCE,
    ProduceRequest,
    ProduceResponse,
    min_version=3,
    max_version=13,
    advertised_min_version=0,
)

_FIRST_VERSION_WITH_ZSTD = 7


def handle(ctx: RequestContext, request: ProduceRequest) -> bytes | ProduceResponse | Parked | None:
    """Append each partition's batch in the order of the request."""
    if request.acks not in VALID_ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    # Shapes are of no transaction, and of versions that know zstd.
    is_transactional = ctx.shape is None and _check_attributes(ctx, request)
    order, replicas = ctx.services.produce_order, ctx.services.replicas
    if not (is_transactional or order.lines or replicas.recompresses):
        return append(ctx, request) if ctx.shape is None else append_known(ctx, request, ctx.shape)
    append_here = partial(append, ctx)
    if is_transactional:
        append_here = partial(append_verified, ctx, append_here, refuse)
    if replicas.recompresses:
        append_here = partial(ctx.services.recompressions.append, ctx.connection, append_here)
    waits = ctx.connection in order.lines
    return order.join(ctx.connection, request, append_here) if waits else append_here(request)


def append(
    ctx: RequestContext, request: ProduceRequest, refused: Refused | None = None
) -> ProduceResponse | Parked | None:
    """As `handle`, of a request that is in order, here and now; but to partitions that are
    `refused` before."""
    appender = ProduceAppender(ctx, request.acks, ctx.services.clock.now_ms(), refused)
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[appender.append(topic, data) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )
    return appender.answered(request, response)


def _check_attributes(ctx: RequestContext, request: ProduceRequest) -> bool:
    """What the first batch of each partition says of itself may refuse the whole request. Whether
    one of them is transactional."""
    is_transactional, knows_zstd = False, ctx.version >= _FIRST_VERSION_WITH_ZSTD
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if not isinstance(records, memoryview) or len(records) < HEADER_SIZE:
                continue
            attributes = records[ATTRIBUTES_LOW_BYTE]
            if attributes & TRANSACTIONAL_BIT:
                if request.transactional_id is None:
                    raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                is_transactional = True
            if not knows_zstd and attributes & COMPRESSION_BITS == Compression.ZSTD:
                raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    return is_transactional


def refuse(request: ProduceRequest, code: ErrorCode, message: str) -> ProduceResponse | None:
    """The same code for every partition."""
    if request.acks == ACKS_NONE:
        raise ProtocolError(f"a produce with acks=0 was refused with {code.name}")
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=data.index, error_code=code, base_offset=-1, log_start_offset=-1
                    )
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
