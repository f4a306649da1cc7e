"""All that a broker tells of groups: to be compared with what another one tells that has the same
folder."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from compat_tests.consumer_group_talk import NOT_READY, Connection, Names
from compat_tests.golden import turns
from kafkalite.protocol.messages import (
    consumer_group_describe,
    describe_groups,
    list_groups,
    offset_fetch,
)


def groups_at(address: str, names: list[str]) -> Any:  # JSON.
    """All that it tells of them."""
    with closing(Connection(address)) as connection:
        fetch = offset_fetch.OffsetFetchRequest(
            groups=[
                offset_fetch.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names
            ]
        )
        for _ in turns("the coordinators to be loaded"):
            offsets = connection.ask(fetch, 8, offset_fetch.OffsetFetchResponse)
            if not {each.error_code for each in offsets.groups} & {*NOT_READY}:
                break
        told = (
            offsets,
            connection.ask(list_groups.ListGroupsRequest(), 5, list_groups.ListGroupsResponse),
            connection.ask(
                describe_groups.DescribeGroupsRequest(groups=names),
                6,
                describe_groups.DescribeGroupsResponse,
            ),
            connection.ask(
                consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=names),
                1,
                consumer_group_describe.ConsumerGroupDescribeResponse,
            ),
        )
    return in_order(Names().shared(list(told)))


def in_order(told: Any) -> Any:
    """Members and topics of a group come in the order of hashes."""
    if isinstance(told, list):
        return [in_order(each) for each in told]
    if isinstance(told, dict):
        return {
            key: sorted(in_order(value), key=str)
            if key in ("members", "topics", "subscribed_topic_names")
            else in_order(value)
            for key, value in told.items()
        }
    return told
