"""DescribeQuorum. What no two brokers share is compared here; codes and forms are in
`compat_tests/test_wire_replay.py`, and odd requests were asked of the real broker."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    Listener,
)
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER, OTHER_HOST, two_brokers
from tests.server.running import PORT, Running, served, simulated

METADATA = "__cluster_metadata"


async def quorum(running: Running, **asked: list[int]) -> DescribeQuorumResponse:
    topics = [
        DescribeQuorumRequestTopicData(
            topic_name=name,
            partitions=[DescribeQuorumRequestPartitionData(partition_index=n) for n in partitions],
        )
        for name, partitions in asked.items()
    ]
    request = DescribeQuorumRequest(topics=topics)
    return await (await running.client()).ask(request, 2, DescribeQuorumResponse)


@served()
async def test_the_controller_is_the_only_voter(running: Running) -> None:
    before = (await quorum(running, __cluster_metadata=[0])).topics[0].partitions[0]
    await running.create("t", 2)
    answer = await quorum(running, __cluster_metadata=[0])
    (partition,) = answer.topics[0].partitions
    assert partition.leader_id == 1
    (voter,) = partition.current_voters
    assert partition.observers == []
    assert voter.replica_id == partition.leader_id
    assert voter.log_end_offset == partition.high_watermark
    assert partition.high_watermark > before.high_watermark
    assert voter.replica_directory_id != bytes(16)
    assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp > 0
    (node,) = answer.nodes
    assert node.node_id == partition.leader_id
    assert node.listeners == [Listener(name="PLAINTEXT", host="broker", port=PORT)]


@simulated
async def test_brokers_that_do_not_control_observe(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, _):
        answer = await quorum(running, __cluster_metadata=[0])
        (partition,) = answer.topics[0].partitions
        assert partition.leader_id == OTHER
        assert [each.replica_id for each in partition.current_voters] == [OTHER]
        assert [each.replica_id for each in partition.observers] == [1]
        assert partition.observers[0].log_end_offset == partition.high_watermark
        assert [(node.node_id, node.listeners[0].host) for node in answer.nodes] == [
            (OTHER, OTHER_HOST)
        ]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {METADATA: []},
        {METADATA: [1]},
        {METADATA: [0, 0]},
        {METADATA: [0, 1]},
        {"t": [0]},
        {METADATA: [0], "t": [0]},
    ],
)
@served()
async def test_nothing_but_that_one_partition_is_described(
    running: Running, asked: dict[str, list[int]]
) -> None:
    answer = await quorum(running, **asked)
    assert (answer.error_code, answer.error_message, answer.nodes) == (0, "", [])
    told = {
        topic.topic_name: [
            (each.partition_index, each.error_code, each.error_message) for each in topic.partitions
        ]
        for topic in answer.topics
    }
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    words = "This server does not host this topic-partition."
    assert told == {
        name: [(n, code, words) for n in partitions] for name, partitions in asked.items()
    }
