"""Produce: append record batches to partitions this broker leads.

Versions: 3 to 13; 0 to 2 are advertised, for old clients of librdkafka, but not served, as in Kafka
4.
- 3 batches of magic 2, transactional id. 7 zstd. 8 errors of single records. 9 flexible.
- 10 tells the current leader when this broker is not it (KIP-951).
- 13 topics by id instead of name (KIP-516).

acks=0 is never answered, not even when refused: then the connection closes, as Kafka has it.
acks=all waits for the high watermark, at most `timeout_ms`. Records are not decoded, see
`log/validation.py`.

Kafka differs: to null records it gives no answer at all, and the client waits until its own
timeout. Here they are refused with INVALID_RECORD.

Kafka differs: of a partition that stands twice in a request it appends the last batch alone, and
its answer has topics that it does not know last. Here each batch is appended and answered, in the
order of the request: a batch that goes without a word is lost.

Missing: transactional producers, which come with the transaction coordinator; their batches are
refused with INVALID_TXN_STATE.
"""

from __future__ import annotations

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, ProtocolError, code_for
from kafkalite.log.validation import InvalidRecordsError, UnfitBatchesError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkalite.protocol.records.batch import COMPRESSION_BITS, HEADER_SIZE, TRANSACTIONAL_BIT
from kafkalite.protocol.records.compression import Compression
from kafkalite.server.addresses import leader_of, nodes_of
from kafkalite.server.apis.api import Api
from kafkalite.server.partition import ACKS_ALL, Partition
from kafkalite.server.purgatory import CommitWait, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID, BrokerId, Offset, TimestampMs

API = Api(
    ApiKey.PRODUCE,
    ProduceRequest,
    ProduceResponse,
    min_version=3,
    max_version=13,
    advertised_min_version=0,
    missing="transactional batches",
)

ACKS_NONE = 0
_VALID_ACKS = (ACKS_NONE, 1, ACKS_ALL)
_ADMIN_CLIENT = "__admin_client"
"""The one client id that may append to internal topics (Kafka's `AdminUtils.ADMIN_CLIENT_ID`)."""
_FIRST_VERSION_WITH_ZSTD = 7
_FIRST_VERSION_WITH_LEADERS = 10
_ATTRIBUTES_LOW_BYTE = 22
"""Of a batch: the transactional bit and the codec are in it."""
_TOLD = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, ErrorCode.CORRUPT_MESSAGE)
"""Refusals whose reason Kafka tells the client; of others the code alone."""
_TOLD_WITHOUT_LOG = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
)
"""Refusals with which Kafka does not tell where the log starts."""


def handle(ctx: RequestContext, request: ProduceRequest) -> ProduceResponse | Parked | None:
    """Append each partition's batch in the order of the request."""
    acks = request.acks
    if acks not in _VALID_ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    _check_attributes(ctx, request)
    append = _Append(ctx, acks, ctx.services.clock.now_ms())
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[append.one(topic, data) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )
    if append.moved_leaders:
        response.node_endpoints = [
            NodeEndpoint(node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack)
            for node in nodes_of(ctx, append.moved_leaders)
        ]
    if acks == ACKS_NONE:
        if append.refused:
            raise ProtocolError("a produce with acks=0 was refused; closing is the only answer")
        return None
    if append.uncommitted:
        return _park(ctx, request.timeout_ms, append.uncommitted, response)
    return response


