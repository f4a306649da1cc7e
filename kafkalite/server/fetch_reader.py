"""One pass over the partitions of a fetch: what each may give now, within the limits of the whole.

Consumers read below the high watermark, of whoever leads, or, if their version knows of reads from
followers (KIP-392), of the replica that they ask. Followers read all that the leader's log has;
that they ask for an offset says that they have what is below.

Source: Kafka's `KafkaApis.handleFetchRequest`, `ReplicaManager.readFromLog` and
`Partition.fetchRecords`. What the metadata does not know is set apart there: it ends no wait, and
stands last in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, code_for
from kafkalite.log import transaction_index as log
from kafkalite.log.epochs import EpochEnd
from kafkalite.log.files import Part, release_parts
from kafkalite.log.log_results import LogRead
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kafkalite.replica.fetch_answers import FetchedPartition
from kafkalite.replica.fetch_plan import FetchBudget
from kafkalite.replica.followers import FollowerFetch
from kafkalite.server.moved_leaders import current_leader, endpoints
from kafkalite.server.partition import Partition
from kafkalite.server.preferred_replica import PreferredReplicas
from kafkalite.server.request import RequestContext
from kafkalite.types import (
    READ_COMMITTED,
    ZERO_UUID,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    Uuid,
)

_FIRST_VERSION_WITH_RACKS = 11
_FIRST_VERSION_WITH_IDS = 13
_FIRST_VERSION_WITH_LEADERS = 16
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_LEADER_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class FetchReader:
    """Reads partition by partition, in the order that it is asked."""

    __slots__ = (
        "_after_wait",
        "_budget",
        "_by_id",
        "_ctx",
        "_follower",
        "_is_committed",
        "_moved_leaders",
        "_must_lead",
        "_preferred",
        "_replica_epoch",
        "failed",
        "found",
        "partitions",
        "size_bytes",
        "unknown",
        "visible_end",
    )

    def __init__(
        self, ctx: RequestContext, request: FetchRequest, after_wait: FetchReader | None = None
    ) -> None:
        """`after_wait`: the pass upon which the request began to wait."""
        self._ctx = ctx
        limit = request.max_bytes
        if replica_of(request) < 0:
            limit = min(limit, ctx.services.config.fetch_max_bytes)
        self._budget = FetchBudget(limit)
        self._is_committed = request.isolation_level == READ_COMMITTED
        self._follower = replica_of(request)
        self._replica_epoch = BrokerEpoch(request.replica_state.replica_epoch)
        self._by_id = ctx.version >= _FIRST_VERSION_WITH_IDS
        self._must_lead = ctx.version < _FIRST_VERSION_WITH_RACKS
        self._moved_leaders: set[BrokerId] = set()
        rack = request.rack_id
        self._preferred = PreferredReplicas.of(ctx, rack) if rack and self._follower < 0 else None
        self._after_wait = after_wait
        self.failed = False
        """Something is to be told at once."""
        self.found: FetchedPartition | None = None
        """The partition that was read last; None when that was refused, or has parted."""
        self.visible_end = Offset(0)
        """Where what the client may see of it ends."""
        self.partitions: list[FetchedPartition] = []
        """All that were read."""
        self.size_bytes = 0
        self.unknown: dict[tuple[str | Uuid, int], None] = {}
        """Partitions that the metadata does not know, by name or id of the topic, and index."""

    def one(self, topic: str, topic_id: Uuid, asked: FetchPartition) -> PartitionData:
        """The answer of one partition."""
        replicas = self._ctx.services.replicas
        self.found = partition = None
        try:
            if self._by_id:
                partition = replicas.find_by_id(topic_id, asked.partition)
            else:
                partition = replicas.find(topic, asked.partition)
            claimed = LeaderEpoch(max(asked.current_leader_epoch, -1))
            if self._follower >= 0:
                partition.check_follower(self._follower, claimed)
            else:
                partition.check_epoch(claimed, must_lead=self._must_lead)
            if self._preferred is not None:
                replica = self._preferred.choose(partition, asked.fetch_offset)
                if replica is not None:
                    return self._sent_to(replica, partition, asked)
            if asked.last_fetched_epoch >= 0:
                diverging = partition.divergence(
                    Offset(asked.fetch_offset), LeaderEpoch(asked.last_fetched_epoch)
                )
                if diverging is not None:
                    return self._diverging(partition, asked.partition, diverging)
            if self._follower >= 0:
                read = self._read_by_follower(partition, asked)
            else:
                read = partition.read(
                    Offset(asked.fetch_offset),
                    max_bytes=self._budget.limit(asked.partition_max_bytes),
                    first_batch_whole=self._budget.first_batch_whole,
                    only_stable=self._is_committed,
                )
        except (KafkaError, CorruptRecordError, OSError) as error:
            if partition is not None and isinstance(error, OSError):
                partition.refused(error)
            return self._refusal(topic, topic_id, asked.partition, code_for(error))
        self._budget.took(read.size_bytes)
        self.size_bytes += read.size_bytes
        if self._follower >= 0:
            self.found, self.visible_end = partition.followers, partition.log.end_offset
        else:
            self.found, self.visible_end = partition, partition.high_watermark
        self.partitions.append(self.found)
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=_told(read.aborted) if self._is_committed else None,
            records=b"" if read.part is None else read.part,
        )

    def _read_by_follower(self, partition: Partition, asked: FetchPartition) -> LogRead:
        """What it asks for it lacks, and has all below: known when it asks, not when it is
        answered."""
        log, services = partition.log, self._ctx.services
        now, throttle = services.clock.now_ms(), services.replicas.throttles.of_sending(partition)
        waits = throttle is not None and throttle.must_wait(
            now, is_in_sync=self._follower in partition.leading.isr
        )
        read = log.read(
            Offset(asked.fetch_offset),
            max_bytes=0 if waits else self._budget.limit(asked.partition_max_bytes),
            max_offset=log.end_offset,
            first_batch_whole=self._budget.first_batch_whole and not waits,
        )
        if throttle is not None:
            throttle.record(read.size_bytes, now)
        if self._after_wait is None:
            fetch = FollowerFetch(
                Offset(asked.fetch_offset), Offset(asked.log_start_offset), self._replica_epoch
            )
            try:
                partition.fetched_by(self._follower, fetch, now)
            except KafkaError:
                if read.part is not None:
                    release_parts([read.part])
                raise
        return read

    def response(self, responses: list[FetchableTopicResponse]) -> FetchResponse:
        """With the addresses of the leaders that the answers name."""
        response = FetchResponse(responses=responses)
        if self._moved_leaders:
            response.node_endpoints = endpoints(self._ctx, NodeEndpoint, self._moved_leaders)
        return response

    def in_order(
        self, answers: list[tuple[str, Uuid, PartitionData]]
    ) -> list[FetchableTopicResponse]:
        """The answers (with the name and id of the topic), the unknown ones last; a topic stands
        once for each row of its partitions."""
        if self.unknown:
            answers.sort(
                key=lambda each: _key(each[0], each[1], each[2].partition_index) in self.unknown
            )
        responses: list[FetchableTopicResponse] = []
        last_key: str | Uuid | None = None
        for topic, topic_id, data in answers:
            key = topic if topic_id == ZERO_UUID else topic_id
            if key != last_key:
                last_key = key
                responses.append(
                    FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=[])
                )
            responses[-1].partitions.append(data)
        return responses

    def _sent_to(
        self, replica: BrokerId, partition: Partition, asked: FetchPartition
    ) -> PartitionData:
        """Instead of records: the replica that is nearer to the consumer. It is told at once."""
        leader = partition.leading
        self.failed = True
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=leader.high_watermark,
            last_stable_offset=leader.high_watermark,
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=None,
            preferred_read_replica=replica,
            records=b"",
        )

    def _diverging(self, partition: Partition, index: int, diverging: EpochEnd) -> PartitionData:
        """Instead of records: where the client's log and this one part."""
        self.failed = True
        return PartitionData(
            partition_index=index,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log.log_start_offset,
            diverging_epoch=EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset),
            aborted_transactions=None,
            records=b"",
        )

    def _refusal(self, topic: str, topic_id: Uuid, index: int, code: ErrorCode) -> PartitionData:
        if code in _UNKNOWN:
            return self._unknown(topic, topic_id, index, code)
        self.failed = True
        data = failure(index, code)
        if self._ctx.version >= _FIRST_VERSION_WITH_LEADERS and code in _LEADER_ERRORS:
            key = TopicKey(topic, topic_id)
            data.current_leader = current_leader(
                self._ctx, LeaderIdAndEpoch, key, index, self._moved_leaders
            )
        return data

    def _unknown(self, topic: str, topic_id: Uuid, index: int, code: ErrorCode) -> PartitionData:
        """Not known: never, no longer (the fetch has waited, or a session had found its name), or
        another by now."""
        key = _key(topic, topic_id, index)
        if self._after_wait is not None and key not in self._after_wait.unknown:
            return failure(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if topic and code is ErrorCode.UNKNOWN_TOPIC_ID:
            if topic in self._ctx.services.image.topics:
                self.failed = True
                return failure(index, ErrorCode.INCONSISTENT_TOPIC_ID)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.unknown[key] = None
        data = failure(index, code)
        data.aborted_transactions = []
        return data


def _told(aborted: Iterable[log.AbortedTransaction]) -> list[AbortedTransaction]:
    return [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in aborted
    ]


def _key(topic: str, topic_id: Uuid, index: int) -> tuple[str | Uuid, int]:
    return (topic if topic_id == ZERO_UUID else topic_id, index)


def replica_of(request: FetchRequest) -> BrokerId:
    """The follower that asks; negative: it is a consumer."""
    return BrokerId(max(request.replica_id, request.replica_state.replica_id))


def failure(index: int, code: ErrorCode) -> PartitionData:
    """A partition that is refused, as its log's leader would."""
    return PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )


def release_records(answers: Iterable[PartitionData]) -> None:
    """Give back the slices of answers that are not sent."""
    # The codec knows records as `Sized` alone; nothing but parts is put there.
    release_parts(cast("Part", data.records) for data in answers)
