# Made by tools/generate_messages.py, digest 72caeb9924ee1598; do not edit.
"""AlterConfigs, API key 33: versions 0 to 2, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int8, string
from kafkalite.protocol.schema import Request, Response, Struct


class AlterableConfig(Struct):
    name: str = string("0+", map_key=True)
    value: str | None = string("0+", nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: int = int8("0+", map_key=True)
    resource_name: str = string("0+", map_key=True)
    configs: list[AlterableConfig] = array(AlterableConfig, "0+")


class AlterConfigsRequest(
    Request,
    api_key=33,
    versions="0-2",
    flexible="2+",
    listeners="broker controller",
):
    resources: list[AlterConfigsResource] = array(AlterConfigsResource, "0+")
    validate_only: bool = boolean("0+")


class AlterConfigsResourceResponse(Struct):
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    resource_type: int = int8("0+")
    resource_name: str = string("0+")


class AlterConfigsResponse(Response, api_key=33, versions="0-2", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse, "0+")