def _check_attributes(ctx: RequestContext, request: ProduceRequest) -> None:
    """What the first batch of each partition says of itself may refuse the whole request."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if not isinstance(records, memoryview) or len(records) < HEADER_SIZE:
                continue
            attributes = records[_ATTRIBUTES_LOW_BYTE]
            if attributes & TRANSACTIONAL_BIT:
                if request.transactional_id is None:
                    raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                raise KafkaError(ErrorCode.INVALID_TXN_STATE)
            if (
                ctx.version < _FIRST_VERSION_WITH_ZSTD
                and attributes & COMPRESSION_BITS == Compression.ZSTD
            ):
                raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


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


class _Append:
    """The appends of one request, and what is to be done after them."""

    __slots__ = ("acks", "ctx", "moved_leaders", "now", "refused", "uncommitted")

    def __init__(self, ctx: RequestContext, acks: int, now: TimestampMs) -> None:
        self.ctx = ctx
        self.acks = acks
        self.now = now
        self.refused = False
        self.moved_leaders: set[BrokerId] = set()
        self.uncommitted: dict[Partition, tuple[PartitionProduceResponse, Offset]] = {}

    def one(self, topic: TopicProduceData, data: PartitionProduceData) -> PartitionProduceResponse:
        """Append one partition's batch; a refusal is that partition's alone."""
        try:
            partition = self._find(topic, data.index)
            if partition.is_internal and self.ctx.client_id != _ADMIN_CLIENT:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            records = data.records
            if not isinstance(records, memoryview):
                raise KafkaError(ErrorCode.INVALID_RECORD)
            appended = partition.append(records, self.acks, self.now)
        except (KafkaError, CorruptRecordError, OSError) as error:
            return self._refusal(topic, data.index, error)
        response = PartitionProduceResponse(
            index=data.index,
            base_offset=appended.base_offset,
            log_append_time_ms=appended.append_time,
            log_start_offset=partition.log.log_start_offset,
        )
        end = Offset(appended.last_offset + 1)
        if self.acks == ACKS_ALL and partition.leading.high_watermark < end:
            self.uncommitted[partition] = (response, end)
        return response

    def _find(self, topic: TopicProduceData, index: int) -> Partition:
        replicas = self.ctx.services.replicas
        if topic.topic_id != ZERO_UUID:
            return replicas.find_by_id(topic.topic_id, index)
        return replicas.find(topic.name, index)

    def _refusal(
        self, topic: TopicProduceData, index: int, error: Exception
    ) -> PartitionProduceResponse:
        self.refused = True
        code = code_for(error)
        reason = error.message if isinstance(error, KafkaError) and code in _TOLD else None
        response = PartitionProduceResponse(
            index=index,
            error_code=code,
            base_offset=-1,
            log_start_offset=-1,
            error_message=reason or None,
        )
        if code not in _TOLD_WITHOUT_LOG and not isinstance(error, UnfitBatchesError):
            response.log_start_offset = self._find(topic, index).log.log_start_offset
        if isinstance(error, InvalidRecordsError):
            response.record_errors = [
                BatchIndexAndErrorMessage(
                    batch_index=record.batch_index, batch_index_error_message=record.message
                )
                for record in error.record_errors
            ]
        if (
            self.ctx.version >= _FIRST_VERSION_WITH_LEADERS
            and code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        ):
            leader = leader_of(self.ctx.services.image, topic.name, topic.topic_id, index)
            if leader is not None:
                self.moved_leaders.add(leader.leader)
                response.current_leader = LeaderIdAndEpoch(
                    leader_id=leader.leader, leader_epoch=leader.leader_epoch
                )
        return response


def _park(
    ctx: RequestContext,
    timeout_ms: int,
    uncommitted: dict[Partition, tuple[PartitionProduceResponse, Offset]],
    response: ProduceResponse,
) -> Parked:
    """Answer once all is committed; what is not by then has timed out, or lost its leader."""

    def answer() -> ProduceResponse:
        for partition, (slot, end) in uncommitted.items():
            if partition.leader is None:
                slot.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif partition.leader.high_watermark < end:
                slot.error_code = ErrorCode.REQUEST_TIMED_OUT
        return response

    clock = ctx.services.clock
    return CommitWait(
        clock,
        TimestampMs(clock.now_ms() + max(timeout_ms, 0)),
        ends=[(partition, end) for partition, (_, end) in uncommitted.items()],
        answer=answer,
    ).parked
