"""Short ways to ask the group APIs what tests ask."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkalite.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kafkalite.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.server.running import Running

FIND, JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT, FETCH = 4, 9, 5, 4, 5, 9, 7
"""Versions that tests ask where others do not matter."""
SESSION_MS = 10_000


async def find(running: Running, group: str = "group") -> None:
    """Have `__consumer_offsets` made."""
    request = FindCoordinatorRequest(coordinator_keys=[group])
    response = await (await running.client()).ask(request, FIND, FindCoordinatorResponse)
    assert response.coordinators[0].error_code == ErrorCode.NONE, response


def join_request(member_id: str = "", group: str = "group") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"about me")],
    )


async def join(running: Running, group: str = "group") -> JoinGroupResponse:
    """The first member of a group, who leads it."""
    client = await running.client()
    sent_back = await client.ask(join_request(group=group), JOIN, JoinGroupResponse)
    assert sent_back.error_code == ErrorCode.MEMBER_ID_REQUIRED, sent_back
    request = join_request(sent_back.member_id, group)
    joined = await client.ask(request, JOIN, JoinGroupResponse)
    assert joined.error_code == ErrorCode.NONE, joined
    return joined


async def stable_member(running: Running, group: str = "group") -> JoinGroupResponse:
    """The only member of a group that has its assignment."""
    joined = await join(running, group)
    synced = await (await running.client()).ask(
        sync_request(joined, group), SYNC, SyncGroupResponse
    )
    assert synced.error_code == ErrorCode.NONE, synced
    return joined


def sync_request(joined: JoinGroupResponse, group: str = "group") -> SyncGroupRequest:
    """The leader's, or that of a member who does not lead."""
    assignments = [
        SyncGroupRequestAssignment(member_id=each.member_id, assignment=b"for " + each.metadata)
        for each in joined.members
    ]
    return SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=assignments,
    )


async def heartbeat(running: Running, joined: JoinGroupResponse, group: str = "group") -> int:
    """The code."""
    request = HeartbeatRequest(
        group_id=group, generation_id=joined.generation_id, member_id=joined.member_id
    )
    response = await (await running.client()).ask(request, HEARTBEAT, HeartbeatResponse)
    return response.error_code


def commit_request(
    topic: str, offset: int, *, partition: int = 0, group: str = "group"
) -> OffsetCommitRequest:
    committed = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
    return OffsetCommitRequest(
        group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=[committed])]
    )


async def commit(
    running: Running, topic: str, offset: int, *, partition: int = 0, group: str = "group"
) -> int:
    """The code."""
    request = commit_request(topic, offset, partition=partition, group=group)
    response = await (await running.client()).ask(request, COMMIT, OffsetCommitResponse)
    return response.topics[0].partitions[0].error_code


async def committed(
    running: Running, topic: str, *, partition: int = 0, group: str = "group"
) -> int:
    """The offset; the code, negated and 100 less, where there is one."""
    asked = OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])
    request = OffsetFetchRequest(group_id=group, topics=[asked])
    response = await (await running.client()).ask(request, FETCH, OffsetFetchResponse)
    if response.error_code:
        return -100 - response.error_code
    return response.topics[0].partitions[0].committed_offset
