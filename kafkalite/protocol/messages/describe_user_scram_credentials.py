# Made by tools/generate_messages.py, digest b9339a20648a23e7; do not edit.
"""DescribeUserScramCredentials, API key 50: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int8, string
from kafkalite.protocol.schema import Request, Response, Struct


class UserName(Struct):
    name: str = string("0+")


class DescribeUserScramCredentialsRequest(
    Request,
    api_key=50,
    versions="0",
    flexible="0+",
    listeners="broker controller",
):
    users: list[UserName] | None = array(UserName, "0+", nullable="0+")


class CredentialInfo(Struct):
    mechanism: int = int8("0+")
    iterations: int = int32("0+")


class DescribeUserScramCredentialsResult(Struct):
    user: str = string("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    credential_infos: list[CredentialInfo] = array(CredentialInfo, "0+")


class DescribeUserScramCredentialsResponse(Response, api_key=50, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = array(
        DescribeUserScramCredentialsResult,
        "0+",
    )
