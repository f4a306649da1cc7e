"""Fetch: read record batches, waiting for them if there are too few.

Versions: 4 to 18.
- 4 isolation level, last stable offset. 5 log start offset. 7 fetch sessions (KIP-227).
- 9 fences by leader epoch (KIP-320). 10 zstd. 11 rack and preferred replica (KIP-392).
- 12 flexible, diverging epochs. 13 topics by id (KIP-516). 15 replica state (KIP-903).
- 16 tells the current leader (KIP-951). 17 directory ids. 18 high watermark (KIP-1166).

Records leave as slices of the segment file. The answer waits for `min_bytes`, at most
`max_wait_ms`; an error in any partition is answered at once. The first batch of the first partition
that has one is given whole, above every limit (KIP-74).

Missing: incremental sessions. A full request that offers a session is answered without one (session
id 0), as Kafka does when its cache of sessions is full; an incremental one gets
FETCH_SESSION_ID_NOT_FOUND, upon which clients send a full request.

Whoever tells the epoch of its last record (version 12 on) learns where its log and the leader's
part. A partition that is asked twice is answered once, as asked last.

Kafka differs: a negative `max_bytes` or `partition_max_bytes` gives UNKNOWN_SERVER_ERROR where
there are records. Here such a limit is 0."""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError, code_for
from kafkalite.log.epochs import EpochEnd
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kafkalite.replica.fetch_plan import FetchBudget
from kafkalite.server.addresses import leader_of, nodes_of
from kafkalite.server.apis.api import Api
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import FetchWait, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import ZERO_UUID, BrokerId, LeaderEpoch, Offset, TimestampMs, Uuid

API = Api(
    ApiKey.FETCH,
    FetchRequest,
    FetchResponse,
    min_version=4,
    max_version=18,
    missing="incremental fetch sessions; followers; aborted transactions",
)

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_FIRST_VERSION_WITH_LEADERS = 16
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_LEADER_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Parked:
    """Answer now if there is enough, an error, or no wish to wait; else park."""
    if request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    _keep_last_of_each(request)
    read = _Read(ctx, request)
    response = read.all()
    missing_bytes = request.min_bytes - read.size_bytes
    if missing_bytes <= 0 or request.max_wait_ms <= 0 or read.failed or not read.partitions:
        return response
    # The slices of a wait are taken anew at its end, so that none is held while nothing is sent.
    release(response)
    clock = ctx.services.clock
    return FetchWait(
        clock,
        TimestampMs(clock.now_ms() + request.max_wait_ms),
        missing_bytes=missing_bytes,
        partitions=read.partitions,
        answer=lambda: _Read(ctx, request).all(),
    ).parked


def refuse(request: FetchRequest, code: ErrorCode, message: str) -> FetchResponse:
    """The code stands at the top (version 7 on) and in every partition (before)."""
    return FetchResponse(
        error_code=code,
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[_failure(asked.partition, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _keep_last_of_each(request: FetchRequest) -> None:
    """Of a partition that stands in the request twice, only the last wish, at the first's place."""
    topics: dict[tuple[str, Uuid], FetchTopic] = {}
    for topic in request.topics:
        first = topics.setdefault((topic.topic, topic.topic_id), topic)
        if first is not topic:
            first.partitions += topic.partitions
    if len(topics) < len(request.topics):
        request.topics = list(topics.values())
    for topic in request.topics:
        if len(topic.partitions) > 1:
            by_index = {asked.partition: asked for asked in topic.partitions}
            topic.partitions = list(by_index.values())


def release(response: FetchResponse) -> None:
    """Give back the slices of a response that is not sent."""
    for topic in response.responses:
        for partition in topic.partitions:
            give_back = getattr(partition.records, "release", None)
            if give_back is not None:
                give_back()


class _Read:
    """One pass over the partitions of a fetch."""

    __slots__ = (
        "budget",
        "ctx",
        "failed",
        "is_follower",
        "moved_leaders",
        "partitions",
        "request",
        "size_bytes",
    )

    def __init__(self, ctx: RequestContext, request: FetchRequest) -> None:
        self.ctx = ctx
        self.request = request
        self.budget = FetchBudget(min(request.max_bytes, ctx.services.config.fetch_max_bytes))
        self.failed = False
        self.is_follower = max(request.replica_id, request.replica_state.replica_id) >= 0
        self.size_bytes = 0
        self.partitions: list[Partition] = []
        self.moved_leaders: set[BrokerId] = set()

    def all(self) -> FetchResponse:
        """Everything that may be given now, in the order asked."""
        response = FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic=topic.topic,
                    topic_id=topic.topic_id,
                    partitions=[self._one(topic, asked) for asked in topic.partitions],
                )
                for topic in self.request.topics
            ]
        )
        if self.moved_leaders:
            response.node_endpoints = [
                NodeEndpoint(node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack)
                for node in nodes_of(self.ctx, self.moved_leaders)
            ]
        return response

    def _one(self, topic: FetchTopic, asked: FetchPartition) -> PartitionData:
        replicas = self.ctx.services.replicas
        try:
            if topic.topic_id != ZERO_UUID:
                partition = replicas.find_by_id(topic.topic_id, asked.partition)
            else:
                partition = replicas.find(topic.topic, asked.partition)
            if self.is_follower:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            diverging = None
            if asked.last_fetched_epoch >= 0:
                diverging = partition.divergence(
                    Offset(asked.fetch_offset), LeaderEpoch(asked.last_fetched_epoch)
                )
            if diverging is not None:
                return self._diverging(partition, asked.partition, diverging)
            read = partition.read(
                Offset(asked.fetch_offset),
                claimed_epoch=LeaderEpoch(max(asked.current_leader_epoch, -1)),
                max_bytes=self.budget.limit(asked.partition_max_bytes),
                first_batch_whole=self.budget.first_batch_whole,
            )
        except (KafkaError, OSError) as error:
            return self._refusal(topic, asked.partition, code_for(error))
        self.budget.took(read.size_bytes)
        self.size_bytes += read.size_bytes
        self.partitions.append(partition)
        high_watermark = partition.leading.high_watermark
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=high_watermark,
            last_stable_offset=high_watermark,
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=[] if self.request.isolation_level == READ_COMMITTED else None,
            records=b"" if read.part is None else read.part,
        )

    def _diverging(self, partition: Partition, index: int, diverging: EpochEnd) -> PartitionData:
        """Instead of records: where the client's log and this one part."""
        self.failed = True
        high_watermark = partition.leading.high_watermark
        return PartitionData(
            partition_index=index,
            high_watermark=high_watermark,
            last_stable_offset=high_watermark,
            log_start_offset=partition.log.log_start_offset,
            diverging_epoch=EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset),
            aborted_transactions=None,
            records=b"",
        )

    def _refusal(self, topic: FetchTopic, index: int, code: ErrorCode) -> PartitionData:
        self.failed = True
        data = _failure(index, code)
        if self.ctx.version >= _FIRST_VERSION_WITH_LEADERS and code in _LEADER_ERRORS:
            leader = leader_of(self.ctx.services.image, topic.topic, topic.topic_id, index)
            if leader is not None:
                self.moved_leaders.add(leader.leader)
                data.current_leader = LeaderIdAndEpoch(
                    leader_id=leader.leader, leader_epoch=leader.leader_epoch
                )
        return data


def _failure(index: int, code: ErrorCode) -> PartitionData:
    """Kafka has no list of aborted transactions here for what its log refused, else an empty
    one."""
    return PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=[] if code in _UNKNOWN else None,
        records=b"",
    )
