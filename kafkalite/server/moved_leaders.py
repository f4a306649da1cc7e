"""Where a partition is led that was asked of this broker and is led elsewhere (KIP-951): a client
goes there at once, and asks for no metadata before. Produce and Fetch tell it in the same fields
under two names."""

from __future__ import annotations

from typing import TypeVar

from kafkalite.metadata.topic_lookup import TopicKey, find_topic
from kafkalite.protocol.messages import fetch, produce
from kafkalite.server.addresses import nodes
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId

L = TypeVar("L", fetch.LeaderIdAndEpoch, produce.LeaderIdAndEpoch)
N = TypeVar("N", fetch.NodeEndpoint, produce.NodeEndpoint)


def current_leader(
    ctx: RequestContext, kind: type[L], wanted: TopicKey, index: int, moved: set[BrokerId]
) -> L:
    """Who leads the partition, for its place in the answer; put among the `moved` leaders. Nobody,
    as where the field is not filled, for a partition that is not known."""
    topic = find_topic(ctx.services.image, wanted)
    if topic is None or not 0 <= index < len(topic.partitions):
        return kind()
    partition = topic.partitions[index]
    moved.add(partition.leader)
    return kind(leader_id=partition.leader, leader_epoch=partition.leader_epoch)


def endpoints(ctx: RequestContext, kind: type[N], moved: set[BrokerId]) -> list[N]:
    """The addresses of the `moved` leaders, for the end of the answer."""
    if not moved:
        return []
    return [
        kind(node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack)
        for node in nodes(ctx)
        if node.broker_id in moved
    ]
