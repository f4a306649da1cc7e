"""DescribeCluster: the brokers, the controller, and what the client may do (KIP-700).

Versions: 0 to 2.
- 1 says whether brokers or controllers are meant (KIP-919). 2 fenced brokers too (KIP-1073).

Brokers are told at the address that the client itself reached us on, see `server/addresses.py`.
Controllers have no listener of their own here: who asks for them asks the wrong endpoint.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkalite.server.addresses import fenced_nodes, nodes, told_controller
from kafkalite.server.apis.api import Api
from kafkalite.server.operations import CLUSTER_OPERATIONS, NOT_ASKED
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_CLUSTER,
    DescribeClusterRequest,
    DescribeClusterResponse,
    min_version=0,
    max_version=2,
)

BROKERS = 1
CONTROLLERS = 2


def handle(ctx: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Answer from the image."""
    if request.endpoint_type == CONTROLLERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type"
            " CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"Unsupported endpoint type {request.endpoint_type}",
        )
    services = ctx.services
    told = [(node, False) for node in nodes(ctx)]
    if request.include_fenced_brokers:
        told += [(node, True) for node in fenced_nodes(ctx)]
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=told_controller(services),
        brokers=[
            DescribeClusterBroker(
                broker_id=node.broker_id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=is_fenced,
            )
            for node, is_fenced in told
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def refuse(
    request: DescribeClusterRequest, code: ErrorCode, message: str
) -> DescribeClusterResponse:
    """The code, and no brokers."""
    return DescribeClusterResponse(error_code=code, error_message=message or None)
