# Made by tools/generate_messages.py, digest 7598efd29b64eea3; do not edit.
"""IncrementalAlterConfigs, API key 44: versions 0 to 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int8, string
from kafkalite.protocol.schema import Request, Response, Struct


class AlterableConfig(Struct):
    name: str = string("0+", map_key=True)
    config_operation: int = int8("0+", map_key=True)
    value: str | None = string("0+", nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: int = int8("0+", map_key=True)
    resource_name: str = string("0+", map_key=True)
    configs: list[AlterableConfig] = array(AlterableConfig, "0+")


class IncrementalAlterConfigsRequest(
    Request,
    api_key=44,
    versions="0-1",
    flexible="1+",
    listeners="broker controller",
):
    resources: list[AlterConfigsResource] = array(AlterConfigsResource, "0+")
    validate_only: bool = boolean("0+")


class AlterConfigsResourceResponse(Struct):
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    resource_type: int = int8("0+")
    resource_name: str = string("0+")


class IncrementalAlterConfigsResponse(Response, api_key=44, versions="0-1", flexible="1+"):
    throttle_time_ms: int = int32("0+")
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse, "0+")
