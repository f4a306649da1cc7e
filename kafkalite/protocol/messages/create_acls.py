# Made by tools/generate_messages.py, digest 07a88f4d7f8008d7; do not edit.
"""CreateAcls, API key 30: versions 1 to 3, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int8, string
from kafkalite.protocol.schema import Request, Response, Struct


class AclCreation(Struct):
    resource_type: int = int8("0+")
    resource_name: str = string("0+")
    resource_pattern_type: int = int8("1+", default=3)
    principal: str = string("0+")
    host: str = string("0+")
    operation: int = int8("0+")
    permission_type: int = int8("0+")


class CreateAclsRequest(
    Request,
    api_key=30,
    versions="1-3",
    flexible="2+",
    listeners="broker controller",
):
    creations: list[AclCreation] = array(AclCreation, "0+")


class AclCreationResult(Struct):
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")


class CreateAclsResponse(Response, api_key=30, versions="1-3", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    results: list[AclCreationResult] = array(AclCreationResult, "0+")
