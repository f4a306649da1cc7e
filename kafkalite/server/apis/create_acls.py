"""CreateAcls: new rules of who may do what. Nobody is held to any here, so none is made.

Versions: 1 to 3.
- 2 flexible. 3 the resource type `USER`.

Every rule is refused as by a Kafka without an authorizer: with SECURITY_DISABLED.

Missing: authorizers, see `authorizer.class.name`.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.CREATE_ACLS,
    CreateAclsRequest,
    CreateAclsResponse,
    min_version=1,
    max_version=3,
    missing="authorizers",
)


def handle(ctx: RequestContext, request: CreateAclsRequest) -> NoReturn:
    """`KafkaError`, whatever is asked."""
    raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def refuse(request: CreateAclsRequest, code: ErrorCode, message: str) -> CreateAclsResponse:
    """The same code for every rule."""
    result = AclCreationResult(error_code=code, error_message=message or None)
    return CreateAclsResponse(results=[result] * len(request.creations))
