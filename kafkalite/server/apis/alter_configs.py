"""AlterConfigs: all settings of a topic, broker, group or client metrics subscription at once; what
is not named goes. Deprecated since KIP-339.

Versions: 0 to 2.
- 2 flexible.

Answered when every live broker follows the new settings: open partitions take them from their next
append on.

Kafka differs: to a request that names a resource twice it gives no answer at all. Here each is
refused with INVALID_REQUEST, as in IncrementalAlterConfigs.

Missing: settings of brokers about listeners, TLS, SASL and plug-ins, see
`controller/broker_configs.py`.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import ConfigResource
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.config_alterations import alter, refused
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.ALTER_CONFIGS,
    AlterConfigsRequest,
    AlterConfigsResponse,
    min_version=0,
    max_version=2,
    missing="settings of brokers about listeners",
    by_controller=True,
)


def handle(ctx: RequestContext, request: AlterConfigsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    return alter(
        ctx,
        map(_wanted, request.resources),
        AlterConfigsResourceResponse,
        respond=_response,
        refuse=partial(refuse, request),
        replaces_all=True,
        validate_only=request.validate_only,
    )


def refuse(request: AlterConfigsRequest, code: ErrorCode, message: str) -> AlterConfigsResponse:
    """The same code for every resource."""
    return _response(refused(AlterConfigsResourceResponse, request.resources, code, message))


def _wanted(resource: AlterConfigsResource) -> ResourceEdits:
    return ResourceEdits(
        ConfigResource(resource.resource_type, resource.resource_name),
        tuple(
            ConfigEdit(config.name, ConfigOperation.SET, config.value)
            for config in resource.configs
        ),
    )


def _response(responses: list[AlterConfigsResourceResponse]) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=responses)
