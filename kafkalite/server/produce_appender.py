"""One pass over the partitions of a produce: each appended or refused, and what is to be done then.
`append_known` does the same for requests that are known (`produce_shapes.py`), which are most, and
makes no objects for what is usual.

With acks=all each partition is told as of the moment when it is committed, whatever becomes of it
while others are waited for. NOT_ENOUGH_REPLICAS_AFTER_APPEND is not among it: the high watermark
rests while fewer replicas are in sync than `min.insync.replicas` asks for, so that such a produce
times out, as in Kafka, which tells that error only where the in-sync replicas shrink after the high
watermark has moved and before another thread has seen that.

Source: Kafka's `ReplicaManager.appendRecords` and `DelayedProduce`; what a refusal tells besides
its code is as in `tests/data/errors.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkalite.coordinator.transactions.verification import Refusal
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, ProtocolError, code_for
from kafkalite.log.log_results import Appended
from kafkalite.log.record_checks import InvalidRecordsError
from kafkalite.log.validation import UnfitBatchesError
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.replica.held_back import ACKS_NONE
from kafkalite.server.moved_leaders import current_leader, endpoints
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import CommittedTo, CommitWait, Parked
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId, Offset, TimestampMs, TopicPartition

if TYPE_CHECKING:
    from kafkalite.protocol.produce_shape import ProduceShape

_ADMIN_CLIENT = "__admin_client"
"""The one client id that may append to internal topics (Kafka's `AdminUtils.ADMIN_CLIENT_ID`)."""
_FIRST_VERSION_WITH_LEADERS = 10
_FIRST_VERSION_WITH_IDS = 13
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


class UnverifiedError(KafkaError):
    """The partition does not belong to the producer's transaction; no log was asked."""


class Unfit(NamedTuple):
    """A batch that does not fit its transaction."""

    why: Refusal
    by_log: bool
    """Or else by its transaction's coordinator."""


Refused = dict[TopicPartition, Unfit]
"""What each partition's batch is refused with."""


class Uncommitted(NamedTuple):
    """A batch that acks=all waits for. A partition that stands twice in a request has two."""

    partition: Partition
    end_offset: Offset
    """The high watermark that commits it."""
    answer: PartitionProduceResponse


def _outcome(of: Uncommitted, replicas: ReplicaManager) -> ErrorCode:
    """What has become of it, as of now."""
    partition, leader = of.partition, of.partition.leader
    if leader is None:
        if replicas.is_lost(partition.topic_id, partition.index):
            return ErrorCode.KAFKA_STORAGE_ERROR  # Its disk has failed meanwhile.
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if leader.high_watermark < of.end_offset:
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NONE


REFUSALS = (KafkaError, CorruptRecordError, OSError)
"""What `find` and `take_in` raise for a batch that is not appended."""


def find(ctx: RequestContext, topic: TopicProduceData, index: int) -> Partition:
    """The partition that a request names; `KafkaError` when it is not here."""
    replicas = ctx.services.replicas
    if ctx.version >= _FIRST_VERSION_WITH_IDS:
        return replicas.find_by_id(topic.topic_id, index)
    return replicas.find(topic.name, index)


def take_in(
    ctx: RequestContext,
    topic: TopicProduceData,
    data: PartitionProduceData,
    acks: int,
    now: TimestampMs,
) -> tuple[Partition, Appended]:
    """Append one partition's batch; one of `REFUSALS` when it is not."""
    partition = find(ctx, topic, data.index)
    if partition.is_internal and ctx.client_id != _ADMIN_CLIENT:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    records = data.records
    if not isinstance(records, memoryview):
        raise KafkaError(ErrorCode.INVALID_RECORD)
    try:
        appended = partition.append(records, acks, now)
    except OSError as error:
        partition.refused(error)
        raise
    troubles = ctx.services.replicas.troubles
    if troubles.causes:
        troubles.took(partition.directory)
    return partition, appended


def is_uncommitted(partition: Partition, appended: Appended, acks: int) -> bool:
    """Whether the answer has to wait until others have it too, or the disk has."""
    return partition.leading.high_watermark <= appended.last_offset and partition.has_to_commit(
        acks
    )


class ProduceAppender:
    """The appends of one request, and what is to be done after them."""

    __slots__ = ("acks", "ctx", "moved_leaders", "now", "refused", "refused_before", "uncommitted")

    def __init__(
        self,
        ctx: RequestContext,
        acks: int,
        now: TimestampMs,
        refused: Refused | None = None,
    ) -> None:
        """`refused`: partitions whose batch does not fit its transaction."""
        self.refused_before = refused or {}
        self.ctx = ctx
        self.acks = acks
        self.now = now
        self.refused = False
        self.moved_leaders: set[BrokerId] = set()
        """Those that lead what was sent here; the client is told where they are."""
        self.uncommitted: list[Uncommitted] = []

    def append(
        self, topic: TopicProduceData, data: PartitionProduceData
    ) -> PartitionProduceResponse:
        """Append one partition's batch; a refusal is in its answer, and that partition's alone."""
        try:
            if self.refused_before:
                self._check_verified(find(self.ctx, topic, data.index))
            partition, appended = take_in(self.ctx, topic, data, self.acks, self.now)
        except REFUSALS as error:
            return self.refusal(topic, data.index, error)
        return self.answer(partition, appended)

    def answer(self, partition: Partition, appended: Appended) -> PartitionProduceResponse:
        """Of a batch that was taken in."""
        response = PartitionProduceResponse(
            index=partition.index,
            base_offset=appended.base_offset,
            log_append_time_ms=appended.append_time,
            log_start_offset=partition.log.log_start_offset,
        )
        if is_uncommitted(partition, appended, self.acks):
            end = Offset(appended.last_offset + 1)
            self.uncommitted.append(Uncommitted(partition, end, response))
        return response

    def _check_verified(self, partition: Partition) -> None:
        refusal = self.refused_before.get(TopicPartition(partition.topic, partition.index))
        if refusal is not None:
            raise (KafkaError if refusal.by_log else UnverifiedError)(*refusal.why)

    def answered(
        self, request: ProduceRequest, response: ProduceResponse
    ) -> ProduceResponse | Parked | None:
        """What becomes of `response`, which has all that was appended or refused."""
        if self.moved_leaders:
            response.node_endpoints = endpoints(self.ctx, NodeEndpoint, self.moved_leaders)
        if self.acks == ACKS_NONE:
            if self.refused:
                raise ProtocolError("a produce with acks=0 was refused; closing is the only answer")
            return None
        if self.uncommitted:
            return self._parked(response, request.timeout_ms)
        return response

    def _parked(self, response: ProduceResponse, timeout_ms: int) -> Parked:
        """Answer once all is committed; what is not by then has timed out, or lost its leader."""
        left: dict[CommittedTo, list[Uncommitted]] = {}
        for each in self.uncommitted:
            left.setdefault(each.partition, []).append(each)

        def settle(partition: CommittedTo) -> None:
            replicas = self.ctx.services.replicas
            for each in left.pop(partition):
                each.answer.error_code = _outcome(each, replicas)

        def answer() -> ProduceResponse:
            for partition in list(left):
                settle(partition)
            return response

        clock = self.ctx.services.clock
        return CommitWait(
            clock,
            TimestampMs(clock.now_ms() + max(timeout_ms, 0)),
            ends=[(partition, end) for partition, end, _ in self.uncommitted],
            answer=answer,
            settle=settle,
        ).parked

    def refusal(
        self, topic: TopicProduceData, index: int, error: Exception
    ) -> PartitionProduceResponse:
        """Of a batch that was not: what is raised for it."""
        self.refused = True
        code = code_for(error)
        reason = None
        if isinstance(error, KafkaError) and (code in _TOLD or isinstance(error, UnverifiedError)):
            reason = error.message
        response = PartitionProduceResponse(
            index=index,
            error_code=code,
            base_offset=-1,
            log_start_offset=-1,
            error_message=reason or None,
        )
        if code not in _TOLD_WITHOUT_LOG and not isinstance(
            error, UnfitBatchesError | UnverifiedError
        ):
            response.log_start_offset = find(self.ctx, topic, index).log.log_start_offset
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
            key = TopicKey(topic.name, topic.topic_id)
            response.current_leader = current_leader(
                self.ctx, LeaderIdAndEpoch, key, index, self.moved_leaders
            )
        return response


def append_known(
    ctx: RequestContext, request: ProduceRequest, shape: ProduceShape
) -> bytes | ProduceResponse | Parked | None:
    """The one append of a request with a shape; the whole answer, where that is offsets alone."""
    topic = request.topic_data[0]
    data, acks, now = topic.partition_data[0], request.acks, ctx.services.clock.now_ms()
    try:
        partition, appended = take_in(ctx, topic, data, acks, now)
    except REFUSALS as error:
        appender = ProduceAppender(ctx, acks, now)
        told = appender.refusal(topic, data.index, error)
    else:
        if acks != ACKS_NONE and not is_uncommitted(partition, appended, acks):
            return shape.answer(
                ctx.correlation_id,
                appended.base_offset,
                appended.append_time,
                partition.log.log_start_offset,
            )
        appender = ProduceAppender(ctx, acks, now)
        told = appender.answer(partition, appended)
    return appender.answered(request, shape.response(told))
