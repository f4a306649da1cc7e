"""A member of a classic group as a test speaks for it: every request in any version, and waiting
for an answer is a step of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from compat_tests.consumer_group_talk import Connection
from kafkalite.protocol.messages import (
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    sync_group,
)

SESSION_MS = 60_000
DRAWN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HEARTBEAT = 4
"""Its last version."""
FIRST_WITH_MEMBERS = 3
"""Of LeaveGroup: before it one leaves at a time."""
FIRST_OFFSET_COMMIT, FIRST_WITH_INSTANCES, LAST_BY_NAME = 2, 7, 9
"""Of OffsetCommit."""


class Ids:
    """What members of one group are called in the record: ids differ from run to run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {"": ""}

    def add(self, member_id: str, name: str) -> None:
        if member_id in self._names:
            return
        count = sum(each.split("'")[0] == name for each in self._names.values())
        form = DRAWN.sub("UUID", member_id)
        self._names[member_id] = f"{name}{chr(39) * count} {form}"

    def name(self, member_id: str) -> str:
        return self._names.get(member_id, f"unknown {DRAWN.sub('UUID', member_id)}")


class Seat:
    """What a member is in its group, and a connection of its own."""

    def __init__(self, address: str, group: str, instance: str | None) -> None:
        self._connection = Connection(address)
        self._group, self._instance = group, instance
        self.id, self.generation = "", -1

    def close(self) -> None:
        self._connection.close()

    def beat(self, **fields: Any) -> int:
        """The error code. `fields`: what it says otherwise than it should."""
        request = heartbeat.HeartbeatRequest(group_id=self._group, **(self._said() | fields))
        version = self._heartbeat_version
        return self._connection.ask(request, version, heartbeat.HeartbeatResponse).error_code

    @property
    def _heartbeat_version(self) -> int:
        return HEARTBEAT

    def _said(self) -> dict[str, Any]:
        """Who it is, in every request but JoinGroup."""
        return {
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self._instance,
        }

    def _says_to_sync(self) -> dict[str, Any]:
        return {**self._said(), "protocol_type": "consumer", "protocol_name": "range"}


