"""ListConfigResources: whom one can ask DescribeConfigs about (KIP-1142).

Versions: 0 to 1.
- 0 lists client metrics subscriptions (KIP-714, as ListClientMetricsResources). 1 types, and a
  filter by them.

Topics and brokers are listed all, each broker once more for its loggers; groups and subscriptions
where something is set.

Kafka differs: it passes over a group one of whose timeouts was written with blanks around it, which
it takes, and describes. Here that group is listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResourceType
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kafkalite.server.addresses import nodes
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.LIST_CONFIG_RESOURCES,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    min_version=0,
    max_version=1,
)

_IN_ORDER = sorted(ConfigResourceType, reverse=True)


def handle(ctx: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """Answer from the image. A type that there is not refuses the whole request."""
    if ctx.version == 0:
        wanted = {int(ConfigResourceType.CLIENT_METRICS)}
    else:
        wanted = set(request.resource_types) or set(map(int, ConfigResourceType))
    if wanted - set(map(int, ConfigResourceType)):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=type)
            for type in _IN_ORDER
            if type in wanted
            for name in _names(ctx, type)
        ]
    )


def refuse(
    request: ListConfigResourcesRequest, code: ErrorCode, message: str
) -> ListConfigResourcesResponse:
    """The code, and no resources."""
    return ListConfigResourcesResponse(error_code=code)


def _names(ctx: RequestContext, type: ConfigResourceType) -> Iterable[str]:
    image = ctx.services.image
    match type:
        case ConfigResourceType.TOPIC:
            return image.topics
        case ConfigResourceType.BROKER | ConfigResourceType.BROKER_LOGGER:
            return [str(node.broker_id) for node in nodes(ctx)]
        case _:
            return [resource.name for resource in image.configs if resource.type == type]
