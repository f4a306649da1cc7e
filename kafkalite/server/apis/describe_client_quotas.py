"""DescribeClientQuotas: what users, clients and addresses are limited to (KIP-546).

Versions: 0 to 1.
- 1 flexible.

There are no quotas here yet, and AlterClientQuotas is not served: no limit is what all have.
`kafka-configs` asks for quotas whenever it describes users, before it asks for their credentials.

Missing: quotas. Those that a Kafka has left in the metadata log stay there, and are not told.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.quota_filters import FilterPart, check_filter
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    min_version=0,
    max_version=1,
    missing="quotas: there are none",
)


def handle(
    ctx: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    """Look at what is asked for. `KafkaError`: see `check_filter`."""
    check_filter(
        FilterPart(each.entity_type, each.match_type, each.match) for each in request.components
    )
    return DescribeClientQuotasResponse()


def refuse(
    request: DescribeClientQuotasRequest, code: ErrorCode, message: str
) -> DescribeClientQuotasResponse:
    """Of the request as a whole."""
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)
