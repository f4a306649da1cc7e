"""ApiVersions: what this broker serves. The first request of nearly every client.

Versions: 0 to 5.
- 3 the client's name and version, flexible request (the response header never is), features.
- 4 shows features that may be at level 0. 5 names the cluster and node that the client means
  (KIP-1242).

An unknown version is answered in the format of version 0 with UNSUPPORTED_VERSION and the range
that ApiVersions itself has, so that a newer client can try again; dispatch sees to that.

Only what works now is listed: APIs by `table.py`, features as finalized in the metadata log.

A version 5 that means another cluster or node gets REBOOTSTRAP_REQUIRED, one that names only one of
the two INVALID_REQUEST.
"""

from __future__ import annotations

import re

from kafkalite.controller.features import FINALIZED, SUPPORTED
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse, min_version=0, max_version=5
)

_FIRST_VERSION_WITH_SOFTWARE = 3
_FIRST_VERSION_WITH_LEVEL_ZERO = 4
_NO_NODE = -1
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.\-]*[a-zA-Z0-9])?", re.ASCII)


def handle(ctx: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """The table and the features."""
    if ctx.version >= _FIRST_VERSION_WITH_SOFTWARE and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if ctx.connection.session.principal is not None:  # Before that, Kafka does not look at it.
        _check_identity(ctx, request)
    image = ctx.services.image
    return ApiVersionsResponse(
        api_keys=ctx.services.api_versions(),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.min, max_version=levels.max)
            for name, levels in sorted(SUPPORTED.items())
            if name in FINALIZED
            and (levels.min > 0 or ctx.version >= _FIRST_VERSION_WITH_LEVEL_ZERO)
        ],
        finalized_features_epoch=image.end_offset - 1,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in sorted(image.features.items())
            if name in FINALIZED
        ],
    )


def _check_identity(ctx: RequestContext, request: ApiVersionsRequest) -> None:
    """Older versions decode to the two defaults: no cluster, no node."""
    names_cluster, names_node = request.cluster_id is not None, request.node_id != _NO_NODE
    if names_cluster != names_node:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    services = ctx.services
    meant = (request.cluster_id, request.node_id)
    if names_cluster and meant != (services.cluster_id, services.broker_id):
        raise KafkaError(ErrorCode.REBOOTSTRAP_REQUIRED)


def refuse(request: ApiVersionsRequest, code: ErrorCode, message: str) -> ApiVersionsResponse:
    """The code, and no APIs."""
    return ApiVersionsResponse(error_code=code)


def unsupported_version() -> ApiVersionsResponse:
    """To be encoded in version 0: the range in which a client may ask again."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[
            ApiVersion(api_key=API.key, min_version=API.min_version, max_version=API.max_version)
        ],
    )
