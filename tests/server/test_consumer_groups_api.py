"""Consumer groups of the new protocol, from the wire to the log and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.group_requests import find
from tests.server.running import Running, crashed, served, simulated, start

SESSION_MS = 10_000
REBALANCE_MS = 60_000


async def beat(
    running: Running,
    member_id: str,
    epoch: int = 0,
    *,
    topics: Sequence[str] | None = None,
    owned: Mapping[str, Sequence[int]] | None = None,
    version: int = 1,
) -> ConsumerGroupHeartbeatResponse:
    parts = [
        TopicPartitions(topic_id=running.topic(topic).id, partitions=list(indexes))
        for topic, indexes in (owned or {}).items()
    ]
    request = ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=REBALANCE_MS if epoch == 0 else -1,
        subscribed_topic_names=None if topics is None else list(topics),
        topic_partitions=None if owned is None and epoch else parts,
    )
    client = await running.client()
    return await client.ask(request, version, ConsumerGroupHeartbeatResponse)


async def described(running: Running, version: int = 1) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=["group"])
    client = await running.client()
    return (await client.ask(request, version, ConsumerGroupDescribeResponse)).groups[0]


def parts(response: ConsumerGroupHeartbeatResponse) -> list[list[int]] | None:
    if response.assignment is None:
        return None
    return [part.partitions for part in response.assignment.topic_partitions]


async def two_members(running: Running) -> None:
    """`a` has partition 0 of `t`, `b` partition 1, both in epoch 3."""
    await find(running)
    await running.create("t", 2)
    assert parts(await beat(running, "a", topics=["t"])) == [[0, 1]]
    assert parts(await beat(running, "b", topics=["t"])) == []
    assert parts(await beat(running, "a", 2)) == [[0]]
    assert (await beat(running, "a", 2, owned={"t": [0]})).member_epoch == 3
    assert parts(await beat(running, "b", 3)) == [[1]]


@served()
async def test_two_members_share_a_topic(running: Running) -> None:
    await two_members(running)
    for version in (0, 1):
        told = await described(running, version)
        assert (told.group_state, told.group_epoch, told.assignment_epoch) == ("Stable", 3, 3)
        assert {m.member_id: m.member_epoch for m in told.members} == {"a": 3, "b": 3}


@served()
async def test_a_refusal_has_kafkas_message(running: Running) -> None:
    await find(running)
    answer = await beat(running, "a", 5)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Consumer group group not found.",
    )


@served()
async def test_a_new_member_may_be_given_its_id(running: Running) -> None:
    await find(running)
    joined = await beat(running, "", topics=[], version=0)
    assert joined.member_id is not None
    assert len(joined.member_id) == 22
    refused = await beat(running, "", topics=[])
    assert refused.error_code == ErrorCode.INVALID_REQUEST


@served()
async def test_a_topic_that_comes_is_assigned_with_the_next_heartbeat(running: Running) -> None:
    await find(running)
    assert parts(await beat(running, "a", topics=["t"])) == []
    await running.create("t", 2)
    assert parts(await beat(running, "a", 2)) == [[0, 1]]


@served()
async def test_a_member_that_falls_silent_is_out(running: Running) -> None:
    await two_members(running)
    await running.wait_ms(SESSION_MS - 1)
    await beat(running, "a", 3)
    await running.wait_ms(1)
    assert [member.member_id for member in (await described(running)).members] == ["a"]
    assert parts(await beat(running, "a", 3)) == [[0, 1]]


@served(group_consumer_heartbeat_interval_ms="700", group_consumer_session_timeout_ms="2000")
async def test_the_intervals_are_settings(running: Running) -> None:
    await find(running)
    assert (await beat(running, "a", topics=[])).heartbeat_interval_ms == 700
    await running.wait_ms(2000)
    assert (await described(running)).group_state == "Empty"


@served(
    group_consumer_min_heartbeat_interval_ms="3000", group_consumer_min_session_timeout_ms="20000"
)
async def test_smallest_intervals_act_where_the_default_is_smaller(running: Running) -> None:
    await find(running)
    assert (await beat(running, "a", topics=[])).heartbeat_interval_ms == 3000
    await running.wait_ms(19_999)
    assert (await described(running)).group_state == "Stable"


@served(group_coordinator_rebalance_protocols="classic")
async def test_the_protocol_is_off(running: Running) -> None:
    await find(running)
    assert (await beat(running, "a", topics=[])).error_code == ErrorCode.UNSUPPORTED_VERSION


@simulated
async def test_a_group_goes_on_after_a_restart(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    async with crashed(simulation, files) as running:
        await two_members(running)
        before = await described(running)
    async with start(simulation, files) as running:
        assert await described(running) == before
        again = await beat(running, "a", 3)
        assert (again.error_code, again.member_epoch, again.assignment) == (0, 3, None)
        await running.wait_ms(SESSION_MS)
        assert (await described(running)).group_state == "Empty"


@served()
async def test_a_group_has_settings_of_its_own(running: Running) -> None:
    await find(running)
    assert (await beat(running, "a", topics=[])).heartbeat_interval_ms == 500
    edits = [AlterableConfig(name="consumer.heartbeat.interval.ms", value="900")]
    resource = AlterConfigsResource(resource_type=32, resource_name="group", configs=edits)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    client = await running.client()
    altered = await client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert altered.responses[0].error_code == ErrorCode.NONE
    assert (await beat(running, "a", 1)).heartbeat_interval_ms == 900
