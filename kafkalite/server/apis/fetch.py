"""Fetch: read record batches, waiting for them if there are too few.

Versions: 4 to 18.
- 4 isolation level, last stable offset. 5 log start offset. 7 fetch sessions (KIP-227).
- 9 fences by leader epoch (KIP-320). 10 zstd. 11 rack and preferred replica (KIP-392).
- 12 flexible, diverging epochs. 13 topics by id (KIP-516). 15 replica state (KIP-903).
- 16 tells the current leader (KIP-951). 17 directory ids. 18 high watermark (KIP-1166).

Records leave as slices of the segment file. The answer waits for `min_bytes`, at most
`max_wait_ms`; an error in any partition is answered at once, except that the metadata does not know
it. The first batch of the first partition that has one is given whole, above every limit (KIP-74).

Each request begins a fetch session, belongs to one, or has none: `replica/fetch_session.py`.
Whoever tells its rack may be sent to a replica in it: `server/preferred_replica.py`. Who may read
what of which replica: `server/fetch_reader.py`. Whoever tells the epoch of its last record (version
12 on) learns where its log and the leader's part. A partition that is asked twice is answered once,
as asked last. `read_committed` is told what was aborted.

Kafka differs: a negative `max_bytes` or `partition_max_bytes` gives UNKNOWN_SERVER_ERROR where
there are records. Here such a limit is 0.
"""

from __future__ import annotations

from functools import partial

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from kafkalite.replica.fetch_answers import (
    FetchPass,
    NewSession,
    SessionPass,
    WholePass,
    keep_last_wishes,
)
from kafkalite.replica.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, FetchSession, Told
from kafkalite.server.apis.api import Api
from kafkalite.server.fetch_reader import FetchReader, failure, release_records, replica_of
from kafkalite.server.purgatory import FetchWait, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import ISOLATION_LEVELS, READ_COMMITTED, TimestampMs

API = Api(
    ApiKey.FETCH,
    FetchRequest,
    FetchResponse,
    min_version=4,
    max_version=18,
)

_FIRST_VERSION_WITH_TOPIC_IDS = 13


def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Parked:
    """Answer now if there is enough, an error, or no wish to wait; else park."""
    try:
        session = _session(ctx, request)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    if request.isolation_level not in ISOLATION_LEVELS:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if session is None:
        keep_last_wishes(request)
    new_session = _new_session(ctx, request) if request.session_epoch == INITIAL_EPOCH else None

    def new_pass(read: FetchReader) -> FetchPass:
        if session is None:
            return WholePass(request, new_session, read)
        return SessionPass(session, read)

    read = FetchReader(ctx, request)
    first = new_pass(read)
    if _is_enough(request, read) or not (waits_at := first.waits_at):
        return first.response()
    # Slices are taken anew at the end, so that none is held while nothing is sent.
    release_records(first.told())
    first.wait()
    clock = ctx.services.clock
    return FetchWait(
        clock,
        TimestampMs(clock.now_ms() + request.max_wait_ms),
        missing_bytes=request.min_bytes - read.size_bytes,
        partitions=waits_at if new_session is None else [*waits_at, ctx.connection.session],
        only_stable=request.isolation_level == READ_COMMITTED,
        answer=lambda: new_pass(FetchReader(ctx, request, after_wait=read)).response(),
    ).parked


def refuse(request: FetchRequest, code: ErrorCode, message: str) -> FetchResponse:
    """The code stands at the top (version 7 on) and in every partition (before)."""
    return FetchResponse(
        error_code=code,
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[failure(asked.partition, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def release(response: FetchResponse) -> None:
    """Give back the slices of a response that is not sent."""
    for topic in response.responses:
        release_records(topic.partitions)


def _session(ctx: RequestContext, request: FetchRequest) -> FetchSession | None:
    """The session that the request belongs to, brought up to it; None for a request that names all
    its partitions, and ends the session that it names."""
    sessions = ctx.services.fetch_sessions
    if request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        return sessions.resume(
            request,
            uses_topic_ids=ctx.version >= _FIRST_VERSION_WITH_TOPIC_IDS,
            now=ctx.services.clock.now_ms(),
        )
    if request.session_id:
        sessions.remove(request.session_id)
    elif request.session_epoch == FINAL_EPOCH and not request.topics:
        ctx.connection.session.wake_first_fetches()
    return None


def _new_session(ctx: RequestContext, request: FetchRequest) -> NewSession:
    # Named as of now: a topic that goes while the request waits is one that the session knows.
    known = ctx.services.image.topics_by_id
    named = (known.get(asked.topic_id) for asked in request.topics)
    names = {topic.id: topic.name for topic in named if topic is not None}
    return NewSession(names, partial(_begin_session, ctx, request))


def _begin_session(ctx: RequestContext, request: FetchRequest, told: list[Told]) -> int:
    services = ctx.services
    return services.fetch_sessions.create(
        told,
        candidate_id=int.from_bytes(services.entropy.token_bytes(4), "big") >> 1 or 1,
        is_privileged=replica_of(request) >= 0,
        uses_topic_ids=ctx.version >= _FIRST_VERSION_WITH_TOPIC_IDS,
        now=services.clock.now_ms(),
    )


def _is_enough(request: FetchRequest, read: FetchReader) -> bool:
    """Whether to answer at once what was read. To a follower too a new high watermark alone is not
    enough: told at once, it would double the fetches."""
    return request.max_wait_ms <= 0 or read.size_bytes >= request.min_bytes or read.failed
