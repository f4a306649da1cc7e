"""What the newer way of asking tells of groups: members of the consumer protocol (KIP-848), which
kafka-python does not know, and from kafkalite why a group of any kind rebalanced last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafkalite.cli.wire_request import Answer, WireRequest, newest_version
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from kafkalite.server.rebalance_reasons import ask_for_reasons

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient


def describe_consumer_groups(
    admin: KafkaAdminClient, names: Sequence[str]
) -> Mapping[str, DescribedGroup]:
    """What each group's coordinator says; a classic group is refused, with its reason from
    kafkalite; UNSUPPORTED_VERSION where the broker does not know the request."""
    version = newest_version(admin, ConsumerGroupDescribeRequest)
    if version is None:
        code = ErrorCode.UNSUPPORTED_VERSION
        return {name: DescribedGroup(group_id=name, error_code=code) for name in names}
    described: Mapping[str, DescribedGroup] = admin._manager.run(_describe, admin, names, version)
    return described


async def _describe(
    admin: KafkaAdminClient, names: Sequence[str], version: int
) -> dict[str, DescribedGroup]:
    found: dict[str, DescribedGroup] = {}
    by_coordinator = defaultdict(list)
    for name, broker in (await admin._find_coordinator_ids(names)).items():
        by_coordinator[broker].append(name)
    for broker, asked in by_coordinator.items():
        request = ConsumerGroupDescribeRequest(group_ids=asked)
        ask_for_reasons(request)
        wire = WireRequest(request, version, ConsumerGroupDescribeResponse)
        answer: Answer[ConsumerGroupDescribeResponse] = await admin._manager.send(
            wire, node_id=broker
        )
        found |= {group.group_id: group for group in answer.message.groups}
    return found
