"""What the real broker answered to bad requests about groups (`tests/data/errors.json`), asked of
our coordinator: `busy` is a stable group of one consumer, others are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkalite.coordinator.groups.administration_events import DeleteGroups, DescribeGroups
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    SyncGroup,
)
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    DeleteOffsets,
    FetchOffsets,
    OffsetToCommit,
    TopicPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_request_header
from kafkalite.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkalite.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest
from kafkalite.protocol.messages.join_group import JoinGroupRequest
from kafkalite.protocol.messages.leave_group import LeaveGroupRequest
from kafkalite.protocol.messages.offset_commit import OffsetCommitRequest
from kafkalite.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkalite.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkalite.protocol.messages.sync_group import SyncGroupRequest
from kafkalite.protocol.schema import Request
from kafkalite.types import Offset
from tests.coordinator.sample_groups import RANGE, Stage, subscription

ERRORS = Path(__file__).parent.parent / "data" / "errors.json"
REQUESTS: tuple[type[Request], ...] = (
    OffsetCommitRequest,
    OffsetFetchRequest,
    JoinGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
    DescribeGroupsRequest,
    DeleteGroupsRequest,
    OffsetDeleteRequest,
)
CLASSES = {cls.__schema__.api_key: cls for cls in REQUESTS}
NOT_OURS = {
    "join-848-group": "of consumer groups",
    "offset-fetch-bad-member-epoch": "of consumer groups",
    "commit-unknown-topic": "the handler knows which topics there are",
    "commit-unknown-partition": "the handler knows which topics there are",
    "describe-group-unknown-v5": "the handler hides the error from older versions",
}


def cases() -> list[Any]:  # Any: JSON.
    found = [
        case
        for case in json.loads(ERRORS.read_text())
        if case.get("key") in CLASSES and case["case"] not in NOT_OURS
    ]
    assert len(found) == 28
    return [pytest.param(case, id=case["case"]) for case in found]


@pytest.fixture
def stage() -> Stage:
    """As `make/errors.py` sets it up, but for the ids."""
    stage = Stage()
    protocol = RANGE._replace(metadata=subscription("good"))
    join = stage.join_event("", protocol, group="busy", session_ms=300_000)
    member = stage.join(join).member_id
    given = (MemberAssignment(member, b"x"),)
    stage.feed(SyncGroup("t", "busy", 1, member, assignments=given))
    return stage


def event_of(request: Request, member: str) -> Event:
    """As a handler makes it. The recorded member ids are another broker's."""
    own = getattr(request, "member_id", "")
    own = member if own.startswith("errors-") else own
    match request:
        case JoinGroupRequest():
            return JoinGroup(
                "t",
                request.group_id,
                own,
                request.group_instance_id,
                request.protocol_type,
                tuple(GroupProtocol(p.name, bytes(p.metadata)) for p in request.protocols),
                request.session_timeout_ms,
                request.rebalance_timeout_ms,
                "errors",
                "/127.0.0.1",
                "uuid",
            )
        case SyncGroupRequest():
            return SyncGroup(
                "t",
                request.group_id,
                request.generation_id,
                own,
                request.group_instance_id,
                request.protocol_type,
                request.protocol_name,
            )
        case HeartbeatRequest():
            return Heartbeat("t", request.group_id, request.generation_id, own)
        case LeaveGroupRequest():
            members = tuple(LeavingMember(m.member_id) for m in request.members)
            return LeaveGroup("t", request.group_id, members)
        case _:
            return _event_without_members(request, own)


def _event_without_members(request: Request, own: str) -> Event:
    match request:
        case OffsetCommitRequest():
            return CommitOffsets(
                "t",
                request.group_id,
                request.generation_id_or_member_epoch,
                own,
                request.group_instance_id,
                tuple(
                    OffsetToCommit(
                        topic.name,
                        partition.partition_index,
                        Offset(partition.committed_offset),
                        metadata=partition.committed_metadata,
                    )
                    for topic in request.topics
                    for partition in topic.partitions
                ),
            )
        case OffsetFetchRequest():
            (group,) = request.groups
            return FetchOffsets("t", group.group_id, (TopicPartitions("good", (0,)),))
        case OffsetDeleteRequest():
            return DeleteOffsets("t", request.group_id, (TopicPartitions("good", (0,)),))
        case DescribeGroupsRequest():
            return DescribeGroups("t", tuple(request.groups))
        case DeleteGroupsRequest():
            return DeleteGroups("t", tuple(request.groups_names))
    raise AssertionError(request)


def codes(value: object) -> set[int]:
    """All error codes in a reply, without NONE."""
    if isinstance(value, tuple):
        found = {int(value.code)} if hasattr(value, "code") else set()
        return found.union(*map(codes, value)) - {0}
    return set()


class Refused(NamedTuple):
    code: ErrorCode


def answer(stage: Stage, event: Event) -> object:
    try:
        reply = stage.ask(event)
    except KafkaError as error:
        return Refused(error.code)
    assert reply is not None
    return reply


@pytest.mark.parametrize("case", cases())
def test_answer(case: dict[str, Any], stage: Stage) -> None:  # Any: JSON.
    frame = bytes.fromhex(case["request_hex"])
    header, position = read_request_header(frame, 4)
    request = decode(CLASSES[case["key"]], header.request_api_version, frame, position)
    (member,) = (m.member_id for m in stage.describe("busy").members)
    stage.replies.clear()
    expected = {error["code"] for error in case["errors"]}
    reply = answer(stage, event_of(request, member))
    assert codes(reply) == expected
    if isinstance(reply, Joined):
        said = case["decoded"]["member_id"]
        assert bool(reply.member_id) == bool(said)
        assert (reply.generation, reply.leader) == (-1, "")
    messages = {error["message"] for error in case["errors"]} - {None}
    assert all(message in str(reply) for message in messages)
