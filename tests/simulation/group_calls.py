"""What a member asks its group, each call with its retries, its errors, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

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
from kafkalite.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from kafkalite.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kafkalite.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafkalite.protocol.schema import Request, Response
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import (
    CommitAnswered,
    CommitAsked,
    CommitSeen,
    CommitSent,
    GroupAsked,
    MemberAccepted,
)
from kafkalite.types import TopicPartition
from tests.simulation.world import BACKOFF_MS, World

R = TypeVar("R", bound=Response)

FIND, JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT, OFFSETS = 4, 9, 5, 4, 5, 8, 8
SESSION_TIMEOUT_MS = 6_000
REBALANCE_TIMEOUT_MS = 10_000
NO_GENERATION = -1
_AGAIN = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
_LOST_PLACE = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
}


class RebalanceError(Exception):
    """Join again, as the member that you are."""


class LostPlaceError(Exception):
    """Join again, as somebody new."""


class GroupCalls:
    """One member's conversation with its coordinator."""

    commit_version = COMMIT

    def __init__(
        self, world: World, name: str, group: str, *, instance_id: str | None = None
    ) -> None:
        """With an `instance_id` it is a static member (KIP-345)."""
        self._world = world
        self._name = name
        self._instance_id = instance_id
        self._talker = world.talker(name)
        self._member_id = ""
        self._generation = NO_GENERATION
        self._knows_coordinator = False
        self.group = group

    def forget_membership(self) -> None:
        self._member_id, self._generation = "", NO_GENERATION

    def hang_up(self) -> None:
        self._talker.hang_up()

    async def join(self, metadata: bytes) -> JoinGroupResponse:
        """As a member of a new generation."""
        while True:
            request = JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                member_id=self._member_id,
                group_instance_id=self._instance_id,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
            )
            token = self._asks()
            answer = await self._ask(request, JOIN, JoinGroupResponse, REBALANCE_TIMEOUT_MS + 5_000)
            code = ErrorCode.NOT_COORDINATOR if answer is None else ErrorCode(answer.error_code)
            if answer is not None and code is ErrorCode.NONE:
                self._member_id, self._generation = answer.member_id, answer.generation_id
                self._accepted(token)
                return answer
            if answer is not None and code is ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = answer.member_id
            elif code in _LOST_PLACE:
                self.forget_membership()
            elif code is ErrorCode.REBALANCE_IN_PROGRESS:  # The group speaks another protocol now.
                await self._world.sleep(BACKOFF_MS)
            else:
                await self._again_or_fail(code, "JoinGroup")

    async def sync(
        self, joined: JoinGroupResponse, assignments: Mapping[str, bytes]
    ) -> bytes | None:
        """This member's share; None when the group goes through another rebalance."""
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=share)
                for member, share in assignments.items()
            ],
        )
        token = self._asks()
        answer = await self._ask(request, SYNC, SyncGroupResponse, REBALANCE_TIMEOUT_MS + 5_000)
        if answer is None:
            return None
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            self._accepted(token)
            return bytes(answer.assignment)
        if code in _LOST_PLACE:
            self.forget_membership()
        elif code is not ErrorCode.REBALANCE_IN_PROGRESS:
            await self._again_or_fail(code, "SyncGroup")
        return None

    async def heartbeat(self) -> bool:
        """Say that this member lives: whether the group takes it. `RebalanceError`,
        `LostPlaceError`."""
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
        )
        token = self._asks()
        answer = await self._ask(request, HEARTBEAT, HeartbeatResponse)
        if answer is None:
            return False
        await self._judge(ErrorCode(answer.error_code), "Heartbeat")
        if answer.error_code != ErrorCode.NONE:
            return False
        self._accepted(token)
        return True

    async def leave(self) -> None:
        """Whatever the answer: a member that leaves does not come back."""
        request = LeaveGroupRequest(
            group_id=self.group,
            members=[
                MemberIdentity(member_id=self._member_id, group_instance_id=self._instance_id)
            ],
        )
        if self._member_id:
            await self._ask(request, LEAVE, LeaveGroupResponse)

    async def commit(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Keep these: whether all of them are. `RebalanceError`, `LostPlaceError`."""
        topics: dict[str, OffsetCommitRequestTopic] = {}
        tokens: dict[tuple[str, int], int] = {}
        for key, offset in positions.items():
            topic = topics.setdefault(key.topic, OffsetCommitRequestTopic(name=key.topic))
            topic.partitions = [
                *topic.partitions,
                OffsetCommitRequestPartition(
                    partition_index=key.partition, committed_offset=offset, committed_metadata=""
                ),
            ]
            token = tokens[key.topic, key.partition] = self._world.token()
            self._world.tell(CommitSent(token, self.group, self._generation, key, offset))
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            topics=list(topics.values()),
        )
        asked = self._asks()
        answer = await self._ask(request, self.commit_version, OffsetCommitResponse)
        if answer is None:
            return False
        codes = {
            (topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }
        for key_, code in codes.items():
            if code is ErrorCode.NONE or code not in _AGAIN:
                self._world.tell(CommitAnswered(tokens[key_], code is ErrorCode.NONE))
        if ErrorCode.NONE in codes.values():
            self._accepted(asked)
        for code in codes.values():
            await self._judge(code, "OffsetCommit")
        return set(codes.values()) == {ErrorCode.NONE}

    async def committed(self, partition: TopicPartition) -> int | None:
        """Where to go on; None where nothing was committed."""
        wanted = OffsetFetchRequestTopics(
            name=partition.topic, partition_indexes=[partition.partition]
        )
        group = OffsetFetchRequestGroup(group_id=self.group, topics=[wanted])
        while True:
            token = self._world.token()
            self._world.tell(CommitAsked(token, self.group, partition))
            answer = await self._ask(
                OffsetFetchRequest(groups=[group]), OFFSETS, OffsetFetchResponse
            )
            if answer is None:
                continue
            (found,) = answer.groups
            if found.error_code:
                await self._again_or_fail(ErrorCode(found.error_code), "OffsetFetch")
                continue
            data = found.topics[0].partitions[0]
            if data.error_code:
                await self._again_or_fail(ErrorCode(data.error_code), "OffsetFetch")
                continue
            offset = None if data.committed_offset < 0 else data.committed_offset
            self._world.tell(CommitSeen(token, offset))
            return offset

    async def _ask(
        self, request: Request, version: int, response: type[R], timeout_ms: int | None = None
    ) -> R | None:
        """The answer; None when there is none, or when it is news of before a loss of power."""
        while not self._knows_coordinator:
            await self._find()
        losses = self._world.power_losses
        answer = await self._talker.ask(request, version, response, timeout_ms=timeout_ms)
        if answer is None:
            self._knows_coordinator = False
        return answer if losses == self._world.power_losses else None

    async def _find(self) -> None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group])
        answer = await self._talker.ask(request, FIND, FindCoordinatorResponse)
        if answer is None:
            return
        (found,) = answer.coordinators
        if found.error_code:
            await self._again_or_fail(ErrorCode(found.error_code), "FindCoordinator")
        else:
            self._knows_coordinator = True

    def _asks(self) -> int:
        token = self._world.token()
        self._world.tell(GroupAsked(token, self.group))
        return token

    def _accepted(self, token: int) -> None:
        self._world.tell(MemberAccepted(token, self.group, self._generation))

    async def _judge(self, code: ErrorCode, what: str) -> None:
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            raise RebalanceError
        if code in _LOST_PLACE:
            raise LostPlaceError
        if code is not ErrorCode.NONE:
            await self._again_or_fail(code, what)

    async def _again_or_fail(self, code: ErrorCode, what: str) -> None:
        if code not in _AGAIN:
            raise ViolationError(f"{self._name}: {what} gave {code.name}")
        self._knows_coordinator = False
        await self._world.sleep(BACKOFF_MS)
