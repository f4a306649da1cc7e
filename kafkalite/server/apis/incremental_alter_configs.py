"""IncrementalAlterConfigs: single settings of topics, brokers, groups and client metrics
subscriptions, set, deleted, or as lists of topics and brokers lengthened and shortened (KIP-339).

Versions: 0 to 1.
- 1 flexible.

Answered when every live broker follows the new settings: open partitions take them from their next
append on.

Missing: settings of brokers about listeners, TLS, SASL and plug-ins, see
`controller/broker_configs.py`.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import ConfigEdit, ResourceEdits
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import ConfigResource
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.config_alterations import alter, refused
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    min_version=0,
    max_version=1,
    missing="settings of brokers about listeners",
    by_controller=True,
)


def handle(ctx: RequestContext, request: IncrementalAlterConfigsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    return alter(
        ctx,
        map(_wanted, request.resources),
        AlterConfigsResourceResponse,
        respond=_response,
        refuse=partial(refuse, request),
        replaces_all=False,
        validate_only=request.validate_only,
    )


def refuse(
    request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str
) -> IncrementalAlterConfigsResponse:
    """The same code for every resource."""
    return _response(refused(AlterConfigsResourceResponse, request.resources, code, message))


def _wanted(resource: AlterConfigsResource) -> ResourceEdits:
    return ResourceEdits(
        ConfigResource(resource.resource_type, resource.resource_name),
        tuple(
            ConfigEdit(config.name, config.config_operation, config.value)
            for config in resource.configs
        ),
    )


def _response(responses: list[AlterConfigsResourceResponse]) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=responses)
