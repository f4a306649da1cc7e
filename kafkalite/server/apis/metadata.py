"""Metadata: brokers, topics, partitions and their leaders.

Versions: 0 to 13.
- 0 an empty list means all topics; from 1 on null does, and an empty list means none.
- 4 lets the client refuse auto-creation. 8 authorized operations (the cluster's until 10).
- 9 flexible. 10 topic ids in the answer; 12 asks by id: before, an id or a missing name refuses the
  whole request. 13 an error for the whole answer.

Brokers are told at the address that the client itself reached us on, see `server/addresses.py`.

An internal topic that a client asks for is created with its own settings, like one that a
coordinator needs.

Kafka differs: it answers UNKNOWN_TOPIC_OR_PARTITION to the request that creates a topic, and the
client asks again after its back-off. Here the answer waits until the topic is there, which saves
that back-off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.controller.limits import MAX_PARTITIONS_PER_REQUEST
from kafkalite.errors import ErrorCode
from kafkalite.metadata import topic_lookup
from kafkalite.metadata.topic_lookup import TopicKey
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kafkalite.server.addresses import nodes, told_controller
from kafkalite.server.apis.api import Api
from kafkalite.server.described_topics import describe_each
from kafkalite.server.operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.turns import answer_in_turns, complete_in_turns
from kafkalite.types import TimestampMs

API = Api(ApiKey.METADATA, MetadataRequest, MetadataResponse, min_version=0, max_version=13)

_FIRST_VERSION_WITH_NULL = 1
_FIRST_VERSION_BY_ID = 12


def handle(ctx: RequestContext, request: MetadataRequest) -> MetadataResponse | Parked:
    """Answer from the image; topics that are missing and may be created are created first. Many
    are told in several turns of the loop."""
    if request.topics is None or (not request.topics and ctx.version < _FIRST_VERSION_WITH_NULL):
        return _answer(ctx, request, None)
    # What is asked for twice is answered once, as by the real one.
    wanted = list(dict.fromkeys(TopicKey(topic.name, topic.topic_id) for topic in request.topics))
    topic_lookup.check_asked(wanted, by_id=ctx.version >= _FIRST_VERSION_BY_ID)
    services = ctx.services
    if request.allow_auto_topic_creation and services.config.auto_create_topics_enable:
        missing = topic_lookup.creatable(services.image, wanted)
        if 0 < len(missing) <= MAX_PARTITIONS_PER_REQUEST:  # The controller makes none of more.
            return _create_first(ctx, request, wanted, missing)
    return _answer(ctx, request, wanted)


def refuse(request: MetadataRequest, code: ErrorCode, message: str) -> MetadataResponse:
    """No brokers; the code stands at the top (version 13) and on each topic."""
    return MetadataResponse(
        error_code=code,
        topics=[
            MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
    )


def _create_first(
    ctx: RequestContext, request: MetadataRequest, wanted: list[TopicKey], missing: list[str]
) -> Parked:
    """Answer when the topics are there, or are not to be had in time."""
    clock, within_ms = ctx.services.clock, ctx.services.config.request_timeout_ms
    topics: list[MetadataResponseTopic] = []
    pieces = _describe(ctx, request, wanted, topics)
    is_told = False

    def tell() -> None:
        nonlocal is_told
        timer.cancel()
        if not is_told:
            is_told = True
            complete_in_turns(clock, parked, pieces, partial(_response, ctx, request, topics))

    deadline_ms = clock.now_ms() + within_ms
    timer = clock.call_at(deadline_ms, tell)
    parked = Parked(
        clock,
        TimestampMs(deadline_ms + within_ms),
        partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
        timer.cancel,
    )
    from kafkalite.server.topic_creation import auto_create  # Most clients find their topics.

    auto_create(ctx.services, missing, lambda _: tell())
    return parked


def _answer(
    ctx: RequestContext, request: MetadataRequest, wanted: list[TopicKey] | None
) -> MetadataResponse | Parked:
    topics: list[MetadataResponseTopic] = []
    return answer_in_turns(
        ctx.services.clock,
        _describe(ctx, request, wanted, topics),
        partial(_response, ctx, request, topics),
        within_ms=ctx.services.config.request_timeout_ms,
        too_late=partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
    )


def _describe(
    ctx: RequestContext,
    request: MetadataRequest,
    wanted: list[TopicKey] | None,
    topics: list[MetadataResponseTopic],
) -> Iterator[int]:
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
    return describe_each(ctx, wanted, operations, topics)


def _response(
    ctx: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    services = ctx.services
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in nodes(ctx)
        ],
        cluster_id=services.cluster_id,
        controller_id=told_controller(services),
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
