"""DeleteAcls: rules of who may do what, by filters. There are none here.

Versions: 1 to 3.
- 2 flexible. 3 the resource type `USER`.

Every filter is refused as by a Kafka without an authorizer: with SECURITY_DISABLED.

Missing: authorizers, see `authorizer.class.name`.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DELETE_ACLS,
    DeleteAclsRequest,
    DeleteAclsResponse,
    min_version=1,
    max_version=3,
    missing="authorizers",
)


def handle(ctx: RequestContext, request: DeleteAclsRequest) -> NoReturn:
    """`KafkaError`, whatever is asked."""
    raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def refuse(request: DeleteAclsRequest, code: ErrorCode, message: str) -> DeleteAclsResponse:
    """The same code for every filter."""
    result = DeleteAclsFilterResult(error_code=code, error_message=message or None)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
