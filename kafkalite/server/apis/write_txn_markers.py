"""WriteTxnMarkers: a coordinator, or a person with kafka-transactions, ends transactions in
partitions.

Versions: 1 to 2.
- 1 flexible. 2 the version of the transaction protocol (KIP-1228): under version 2 a marker's epoch
  is above its transaction's.
"""

from __future__ import annotations

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
        return WriteTxnMarkersResponse(markers=list(map(_result, request.markers, replies)))

    asks = [partial(_write, ctx, marker) for marker in request.markers]
    return ask_for(ctx, partial(ask_each, asks), list, answer)


def refuse(
    request: WriteTxnMarkersRequest, code: ErrorCode, message: str
) -> WriteTxnMarkersResponse:
    """The same code for every partition."""
    return WriteTxnMarkersResponse(
        markers=[
            _result(marker, dict.fromkeys(_partitions(marker), code)) for marker in request.markers
        ]
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


def _result(marker: WritableTxnMarker, codes: object) -> WritableTxnMarkerResult:
    assert isinstance(codes, dict), codes
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index,
                        error_code=codes[TopicPartition(topic.name, index)],
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )
