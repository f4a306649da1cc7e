"""Groups for people who test: why they rebalance, and who is out with the connection."""

from __future__ import annotations

import logging

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.protocol.messages.join_group import JoinGroupResponse
from kafkalite.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from kafkalite.protocol.schema import RawTaggedField
from kafkalite.server.rebalance_reasons import (
    LastRebalance,
    ask_for_reasons,
    read_reason,
    tell_reason,
)
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.group_requests import HEARTBEAT, JOIN, LEAVE, find, join_request
from tests.server.running import Running, served, simulated, start

EVICT = {"kafkalite.group.evict.on.disconnect": "true"}


async def joined(client: Client) -> JoinGroupResponse:
    sent_back = await client.ask(join_request(), JOIN, JoinGroupResponse)
    return await client.ask(join_request(sent_back.member_id), JOIN, JoinGroupResponse)


async def beat(client: Client, member: JoinGroupResponse) -> int:
    request = HeartbeatRequest(
        group_id="group", generation_id=member.generation_id, member_id=member.member_id
    )
    return (await client.ask(request, HEARTBEAT, HeartbeatResponse)).error_code


async def consume(client: Client, member_id: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=-1 if epoch else 1000,
        subscribed_topic_names=None if epoch else ["t"],
        topic_partitions=None if epoch else [],
    )
    return await client.ask(request, 1, ConsumerGroupHeartbeatResponse)


async def described(client: Client, *, asks_why: bool = True) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=["group"])
    if asks_why:
        ask_for_reasons(request)
    return (await client.ask(request, 1, ConsumerGroupDescribeResponse)).groups[0]


@simulated
async def test_a_classic_member_is_out_with_its_connection(simulation: Simulation) -> None:
    async with start(simulation, settings=EVICT) as running:
        await find(running)
        first, second = await running.client("first"), await running.client("second")
        member = await joined(first)
        first.close()
        await running.wait_ms()
        assert await beat(second, member) == ErrorCode.UNKNOWN_MEMBER_ID


@simulated
async def test_where_a_member_was_heard_of_last_counts(simulation: Simulation) -> None:
    async with start(simulation, settings=EVICT) as running:
        await find(running)
        first, second = await running.client("first"), await running.client("second")
        member = await joined(first)
        assert await beat(second, member) == ErrorCode.NONE
        first.close()
        await running.wait_ms()
        assert await beat(second, member) == ErrorCode.NONE
        second.close()
        await running.wait_ms()
        assert await beat(await running.client("other"), member) == ErrorCode.UNKNOWN_MEMBER_ID


@simulated
async def test_a_member_that_waits_to_join_is_out_with_its_connection(
    simulation: Simulation,
) -> None:
    settings = EVICT | {"group.initial.rebalance.delay.ms": "3000"}
    async with start(simulation, settings=settings) as running:
        await find(running)
        first, second = await running.client("first"), await running.client("second")
        sent_back = await first.ask(join_request(), JOIN, JoinGroupResponse)
        first.send_unanswered(join_request(sent_back.member_id), JOIN)
        await running.wait_ms()
        first.close()
        await running.wait_ms()
        other = await joined(second)
        assert len(other.members) == 1


@simulated
async def test_a_consumer_is_out_with_its_connection(simulation: Simulation) -> None:
    async with start(simulation, settings=EVICT) as running:
        await find(running)
        await running.create("t", 2)
        first, second = await running.client("first"), await running.client("second")
        await consume(first, "a", 0)
        await consume(second, "b", 0)
        first.close()
        await running.wait_ms()
        after = await described(second)
        assert [member.member_id for member in after.members] == ["b"]
        why = read_reason(after)
        assert why is not None
        assert why.reason == "a has lost its connection"


@served()
async def test_by_default_a_member_may_come_back(running: Running) -> None:
    await find(running)
    first = await running.client("first")
    member = await joined(first)
    first.close()
    await running.wait_ms()
    assert await beat(await running.client("other"), member) == ErrorCode.NONE


@simulated
async def test_who_has_left_is_not_missed(simulation: Simulation) -> None:
    async with start(simulation, settings=EVICT) as running:
        await find(running)
        first, second = await running.client("first"), await running.client("second")
        member = await joined(first)
        gone = MemberIdentity(member_id=member.member_id)
        request = LeaveGroupRequest(group_id="group", members=[gone])
        await first.ask(request, LEAVE, LeaveGroupResponse)
        await consume(first, "a", 0)
        assert (await consume(first, "a", -1)).error_code == ErrorCode.NONE
        await consume(second, "a", 0)
        first.close()
        await running.wait_ms()
        assert len((await described(second)).members) == 1


@served()
async def test_why_a_group_rebalances_is_told_and_logged(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafkalite.server.rebalance_log")
    await find(running)
    client = await running.client()
    member = await joined(client)
    told = await described(client)
    why = read_reason(told)
    assert told.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert why is not None
    assert why.reason == f"{member.member_id} joins"
    leaves = LeaveGroupRequest(
        group_id="group",
        members=[MemberIdentity(member_id=member.member_id, reason="the test is over")],
    )
    await client.ask(leaves, LEAVE, LeaveGroupResponse)
    assert [record.getMessage() for record in caplog.records] == [
        f"Group group rebalances: {member.member_id} joins",
        f"Group group rebalances: left: {member.member_id} (the test is over)",
    ]


@served()
async def test_who_does_not_ask_is_told_what_kafka_tells(running: Running) -> None:
    await find(running)
    client = await running.client()
    await joined(client)
    told = await described(client, asks_why=False)
    assert told.unknown_tagged_fields == ()


def test_a_reason_and_its_time() -> None:
    group = DescribedGroup()
    assert read_reason(group) is None
    tell_reason(group, LastRebalance("café", 5))
    assert read_reason(group) == LastRebalance("café", 5)
    group.unknown_tagged_fields = (RawTaggedField(0x6B61, b"short"), RawTaggedField(1, b""))
    assert read_reason(group) is None
