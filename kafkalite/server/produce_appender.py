"""One pass over the partitions of a produce: each appended or refused, and what is to be done then.

With acks=all each partition is told as of the moment when it is committed, whatever becomes of it
while others are waited for. NOT_ENOUGH_REPLICAS_AFTER_APPEND is not among it: the high watermark
rests while fewer replicas are in sync than `min.insync.replicas` asks for, so that such a produce
times out, as in Kafka, which tells that error only where the in-sync replicas shrink after the high
watermark has moved and before another thread has seen that.

Source: Kafka's `ReplicaManager.appendRecords` and `DelayedProduce`; what a refusal tells besides
its code is as in `tests/data/errors.json`.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.coordinator.transactions.verification import Refusal
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, code_for
from kafkalite.log.record_checks import InvalidRecordsError
from kafkalite.log.validation import UnfitBatchesError
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.server.moved_leaders import current_leader
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import CommittedTo, CommitWait, Parked
from kafkalite.server.replica_manager import ReplicaManager
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId, Offset, TimestampMs, TopicPartition

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
        partition: Partition | None = None
        try:
            partition = self._find(topic, data.index)
            if self.refused_before:
                self._check_verified(partition)
            if partition.is_internal and self.ctx.client_id != _ADMIN_CLIENT:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            records = data.records
            if not isinstance(records, memoryview):
                raise KafkaError(ErrorCode.INVALID_RECORD)
            appended = partition.append(records, self.acks, self.now)
        except (KafkaError, CorruptRecordError, OSError) as error:
            if partition is not None and isinstance(error, OSError):
                partition.refused(error)
            return self._refusal(topic, data.index, error)
        troubles = self.ctx.services.replicas.troubles
        if troubles.causes:
            troubles.took(partition.directory)
        response = PartitionProduceResponse(
            index=data.index,
            base_offset=appended.base_offset,
            log_append_time_ms=appended.append_time,
            log_start_offset=partition.log.log_start_offset,
        )
        end = Offset(appended.last_offset + 1)
        if partition.leading.high_watermark < end and partition.has_to_commit(self.acks):
            self.uncommitted.append(Uncommitted(partition, end, response))
        return response

    def _check_verified(self, partition: Partition) -> None:
        refusal = self.refused_before.get(TopicPartition(partition.topic, partition.index))
        if refusal is not None:
            raise (KafkaError if refusal.by_log else UnverifiedError)(*refusal.why)

    def parked(self, response: ProduceResponse, timeout_ms: int) -> Parked:
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

    def _find(self, topic: TopicProduceData, index: int) -> Partition:
        replicas = self.ctx.services.replicas
        if self.ctx.version >= _FIRST_VERSION_WITH_IDS:
            return replicas.find_by_id(topic.topic_id, index)
        return replicas.find(topic.name, index)

    def _refusal(
        self, topic: TopicProduceData, index: int, error: Exception
    ) -> PartitionProduceResponse:
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
            key = TopicKey(topic.name, topic.topic_id)
            response.current_leader = current_leader(
                self.ctx, LeaderIdAndEpoch, key, index, self.moved_leaders
            )
        return response
