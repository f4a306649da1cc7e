"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup over a whole broker, at every version."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from kafkalite.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalite.server.group_requests import shown_host
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import two_brokers
from tests.server.group_requests import (
    HEARTBEAT,
    JOIN,
    LEAVE,
    SESSION_MS,
    SYNC,
    find,
    heartbeat,
    join,
    join_request,
    stable_member,
    sync_request,
)
from tests.server.running import Running, crashed, served, simulated, start


def left(joined: JoinGroupResponse) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id="group", members=[MemberIdentity(member_id=joined.member_id)])


async def join_again(client: Client, member_id: str, version: int = JOIN) -> JoinGroupResponse:
    return await client.ask(join_request(member_id), version, JoinGroupResponse)


@pytest.mark.parametrize("version", range(10))
@served()
async def test_a_member_joins_syncs_and_leaves(running: Running, version: int) -> None:
    await find(running)
    client = await running.client()
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS if version else -1,
        protocol_type="consumer",
        protocols=join_request().protocols,
    )
    joined = await client.ask(request, version, JoinGroupResponse)
    if version >= 4:
        assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
        uuid = joined.member_id.removeprefix("client-")
        assert str(UUID(uuid)) == uuid
        assert joined.protocol_name == (None if version >= 7 else "")
        request.member_id = joined.member_id
        joined = await client.ask(request, version, JoinGroupResponse)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.leader == joined.member_id
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert [bytes(member.metadata) for member in joined.members] == [b"about me"]
    sync = sync_request(joined)
    if version < 5:
        sync.protocol_type = sync.protocol_name = None
    synced = await client.ask(sync, min(version, 5), SyncGroupResponse)
    assert (synced.error_code, bytes(synced.assignment)) == (0, b"for about me")
    assert synced.protocol_name == ("range" if version >= 5 else None)
    seen = await client.ask(
        HeartbeatRequest(group_id="group", generation_id=1, member_id=joined.member_id),
        min(version, 4),
        HeartbeatResponse,
    )
    assert seen.error_code == ErrorCode.NONE
    leave = left(joined)
    if version < 3:
        leave = LeaveGroupRequest(group_id="group", member_id=joined.member_id)
    gone = await client.ask(leave, min(version, 5), LeaveGroupResponse)
    assert gone.error_code == ErrorCode.NONE
    assert [member.member_id for member in gone.members] == (
        [joined.member_id] if version >= 3 else []
    )
    assert await heartbeat(running, joined) == ErrorCode.UNKNOWN_MEMBER_ID


@served()
async def test_a_second_member_waits_for_the_first(running: Running) -> None:
    await find(running)
    first = await stable_member(running)
    second = await running.client("second")
    member_id = (await join_again(second, "")).member_id
    joining = second.send(join_request(member_id), JOIN, JoinGroupResponse)
    await running.wait_ms()
    assert not joining.done()
    assert await heartbeat(running, first) == ErrorCode.REBALANCE_IN_PROGRESS
    again = await join_again(await running.client(), first.member_id)
    joined = await joining
    assert again.generation_id == joined.generation_id == 2
    assert {member.member_id for member in again.members} == {first.member_id, member_id}
    assert not joined.members
    syncing = second.send(sync_request(joined), SYNC, SyncGroupResponse)
    await running.wait_ms()
    assert not syncing.done()
    await (await running.client()).ask(sync_request(again), SYNC, SyncGroupResponse)
    assert bytes((await syncing).assignment) == b"for about me"


@served()
async def test_a_client_that_hangs_up_stays_a_member_until_its_session_ends(
    running: Running,
) -> None:
    await find(running)
    first = await stable_member(running)
    second = await running.connect("second")
    member_id = (await join_again(second, "")).member_id
    second.send(join_request(member_id), JOIN, JoinGroupResponse)
    await running.wait_ms()
    second.close()
    again = await join_again(await running.client(), first.member_id)
    assert len(again.members) == 2, "it was told of by the member who hung up"
    client = await running.client()
    await client.ask(sync_request(again), SYNC, SyncGroupResponse)
    for _ in range(SESSION_MS // 2_000):
        await running.wait_ms(1_999)
        await heartbeat(running, again)
    await running.wait_ms(100)
    assert await heartbeat(running, again) == ErrorCode.REBALANCE_IN_PROGRESS


@served()
async def test_a_leave_on_the_same_connection_ends_its_own_join(running: Running) -> None:
    await find(running)
    await stable_member(running)
    second = await running.client("second")
    member_id = (await join_again(second, "")).member_id
    joining = second.send(join_request(member_id), JOIN, JoinGroupResponse)
    request = LeaveGroupRequest(group_id="group", members=[MemberIdentity(member_id=member_id)])
    leaving = second.send(request, LEAVE, LeaveGroupResponse)
    assert (await joining).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await leaving).members[0].error_code == ErrorCode.NONE


