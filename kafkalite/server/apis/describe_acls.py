"""DescribeAcls: who may do what. Nobody is held to anything here, so there is nothing to describe.

Versions: 1 to 3.
- 2 flexible. 3 the resource type `USER`.

Every request is refused as by a Kafka without an authorizer: with SECURITY_DISABLED.

Missing: authorizers, see `authorizer.class.name`.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_ACLS,
    DescribeAclsRequest,
    DescribeAclsResponse,
    min_version=1,
    max_version=3,
    missing="authorizers",
)


def handle(ctx: RequestContext, request: DescribeAclsRequest) -> NoReturn:
    """`KafkaError`, whatever is asked."""
    raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")


def refuse(request: DescribeAclsRequest, code: ErrorCode, message: str) -> DescribeAclsResponse:
    """The code, and no resources."""
    return DescribeAclsResponse(error_code=code, error_message=message or None)
