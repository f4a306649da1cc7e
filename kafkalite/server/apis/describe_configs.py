"""DescribeConfigs: the settings of topics, brokers, groups and client metrics subscriptions.

Versions: 1 to 4.
- 1 layers that a setting has a value in, instead of "is default". 3 types and documentation.
- 4 flexible.

Each resource stands alone, but a type of resource that there is not refuses the whole request. A
group or a subscription need not exist: it has the defaults then.

Kafka differs: it lists the loggers of its Java classes with their levels. Here a broker has none.

Kafka differs: it documents its settings in its own words. Documentation is in ours, and says of a
setting that has no effect here that it has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.config.dynamic import DescribedConfig
from kafkalite.errors import DEFAULT_MESSAGES, ErrorCode, KafkaError
from kafkalite.metadata.described_configs import describe
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext, Services
from kafkalite.server.turns import answer_in_turns

API = Api(
    ApiKey.DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    min_version=1,
    max_version=4,
)

_COST = 500
_COSTS: dict[int, int] = {ConfigResourceType.BROKER: 5_000}
"""Of a resource, as `Turns` counts: all its settings are looked at, however few are asked for."""


def handle(
    ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Parked:
    """Answer from the image and the broker's own settings; much is described in several turns of
    the loop."""
    if any(
        resource.resource_type not in list(ConfigResourceType) for resource in request.resources
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST, DEFAULT_MESSAGES[ErrorCode.INVALID_REQUEST])
    results: list[DescribeConfigsResult] = []
    return answer_in_turns(
        ctx.services.clock,
        _describe_each(ctx.services, request, results),
        lambda: DescribeConfigsResponse(results=results),
        within_ms=ctx.services.config.request_timeout_ms,
        too_late=partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, ""),
    )


def _describe_each(
    services: Services, request: DescribeConfigsRequest, results: list[DescribeConfigsResult]
) -> Iterator[int]:
    """One resource after the other: what it cost, for `Turns`."""
    for resource in request.resources:
        results.append(_result(services, request, resource))
        yield _COSTS.get(resource.resource_type, _COST)


def refuse(
    request: DescribeConfigsRequest, code: ErrorCode, message: str
) -> DescribeConfigsResponse:
    """The same code for every resource."""
    return DescribeConfigsResponse(
        results=[_refused(resource, code, message) for resource in request.resources]
    )


def _refused(
    resource: DescribeConfigsResource, code: ErrorCode, message: str
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )


def _result(
    services: Services, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        described = describe(
            services.image,
            ConfigResource(resource.resource_type, resource.resource_name),
            services.broker_id,
            services.config.settings,
        )
    except KafkaError as error:
        return _refused(resource, error.code, error.message)
    wanted = resource.configuration_keys
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[
            _config(request, config) for config in described if not wanted or config.name in wanted
        ],
    )


def _config(
    request: DescribeConfigsRequest, config: DescribedConfig
) -> DescribeConfigsResourceResult:
    synonyms = config.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.is_read_only,
        config_source=config.source,
        is_sensitive=config.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in synonyms
        ],
        config_type=config.type,
        documentation=config.doc if request.include_documentation else None,
    )
