"""WriteTxnMarkers: a coordinator, or a person with kafka-transactions, ends transactions in
partitions.

Versions: 1 to 2.
- 1 flexible. 2 the version of the transaction protocol (KIP-1228): under version 2 a marker's epoch
  is above its transaction's.

Kafka differs: a producer id or an epoch below 0 there makes an UNKNOWN_SERVER_ERROR of all markers
of the request, though those before it are written. Here it does of those markers alone.

Kafka differs: it gives no answer to some requests that name a partition twice, or in which one
marker has partitions that are there and another has none. Here all are answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.core_driver import OnReply, ask_each
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_markers import Marker
from kafkalite.server.transaction_requests import ask_for
from kafkalite.types import ProducerEpoch, ProducerId, TopicPartition

API = Api(
    ApiKey.WRITE_TXN_MARKERS,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
    min_version=1,
    max_version=2,
)


def handle(
    ctx: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Parked:
    """Append each to its partitions; the answer goes out when all are committed."""

    def answer(replies: list[object] | KafkaError) -> WriteTxnMarkersResponse:
        if isinstance(replies, KafkaError):
            return refuse(request, replies.code, replies.message)
        return _response(zip(request.markers, replies, strict=True))

    asks = [partial(_write, ctx, marker) for marker in request.markers]
    return ask_for(ctx, partial(ask_each, asks), list, answer)


def refuse(
    request: WriteTxnMarkersRequest, code: ErrorCode, message: str
) -> WriteTxnMarkersResponse:
    """The same code for every partition."""
    return _response(
        (marker, dict.fromkeys(_partitions(marker), code)) for marker in request.markers
    )


def _write(ctx: RequestContext, asked: WritableTxnMarker, on_codes: OnReply) -> None:
    services = ctx.services
    marker = Marker(
        ProducerId(asked.producer_id),
        ProducerEpoch(asked.producer_epoch),
        asked.transaction_result,
        asked.coordinator_epoch,
        asked.transaction_version,
    )
    timeout_ms = services.config.request_timeout_ms
    services.markers.write(marker, _partitions(asked), timeout_ms, on_codes)


def _partitions(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, index)
        for topic in marker.topics
        for index in topic.partition_indexes
    ]


def _response(
    replies: Iterable[tuple[WritableTxnMarker, object]],
) -> WriteTxnMarkersResponse:
    """A producer's markers are answered in one place, each partition with what the last of them
    was; one without partitions is not answered."""
    by_producer: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for marker, codes in replies:
        assert isinstance(codes, dict), codes
        if codes:
            by_producer.setdefault(marker.producer_id, {}).update(codes)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=producer_id, topics=_topics(codes))
            for producer_id, codes in by_producer.items()
        ]
    )


def _topics(codes: dict[TopicPartition, ErrorCode]) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for to, code in codes.items():
        topic = topics.setdefault(
            to.topic, WritableTxnMarkerTopicResult(name=to.topic, partitions=[])
        )
        topic.partitions.append(
            WritableTxnMarkerPartitionResult(partition_index=to.partition, error_code=code)
        )
    return list(topics.values())
