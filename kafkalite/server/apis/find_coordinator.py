"""FindCoordinator: the broker that coordinates a group, a transactional id or a share partition.

Versions: 0 to 6.
- 1 other things than groups: key type 1, transactions. 3 flexible. 4 many keys in one request.
- 5 knows TRANSACTION_ABORTABLE. 6 key type 2, share partitions (KIP-932).

The first who asks for a coordinator of a kind has the internal topic made that keeps its state, and
is answered when it is there; share partitions need no share groups for that, as in Kafka. The
coordinator is told at the address that the client itself reached us on, see `server/addresses.py`.

Kafka differs: to the first who asks it answers COORDINATOR_NOT_AVAILABLE, and the client asks again
after its back-off until the topic is there.
"""

from __future__ import annotations

from functools import partial

from kafkalite.coordinator.partitioner import (
    STATE_TOPICS,
    CoordinatorType,
    coordinator_of,
    is_key,
)
from kafkalite.errors import DEFAULT_MESSAGES, ErrorCode, KafkaError
from kafkalite.metadata.image import TopicImage
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.server.addresses import Node, nodes
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.topic_creation import need_internal_topic
from kafkalite.types import BrokerId

API = Api(
    ApiKey.FIND_COORDINATOR,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    min_version=0,
    max_version=6,
)

_FIRST_VERSION_WITH_MANY = 4
_FIRST_VERSION_WITH_SHARE = 6
_NO_NODE = -1


def handle(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Parked:
    """Parked only while the topic is made."""
    if ctx.version >= _FIRST_VERSION_WITH_MANY and not request.coordinator_keys:
        return FindCoordinatorResponse()
    kind = _kind(ctx, request)
    if not any(is_key(kind, key) for key in _keys(request)):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    name = STATE_TOPICS[kind]
    topic = ctx.services.image.topics.get(name)
    if topic is not None:
        return _response(ctx, request, topic)
    parked, on_topic = parked_answer(
        ctx.services,
        answer=partial(_response, ctx, request),
        refuse=partial(refuse, request),
        late=ErrorCode.COORDINATOR_NOT_AVAILABLE,
    )
    need_internal_topic(ctx.services, name, on_topic)
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
        error_message=message or DEFAULT_MESSAGES.get(code, ""),
        node_id=_NO_NODE,
        port=_NO_NODE,
    )


def _kind(ctx: RequestContext, request: FindCoordinatorRequest) -> CoordinatorType:
    try:
        kind = CoordinatorType(request.key_type)
    except ValueError:
        # Of many keys, only those of an unknown kind get a text.
        message = DEFAULT_MESSAGES[ErrorCode.INVALID_REQUEST]
        raise KafkaError(ErrorCode.INVALID_REQUEST, message) from None
    if kind is CoordinatorType.SHARE and ctx.version < _FIRST_VERSION_WITH_SHARE:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    return kind


def _keys(request: FindCoordinatorRequest) -> list[str]:
    return request.coordinator_keys or [request.key]


def _response(
    ctx: RequestContext, request: FindCoordinatorRequest, topic: TopicImage
) -> FindCoordinatorResponse:
    kind = CoordinatorType(request.key_type)
    by_id = {node.broker_id: node for node in nodes(ctx)}
    coordinators = [_coordinator(kind, key, topic, by_id) for key in _keys(request)]
    if request.coordinator_keys:
        return FindCoordinatorResponse(coordinators=coordinators)
    (one,) = coordinators
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=DEFAULT_MESSAGES[ErrorCode(one.error_code)],
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _coordinator(
    kind: CoordinatorType, key: str, topic: TopicImage, by_id: dict[BrokerId, Node]
) -> Coordinator:
    try:
        node = by_id.get(coordinator_of(kind, key, topic))
    except KafkaError as error:
        return _nowhere(key, error.code)
    if node is None:
        return _nowhere(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(
        key=key, node_id=node.broker_id, host=node.host, port=node.port, error_message=""
    )


def _nowhere(key: str, code: ErrorCode, text: str = "") -> Coordinator:
    return Coordinator(
        key=key, node_id=_NO_NODE, port=_NO_NODE, error_code=code, error_message=text
    )