class ClassicMember(Seat):
    """Speaks in one version of each API."""

    def __init__(
        self,
        address: str,
        group: str,
        ids: Ids,
        name: str,
        version: int,
        *,
        instance: str | None = None,
        rebalance_ms: int = SESSION_MS,
    ) -> None:
        """`version`: of JoinGroup; other requests have the like."""
        super().__init__(address, group, instance)
        self._ids, self._name = ids, name
        self._rebalance_ms = rebalance_ms
        self.version = version

    def ask_to_join(
        self,
        metadata: bytes = b"m",
        *,
        protocols: Sequence[str] = ("range",),
        type: str = "consumer",
        member_id: str | None = None,
        session_ms: int = SESSION_MS,
    ) -> None:
        """The answer may take long."""
        self._connection.send(
            join_group.JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=session_ms,
                rebalance_timeout_ms=self._rebalance_ms,
                member_id=self.id if member_id is None else member_id,
                group_instance_id=self._instance,
                protocol_type=type,
                protocols=[
                    join_group.JoinGroupRequestProtocol(name=name, metadata=metadata)
                    for name in protocols
                ],
                reason="why",
            ),
            self.version,
        )

    def joined(self) -> Any:
        answer = self._connection.hear(
            join_group.JoinGroupRequest, self.version, join_group.JoinGroupResponse
        )
        if answer.member_id:
            self._ids.add(answer.member_id, self._name)
        if answer.error_code in (0, 79):
            self.id = answer.member_id
        if not answer.error_code:
            self.generation = answer.generation_id
        return {
            "error": answer.error_code,
            "generation": answer.generation_id,
            "type": answer.protocol_type,
            "protocol": answer.protocol_name,
            "id": self._ids.name(answer.member_id),
            "leader": self._ids.name(answer.leader),
            "skips": answer.skip_assignment,
            "members": sorted(
                [
                    self._ids.name(each.member_id),
                    each.group_instance_id or "",
                    bytes(each.metadata).decode(),
                ]
                for each in answer.members
            ),
        }

    def join(self, metadata: bytes = b"m", **fields: Any) -> Any:
        self.ask_to_join(metadata, **fields)
        return self.joined()

    def enter(self, metadata: bytes = b"m") -> None:
        """Ask to join, with the id that is given for the first time of asking."""
        if self.version >= 4 and self._instance is None and not self.id:
            self.join(metadata)
        self.ask_to_join(metadata)

    def ask_to_sync(self, given: dict[ClassicMember, bytes] | None = None, **fields: Any) -> None:
        """The leader gives each of them that."""
        assignments = [
            sync_group.SyncGroupRequestAssignment(member_id=member.id, assignment=data)
            for member, data in (given or {}).items()
        ]
        request = sync_group.SyncGroupRequest(
            group_id=self._group, assignments=assignments, **(self._says_to_sync() | fields)
        )
        self._connection.send(request, self._sync_version)

    @property
    def _sync_version(self) -> int:
        return min(self.version, 5)

    def synced(self) -> Any:
        answer = self._connection.hear(
            sync_group.SyncGroupRequest, self._sync_version, sync_group.SyncGroupResponse
        )
        told = answer.protocol_type, answer.protocol_name, bytes(answer.assignment).decode()
        return [answer.error_code, *told]

    def sync(self, given: dict[ClassicMember, bytes] | None = None, **fields: Any) -> Any:
        self.ask_to_sync(given, **fields)
        return self.synced()

    @property
    def _heartbeat_version(self) -> int:
        return min(self.version, HEARTBEAT)

    def commit(self, offset: int = 5, **fields: Any) -> int:
        whole: dict[str, Any] = {
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.id,
            "group_instance_id": self._instance,
        }
        partition = offset_commit.OffsetCommitRequestPartition(committed_offset=offset)
        # Before version 10 topics go by their names, and need not exist to a coordinator.
        topic = offset_commit.OffsetCommitRequestTopic(
            name="__consumer_offsets", partitions=[partition]
        )
        request = offset_commit.OffsetCommitRequest(
            group_id=self._group, topics=[topic], **(whole | fields)
        )
        least = FIRST_OFFSET_COMMIT if self._instance is None else FIRST_WITH_INSTANCES
        version = min(max(self.version, least), LAST_BY_NAME)
        answer = self._connection.ask(request, version, offset_commit.OffsetCommitResponse)
        return answer.topics[0].partitions[0].error_code

    def leave(self, *who: tuple[str, str | None]) -> Any:
        """Itself, or these: each an id and an instance id."""
        version = min(self.version, 5)
        members = who or ((self.id, self._instance),)
        request = leave_group.LeaveGroupRequest(group_id=self._group)
        if version < FIRST_WITH_MEMBERS:
            ((request.member_id, _),) = members
        else:
            request.members = [
                leave_group.MemberIdentity(member_id=id, group_instance_id=instance, reason="why")
                for id, instance in members
            ]
        answer = self._connection.ask(request, version, leave_group.LeaveGroupResponse)
        told = [
            [self._ids.name(each.member_id), each.group_instance_id or "", each.error_code]
            for each in answer.members
        ]
        return [answer.error_code, told]

    def described(self) -> Any:
        """The group: its state, protocol and members."""
        request = describe_groups.DescribeGroupsRequest(groups=[self._group])
        answer = self._connection.ask(request, 5, describe_groups.DescribeGroupsResponse)
        (told,) = answer.groups
        members = [
            [
                self._ids.name(each.member_id),
                each.group_instance_id or "",
                bytes(each.member_metadata).decode(),
                bytes(each.member_assignment).decode(),
            ]
            for each in told.members
        ]
        return [told.group_state, told.protocol_type, told.protocol_data, sorted(members)]
