# Made by tools/generate_messages.py, digest 9f8d38dc06c550ba; do not edit.
"""ListConfigResources, API key 74: versions 0 to 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int8, string
from kafkalite.protocol.schema import Request, Response, Struct


class ListConfigResourcesRequest(
    Request,
    api_key=74,
    versions="0-1",
    flexible="0+",
    listeners="broker",
):
    resource_types: list[int] = array(int8, "1+")


class ConfigResource(Struct):
    resource_name: str = string("0+")
    resource_type: int = int8("1+", default=16, ignorable=True)


class ListConfigResourcesResponse(Response, api_key=74, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    config_resources: list[ConfigResource] = array(ConfigResource, "0+")
