"""Who may commit offsets of a group in a transaction: by member and generation in a classic group,
by member and epoch in one of the new protocol. The same on kafkalite and on the real Kafka."""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

import pytest

from compat_tests.golden import Fields, Golden, turns
from compat_tests.transaction_calls import READY_CODES, TransactionCalls
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

NONE, WRONG_GENERATION, UNKNOWN_MEMBER, FENCED_INSTANCE = 0, 22, 25, 82
MEMBER_ID_REQUIRED = 79
OLD, NEW = 3, 5
"""Versions of TxnOffsetCommit that clients of either version of the protocol send."""
MEMBER, INSTANCE = "the member", "the instance"
HEARTBEAT_VERSION = 1

both = pytest.mark.parametrize("version", [OLD, NEW])
_numbers = itertools.count()


class By(NamedTuple):
    """Who says that he commits, and what he is answered; generations and epochs as they differ from
    the present one, None for -1."""

    member: str
    generation: int | None
    code: int
    instance: str | None = None


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    golden = Golden(bootstrap)
    golden.fresh_topics({"commits": {}})
    golden.await_coordinators()
    return golden


@pytest.fixture
def calls(golden: Golden) -> TransactionCalls:
    made = TransactionCalls(golden, f"commits-{os.getpid()}-{next(_numbers)}", "commits")
    made.begin()
    return made


def answers(
    calls: TransactionCalls, group: str, version: int, asked: list[By], *, me: str, now: int
) -> list[int]:
    """The code of each, in one transaction."""
    if version == OLD:
        assert calls.add_offsets(group) == NONE
    codes = [
        calls.commit_offset(
            group,
            number,
            version=version,
            member=me if by.member == MEMBER else by.member,
            generation=-1 if by.generation is None else now + by.generation,
            instance=by.instance,
        )
        for number, by in enumerate(asked)
    ]
    assert calls.end(commits=True, version=5 if version == NEW else 3) == NONE
    return codes


def joined(golden: Golden, group: str, *, instance: str | None = None) -> tuple[str, int]:
    """The only member of a classic group, and its generation."""
    fields: Fields = {
        "group_id": group,
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": "",
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    answer: Fields = {}
    for _ in turns(f"a member of {group}"):
        answer = golden.call("JoinGroup", 5, fields)
        if answer["error_code"] == MEMBER_ID_REQUIRED:
            fields["member_id"] = answer["member_id"]
        elif answer["error_code"] not in READY_CODES:
            break
    member, generation = answer["member_id"], answer["generation_id"]
    sync = {
        "group_id": group,
        "generation_id": generation,
        "member_id": member,
        "group_instance_id": instance,
        "assignments": [{"member_id": member, "assignment": b""}],
    }
    assert not golden.errors(golden.call("SyncGroup", 3, sync))
    return member, generation


def beat(golden: Golden, group: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
    """Of the only member of a group of the new protocol."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=MEMBER,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if epoch == 0 else -1,
        subscribed_topic_names=["commits"] if epoch == 0 else None,
        topic_partitions=[] if epoch == 0 else None,
    )
    frame = bytearray()
    for part in request_frame(request, HEARTBEAT_VERSION, correlation_id=1, client_id="commits"):
        assert isinstance(part, bytes | bytearray | memoryview)
        frame += part
    outcome, answer = golden.ask(bytes(frame))
    assert answer is not None, outcome
    return decode(ConsumerGroupHeartbeatResponse, HEARTBEAT_VERSION, memoryview(answer)[9:])


@both
def test_of_a_group_without_members(calls: TransactionCalls, version: int) -> None:
    asked = [
        By("", None, NONE),
        By("nobody", None, NONE),
        By("", 3, UNKNOWN_MEMBER),
        By("nobody", 3, UNKNOWN_MEMBER),
        By("", None, NONE, INSTANCE),
    ]
    codes = answers(calls, calls.id, version, asked, me="", now=0)
    assert codes == [by.code for by in asked]


@both
def test_of_a_classic_group(golden: Golden, calls: TransactionCalls, version: int) -> None:
    member, generation = joined(golden, calls.id)
    asked = [
        By(MEMBER, 0, NONE),
        By(MEMBER, 1, WRONG_GENERATION),
        By(MEMBER, -1, WRONG_GENERATION),
        By(MEMBER, None, WRONG_GENERATION),
        By("nobody", 0, UNKNOWN_MEMBER),
        By("nobody", None, UNKNOWN_MEMBER),
        By("", 0, UNKNOWN_MEMBER),
        By("", None, NONE),
        By(MEMBER, 0, UNKNOWN_MEMBER, INSTANCE),
    ]
    codes = answers(calls, calls.id, version, asked, me=member, now=generation)
    assert codes == [by.code for by in asked]


@both
def test_of_a_static_member(golden: Golden, calls: TransactionCalls, version: int) -> None:
    member, generation = joined(golden, calls.id, instance=INSTANCE)
    asked = [
        By(MEMBER, 0, NONE, INSTANCE),
        By(MEMBER, 0, NONE),
        By("nobody", 0, FENCED_INSTANCE, INSTANCE),
        By(MEMBER, 0, UNKNOWN_MEMBER, "another"),
        By(MEMBER, 1, WRONG_GENERATION, INSTANCE),
        By("", None, FENCED_INSTANCE, INSTANCE),
    ]
    codes = answers(calls, calls.id, version, asked, me=member, now=generation)
    assert codes == [by.code for by in asked]


@both
def test_of_a_consumer_group(golden: Golden, calls: TransactionCalls, version: int) -> None:
    joining = beat(golden, calls.id, 0)
    assert joining.error_code == NONE, joining
    asked = [
        By(MEMBER, 0, NONE),
        By(MEMBER, 1, WRONG_GENERATION),
        By(MEMBER, -1, WRONG_GENERATION),
        By(MEMBER, None, WRONG_GENERATION),
        By("nobody", 0, UNKNOWN_MEMBER),
        By("", 0, UNKNOWN_MEMBER),
        By("", None, NONE),
    ]
    codes = answers(calls, calls.id, version, asked, me=MEMBER, now=joining.member_epoch)
    assert codes == [by.code for by in asked]
    beat(golden, calls.id, -1)
