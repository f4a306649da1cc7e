"""Which part of a request a broker answers for itself, while a Kafka 3.9 is the controller.

There each broker alters its own settings, whoever the controller is, and refuses those of others;
all else the controller takes. Clients ask each broker for its own in a request of its own: both
parts in one are the exception.

Source: Kafka's `ZkAdminManager.incrementalAlterConfigs` and `alterConfigs`.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple, TypeVar

from kafkalite.metadata.image import ConfigResourceType
from kafkalite.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as IncrementalResource,
)
from kafkalite.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.protocol.schema import Request, Response

Q = TypeVar("Q", AlterConfigsRequest, IncrementalAlterConfigsRequest)


class Parts(NamedTuple):
    """Of a request; None: nothing of it."""

    own: Request | None
    """For the broker that took it."""
    rest: Request | None
    """For the controller."""


def parted(request: Request) -> Parts:
    """The request itself is the part that has all of it."""
    match request:
        case AlterConfigsRequest():
            return _parted(request)
        case IncrementalAlterConfigsRequest():
            return _parted(request)
        case _:
            return Parts(None, request)


def joined(own: Response, rest: Response) -> Response:
    """The answers of both parts as one."""
    if isinstance(rest, AlterConfigsResponse) and isinstance(own, AlterConfigsResponse):
        rest.responses = [*own.responses, *rest.responses]
    elif isinstance(rest, IncrementalAlterConfigsResponse):
        assert isinstance(own, IncrementalAlterConfigsResponse), own
        rest.responses = [*own.responses, *rest.responses]
    return rest


def _parted(request: Q) -> Parts:
    count = sum(map(_is_of_one_broker, request.resources))
    if not count:
        return Parts(None, request)
    if count == len(request.resources):
        return Parts(request, None)
    own, rest = copy(request), copy(request)
    own.resources = [each for each in request.resources if _is_of_one_broker(each)]
    rest.resources = [each for each in request.resources if not _is_of_one_broker(each)]
    return Parts(own, rest)


def _is_of_one_broker(resource: AlterConfigsResource | IncrementalResource) -> bool:
    """Without a name they are those of all brokers."""
    return resource.resource_type == ConfigResourceType.BROKER_LOGGER or (
        resource.resource_type == ConfigResourceType.BROKER and bool(resource.resource_name)
    )
