"""FindCoordinator: the broker that coordinates a group, or another thing that has a key.

Versions: 0 to 6.
- 1 other things than groups: key type 1, transactions. 3 flexible. 4 many keys in one request.
- 5 knows TRANSACTION_ABORTABLE. 6 key type 2, share groups (KIP-932).

The first who asks for the coordinator of a group has `__consumer_offsets` made, and is answered
when it is there. The coordinator is told at the address that the client itself reached us on, see
`server/addresses.py`.

Kafka differs: to the first who asks it answers COORDINATOR_NOT_AVAILABLE, and the client asks again
after its back-off until the topic is there.

Missing: the coordinators of transactions and of share groups. They are COORDINATOR_NOT_AVAILABLE,
which is what Kafka says while it has no such coordinator.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import TopicImage
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.server.addresses import Node, nodes
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.topic_creation import need_internal_topic
from kafkalite.types import BrokerId, TimestampMs, parse_uuid

API = Api(
    ApiKey.FIND_COORDINATOR,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    min_version=0,
    max_version=6,
    missing="transactions and share groups have no coordinator",
)

GROUP, TRANSACTION, SHARE = 0, 1, 2
_FIRST_VERSION_WITH_MANY = 4
_FIRST_VERSION_WITH_SHARE = 6
_NO_NODE = -1
_TIMEOUT_MS = 30_000
"""Kafka's default `request.timeout.ms`: how long the making of the topic may take."""

_TEXTS = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the "
        "message was sent to an incompatible broker. See the broker logs for more details."
    ),
}
"""Stands beside the code where one key was asked. Of many keys only those of an unknown type get a
text."""


def handle(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Parked:
    """Parked only while the topic of the groups is made."""
    if request.key_type != GROUP:
        return _response(ctx, request, _refusal(ctx, request))
    clock = ctx.services.clock
    found: list[TopicImage | KafkaError] = []
    parked: Parked | None = None

    def answer() -> FindCoordinatorResponse:
        topic = found[0] if found else KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return _response(ctx, request, topic)

    def on_topic(topic: TopicImage | KafkaError) -> None:
        found.append(topic)
        if parked is not None:
            parked.complete(answer)

    need_internal_topic(ctx.services, CONSUMER_OFFSETS, on_topic)
    if found:
        return answer()
    parked = Parked(clock, TimestampMs(clock.now_ms() + _TIMEOUT_MS), answer)
    return parked


def refuse(
    request: FindCoordinatorRequest, code: ErrorCode, message: str
) -> FindCoordinatorResponse:
    """The same code for every key."""
    if request.coordinator_keys:
        return FindCoordinatorResponse(
            coordinators=[_nowhere(key, code, message) for key in request.coordinator_keys]
        )
    return FindCoordinatorResponse(
        error_code=code,
        error_message=message or _TEXTS.get(code, ""),
        node_id=_NO_NODE,
        port=_NO_NODE,
    )


def _refusal(ctx: RequestContext, request: FindCoordinatorRequest) -> KafkaError:
    """Why nobody coordinates what is no group."""
    code, text = ErrorCode.COORDINATOR_NOT_AVAILABLE, ""
    if request.key_type == SHARE:
        if ctx.version < _FIRST_VERSION_WITH_SHARE or not all(
            map(_is_share_key, request.coordinator_keys)
        ):
            code = ErrorCode.INVALID_REQUEST
    elif request.key_type != TRANSACTION:
        code = ErrorCode.INVALID_REQUEST
        text = _TEXTS[code]
    return KafkaError(code, text)


def _is_share_key(key: str) -> bool:
    """`group:topic id:partition`."""
    group, *rest = key.rsplit(":", 2)
    if not group or len(rest) != 2 or not rest[1].isdecimal():
        return False
    try:
        parse_uuid(rest[0])
    except ValueError:
        return False
    return True


def _response(
    ctx: RequestContext, request: FindCoordinatorRequest, topic: TopicImage | KafkaError
) -> FindCoordinatorResponse:
    if ctx.version >= _FIRST_VERSION_WITH_MANY and not request.coordinator_keys:
        return FindCoordinatorResponse()
    if isinstance(topic, KafkaError):
        return refuse(request, topic.code, topic.message)
    by_id = {node.broker_id: node for node in nodes(ctx)}
    coordinators = [
        _coordinator(ctx, key, topic, by_id) for key in request.coordinator_keys or [request.key]
    ]
    if request.coordinator_keys:
        return FindCoordinatorResponse(coordinators=coordinators)
    (one,) = coordinators
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=_TEXTS[ErrorCode(one.error_code)],
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _coordinator(
    ctx: RequestContext, group_id: str, topic: TopicImage, by_id: dict[BrokerId, Node]
) -> Coordinator:
    index = ctx.services.groups.partition_of(group_id)
    node = by_id.get(topic.partitions[index].leader)
    if node is None:
        return _nowhere(group_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(
        key=group_id, node_id=node.broker_id, host=node.host, port=node.port, error_message=""
    )


def _nowhere(key: str, code: ErrorCode, text: str = "") -> Coordinator:
    return Coordinator(
        key=key, node_id=_NO_NODE, port=_NO_NODE, error_code=code, error_message=text
    )