@served(group_initial_rebalance_delay_ms="3000")
async def test_a_new_group_waits_for_more_members_where_it_is_told_to(running: Running) -> None:
    await find(running)
    clients = [await running.client(name) for name in ("a", "b")]
    ids = [(await join_again(client, "")).member_id for client in clients]
    joins = [
        client.send(join_request(id), JOIN, JoinGroupResponse)
        for client, id in zip(clients, ids, strict=True)
    ]
    await running.wait_ms(2_900)
    assert not any(joining.done() for joining in joins)
    assert [(await joining).generation_id for joining in joins] == [1, 1]


@served(group_max_size="1", group_min_session_timeout_ms="20000")
async def test_the_settings_of_groups_count(running: Running) -> None:
    await find(running)
    response = await join_again(await running.client(), "")
    assert response.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    request = join_request()
    request.session_timeout_ms = 20_000
    client = await running.client()
    await client.ask(request, 1, JoinGroupResponse)
    second = await client.ask(request, 3, JoinGroupResponse)
    assert second.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


@served()
async def test_refusals_without_a_coordinator(running: Running) -> None:
    client = await running.client()
    joined = await join_again(client, "m")
    assert (joined.error_code, joined.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert (joined.protocol_name, (await join_again(client, "m", 6)).protocol_name) == (None, "")
    synced = await client.ask(
        SyncGroupRequest(group_id="group", protocol_type="t", protocol_name="n"),
        SYNC,
        SyncGroupResponse,
    )
    assert synced.error_code == ErrorCode.NOT_COORDINATOR
    gone = await client.ask(left(joined), LEAVE, LeaveGroupResponse)
    assert (gone.error_code, gone.members) == (ErrorCode.NOT_COORDINATOR, [])
    assert await heartbeat(running, joined) == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(("type_", "name"), [(None, "range"), ("consumer", None)])
@served()
async def test_a_sync_from_version_5_on_must_name_its_protocol(
    running: Running, type_: str | None, name: str | None
) -> None:
    await find(running)
    joined = await join(running)
    request = sync_request(joined)
    request.protocol_type, request.protocol_name = type_, name
    synced = await (await running.client()).ask(request, SYNC, SyncGroupResponse)
    assert synced.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@served()
async def test_before_version_3_a_member_that_is_not_known_is_the_answers_error(
    running: Running,
) -> None:
    await find(running)
    client = await running.client()
    request = LeaveGroupRequest(group_id="group", member_id="nobody")
    gone = await client.ask(request, 2, LeaveGroupResponse)
    assert gone.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    request = LeaveGroupRequest(group_id="", member_id="nobody")
    gone = await client.ask(request, 2, LeaveGroupResponse)
    assert gone.error_code == ErrorCode.INVALID_GROUP_ID


@simulated
async def test_members_are_known_after_a_restart(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await find(running)
        joined = await stable_member(running)
    async with start(simulation, files) as running:
        assert await heartbeat(running, joined) == ErrorCode.NONE
        await running.wait_ms(SESSION_MS + 1)
        assert await heartbeat(running, joined) == ErrorCode.UNKNOWN_MEMBER_ID


@simulated
async def test_who_waits_when_the_broker_stops_is_told_to_look_elsewhere(
    simulation: Simulation,
) -> None:
    async with start(simulation) as running:
        await find(running)
        await stable_member(running)
        second = await running.client("second")
        member_id = (await join_again(second, "")).member_id
        joining = second.send(join_request(member_id), JOIN, JoinGroupResponse)
        await running.wait_ms()
    assert (await joining).error_code == ErrorCode.NOT_COORDINATOR


@simulated
async def test_the_coordinator_moves_with_the_leader(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("__consumer_offsets", [1, 2])
        other.change("__consumer_offsets", isr=[1])
        joined = await stable_member(running)
        second = await running.client("second")
        member_id = (await join_again(second, "")).member_id
        joining = second.send(join_request(member_id), JOIN, JoinGroupResponse)
        await running.wait_ms()
        other.change("__consumer_offsets", isr=[1, 2], leader=2)
        assert (await joining).error_code == ErrorCode.NOT_COORDINATOR
        assert await heartbeat(running, joined) == ErrorCode.NOT_COORDINATOR
        other.change("__consumer_offsets", isr=[1], leader=1)
        assert await heartbeat(running, joined) == ErrorCode.NONE, "loaded from the log"


@served()
async def test_when_the_topic_is_deleted_its_groups_are_gone(running: Running) -> None:
    await find(running)
    joined = await stable_member(running)
    await running.delete("__consumer_offsets")
    assert await heartbeat(running, joined) == ErrorCode.NOT_COORDINATOR
    await find(running)
    assert await heartbeat(running, joined) == ErrorCode.UNKNOWN_MEMBER_ID


@served()
async def test_heartbeats_at_every_version(running: Running) -> None:
    await find(running)
    joined = await stable_member(running)
    client = await running.client()
    request = HeartbeatRequest(group_id="group", generation_id=9, member_id=joined.member_id)
    for version in range(HEARTBEAT + 1):
        seen = await client.ask(request, version, HeartbeatResponse)
        assert seen.error_code == ErrorCode.ILLEGAL_GENERATION


@simulated
async def test_members_are_known_after_a_crash(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with crashed(simulation, files) as running:
        await find(running)
        joined = await stable_member(running)
    async with start(simulation, files) as running:
        assert await heartbeat(running, joined) == ErrorCode.NONE
        await running.wait_ms(SESSION_MS - 1)
        assert await heartbeat(running, joined) == ErrorCode.NONE
        await running.wait_ms(SESSION_MS + 1)
        assert await heartbeat(running, joined) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.5", "10.0.0.5"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a0b:0:1", "2001:db8:0:0:0:a0b:0:1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_hosts_are_shown_as_java_does(host: str, shown: str) -> None:
    assert shown_host(host) == shown


@pytest.mark.parametrize("version", [0, 3, 5, 6, 9])
@served()
async def test_a_client_whose_name_makes_too_long_a_member_id_is_refused(
    running: Running, version: int
) -> None:
    """The member id is the client's and 37 more; no string has over 32,767 bytes, in any version.
    What the real Kafka answers."""
    await find(running)
    for size, code in ((32_730, ErrorCode.NONE), (32_731, ErrorCode.UNKNOWN_SERVER_ERROR)):
        client = await running.connect("c" * size)
        request = join_request(group=f"group-{size}")
        if version == 0:
            request.rebalance_timeout_ms = -1
        joined = await client.ask(request, version, JoinGroupResponse)
        if code is ErrorCode.NONE:
            assert joined.error_code in (code, ErrorCode.MEMBER_ID_REQUIRED)
            assert len(joined.member_id) == 32_767
        else:
            assert (joined.error_code, joined.member_id, joined.generation_id) == (code, "", -1)
    assert (await join(running)).error_code == ErrorCode.NONE, "others are served"


@served()
async def test_whoever_would_be_told_of_such_a_member_is_refused(running: Running) -> None:
    """A leader is told of all members. What the real Kafka answers, the missing member id too."""
    await find(running)
    leader, long = await running.client(), await running.connect("long")
    joined = await stable_member(running)
    request = join_request()
    request.group_instance_id = "i" * 32_731
    waiting = long.send(request, 5, JoinGroupResponse)
    await running.wait_ms()
    assert not waiting.done()
    refused = await join_again(leader, joined.member_id, 5)
    for answer in (refused, await waiting):
        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert (answer.member_id, answer.generation_id, answer.members) == ("", -1, [])
    joined.generation_id += 1
    synced = await leader.ask(sync_request(joined), SYNC, SyncGroupResponse)
    assert synced.error_code == ErrorCode.UNKNOWN_SERVER_ERROR, "no record holds the name either"
    assert await heartbeat(running, joined) == ErrorCode.REBALANCE_IN_PROGRESS
