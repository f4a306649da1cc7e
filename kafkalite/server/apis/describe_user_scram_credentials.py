"""DescribeUserScramCredentials: which SCRAM mechanisms users can log in with, and the iterations of
each credential (KIP-554). All users when none is named.

Versions: 0.

Any broker answers, by the newest image that it has.

Kafka differs: its answer has users in the order of a hash table. Here they come in the order in
which they were named, or got their first credential.
"""

from __future__ import annotations

from collections import Counter

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    min_version=0,
    max_version=0,
)


def handle(
    ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Look them up."""
    image = ctx.services.replicas.image
    if request.users:
        named = [user.name for user in request.users]
    else:
        named = list(dict.fromkeys(key.user for key in image.scram_credentials))
    return DescribeUserScramCredentialsResponse(
        results=[_result(image, user, times) for user, times in Counter(named).items()]
    )


def refuse(
    request: DescribeUserScramCredentialsRequest, code: ErrorCode, message: str
) -> DescribeUserScramCredentialsResponse:
    """Of the request as a whole."""
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=message)


def _result(image: MetadataImage, user: str, times: int) -> DescribeUserScramCredentialsResult:
    infos = _infos(image, user) if times == 1 else []
    if times > 1:
        refusal = KafkaError(
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request:"
            f" {user}",
        )
    elif not infos:
        refusal = KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {user}",
        )
    else:
        return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
    return DescribeUserScramCredentialsResult(
        user=user, error_code=refusal.code, error_message=refusal.message
    )


def _infos(image: MetadataImage, user: str) -> list[CredentialInfo]:
    return [
        CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
        for mechanism, credential in image.credentials_of(user).items()
    ]
