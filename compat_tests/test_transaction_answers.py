"""What each step of a transaction is answered, under both versions of its protocol: the same on
kafkalite and on the real Kafka. Requests are built and answers decoded by kafka-python's
schemas."""

from __future__ import annotations

import itertools
import os
import uuid

import pytest

from compat_tests.golden import Golden, turns
from compat_tests.transaction_calls import CONCURRENT, READY_CODES, TransactionCalls
from compat_tests.verification import unverified
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafkalite.types import Uuid

OUT_OF_DATE, INVALID_MAPPING, INVALID_STATE, FENCED = 47, 49, 48, 90
ABORTABLE, UNSTABLE, COORDINATOR_FENCED = 120, 88, 52
UNKNOWN_MEMBER, UNKNOWN_ID, INVALID_PATTERN = 25, 100, 128
OLD, NEW = 3, 5
"""Versions of EndTxn that clients of either version of the protocol send."""

both = pytest.mark.parametrize("version", [OLD, NEW])
_numbers = itertools.count()


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    golden = Golden(bootstrap)
    golden.fresh_topics({"transactions": {}})
    return golden


@pytest.fixture
def calls(golden: Golden) -> TransactionCalls:
    """A transactional id that nobody had before."""
    return TransactionCalls(golden, f"answers-{os.getpid()}-{next(_numbers)}", "transactions")


def write(calls: TransactionCalls, version: int) -> None:
    """One record, with its partition added as clients of that version do."""
    if version == OLD:
        assert calls.add() == 0
    assert calls.send(version=12 if version == NEW else 11) == 0


@both
def test_an_end_may_be_repeated_and_not_turned(calls: TransactionCalls, version: int) -> None:
    calls.begin()
    assert calls.send(version=11) == ABORTABLE
    assert calls.end(commits=True, version=version) == INVALID_STATE
    assert calls.end(commits=False, version=version) == (0 if version == NEW else INVALID_STATE)
    bump = version == NEW
    assert calls.epoch == bump
    for commits in (True, False):
        write(calls, version)
        before = calls.epoch
        assert calls.end(commits=commits, version=version) == 0
        after = calls.epoch
        assert after == before + bump
        calls.epoch = before
        assert calls.end(commits=commits, version=version) == 0
        assert calls.epoch == after
        calls.epoch = before
        assert calls.end(commits=not commits, version=version) == INVALID_STATE
        calls.epoch = after + 7
        assert calls.end(commits=commits, version=version) == FENCED
        assert calls.end(commits=commits, version=1) == OUT_OF_DATE
        calls.epoch = after


@both
def test_another_producer_of_the_id_fences_the_first(calls: TransactionCalls, version: int) -> None:
    epoch = calls.begin()
    write(calls, version)
    other = TransactionCalls(calls.golden, calls.id, calls.topic)
    assert other.init()["error_code"] == CONCURRENT
    assert other.begin() == epoch + 2
    assert calls.add() == FENCED
    assert calls.add(version=1) == OUT_OF_DATE
    assert calls.send(version=12 if version == NEW else 11) == OUT_OF_DATE
    assert calls.end(commits=True, version=version) == FENCED
    assert calls.end(commits=False, version=version) == FENCED


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_ask_for_several_transactions_at_once(
    calls: TransactionCalls, version: int
) -> None:
    """One of them is of a producer that is fenced. Each may be added to, or only looked at."""
    calls.begin()
    fenced = TransactionCalls(calls.golden, f"{calls.id}-fenced", calls.topic)
    fenced.begin()
    TransactionCalls(calls.golden, fenced.id, calls.topic).begin()

    def ask(*, verifies: bool, fenced_verifies: bool) -> dict[str, int]:
        """The code of the only partition of each."""
        asked = [(calls, verifies), (fenced, fenced_verifies)]
        transactions = [
            {
                "transactional_id": each.id,
                "producer_id": each.producer_id,
                "producer_epoch": each.epoch,
                "verify_only": verify_only,
                "topics": [{"name": each.topic, "partitions": [0]}],
            }
            for each, verify_only in asked
        ]
        answer = calls.golden.call("AddPartitionsToTxn", version, {"transactions": transactions})
        assert answer["error_code"] == 0
        codes: dict[str, int] = {}
        for result in answer["results_by_transaction"]:
            (topic,) = result["topic_results"]
            (partition,) = topic["results_by_partition"]
            assert (topic["name"], partition["partition_index"]) == (calls.topic, 0)
            codes[result["transactional_id"]] = partition["partition_error_code"]
        return codes

    for fenced_verifies in (False, True):
        codes = ask(verifies=True, fenced_verifies=fenced_verifies)
        assert codes == {calls.id: ABORTABLE, fenced.id: FENCED}
        assert calls.described()["transaction_state"] == "Empty"
    for verifies, fenced_verifies in itertools.product((False, True), repeat=2):
        codes = ask(verifies=verifies, fenced_verifies=fenced_verifies)
        assert codes == {calls.id: 0, fenced.id: FENCED}
        assert calls.described()["topics"] == [{"topic": calls.topic, "partitions": [0]}]
    assert fenced.described()["transaction_state"] == "Empty"
    assert calls.end(commits=False, version=NEW) == 0


def test_who_goes_on_tells_what_he_was(calls: TransactionCalls) -> None:
    epoch = calls.begin()
    me = calls.producer_id
    for _ in range(2):  # The second is a retry.
        answer = calls.init(expected=(me, epoch))
        assert (answer["error_code"], answer["producer_epoch"]) == (0, epoch + 1)
    assert calls.init(expected=(me + 1_000, epoch))["error_code"] == FENCED
    assert calls.init(expected=(me + 1_000, epoch), version=3)["error_code"] == OUT_OF_DATE
    assert calls.begin() == epoch + 2
    assert calls.init(expected=(me, epoch + 1))["error_code"] == FENCED


@both
def test_a_transaction_that_lasts_too_long_is_aborted(
    calls: TransactionCalls, version: int
) -> None:
    epoch = calls.begin(timeout_ms=1_000)
    write(calls, version)
    for _ in turns("the transaction is aborted"):
        state = calls.described()
        if state["transaction_state"] == "CompleteAbort":
            break
    assert state["producer_epoch"] == epoch + 1
    assert calls.send(version=12 if version == NEW else 11) == OUT_OF_DATE
    bumps = version == NEW
    assert calls.end(commits=True, version=version) == (INVALID_STATE if bumps else FENCED)
    assert calls.end(commits=False, version=version) == (0 if bumps else FENCED)
    assert calls.begin() == epoch + 2


def test_offsets_in_a_transaction(golden: Golden, calls: TransactionCalls) -> None:
    group = calls.id
    for _ in turns("a coordinator of the group"):
        asked = {"key_type": 0, "coordinator_keys": [group]}
        if not golden.errors(golden.call("FindCoordinator", 4, asked)):
            break
    calls.begin()
    assert [calls.commit_offset(group, 3, version=version) for version in range(5)] == [
        *[INVALID_STATE] * 4,
        ABORTABLE,
    ]
    assert [calls.add_offsets(group), calls.add_offsets(group)] == [0, 0]
    assert [calls.commit_offset(group, v, version=v) for v in range(6)] == [0] * 6
    assert calls.committed_offset(group) == (-1, UNSTABLE)
    assert calls.commit_offset(group, 9, member="nobody", generation=4) == UNKNOWN_MEMBER
    assert calls.end(commits=True) == 0
    await_offset(calls, group, 5)
    assert calls.commit_offset(group, 77, version=5) == 0
    (topic,) = calls.described()["topics"]
    assert topic["topic"] == "__consumer_offsets"
    assert calls.end(commits=False, version=5) == 0
    await_offset(calls, group, 5)


@pytest.mark.parametrize("version", [6])
def test_offsets_of_topics_by_id(golden: Golden, calls: TransactionCalls, version: int) -> None:
    """kafka-python does not know this version, so the frames are made with kafkalite's codec; the
    recorded answer to Java's has the same form."""
    group = calls.id
    for _ in turns("a coordinator of the group"):
        asked = {"key_type": 0, "coordinator_keys": [group]}
        if not golden.errors(golden.call("FindCoordinator", 4, asked)):
            break
    calls.begin()
    id = uuid.UUID(golden.metadata([calls.topic])["topics"][0]["topic_id"]).bytes
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    request = TxnOffsetCommitRequest(
        transactional_id=calls.id,
        group_id=group,
        producer_id=calls.producer_id,
        producer_epoch=calls.epoch,
        topics=[
            TxnOffsetCommitRequestTopic(topic_id=Uuid(each), partitions=[partition])
            for each in (id, bytes(15) + b"\x63")
        ],
    )
    frame = request_frame(request, version, correlation_id=1, client_id="answers")
    answer = TxnOffsetCommitResponse()
    for _ in turns("the group's coordinator is there"):
        outcome, answered = golden.ask(b"".join(bytes(part) for part in frame))  # type: ignore[arg-type]  # Parts of a request are bytes.
        assert outcome == "response"
        assert answered is not None
        answer = decode(TxnOffsetCommitResponse, version, answered, 4 + 4 + 1)
        if answer.topics[0].partitions[0].error_code not in READY_CODES:
            break
    assert [
        (topic.topic_id, each.partition_index, each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    ] == [(bytes(15) + b"\x63", 0, UNKNOWN_ID), (id, 0, 0)]
    assert calls.end(commits=True, version=5) == 0
    await_offset(calls, group, 5)


def await_offset(calls: TransactionCalls, group: str, offset: int) -> None:
    for _ in turns("the offset is stable"):
        found = calls.committed_offset(group)
        if found != (-1, UNSTABLE):
            break
    assert found == (offset, 0)


@pytest.mark.parametrize("version", [1, 2])
def test_markers_that_are_written_by_hand(calls: TransactionCalls, version: int) -> None:
    """As kafka-transactions does to a transaction that hangs."""
    epoch = calls.begin()
    calls.add()
    calls.send()
    state = calls.in_partition()
    assert (state["producer_epoch"], state["coordinator_epoch"]) == (epoch, -1)
    assert state["current_txn_start_offset"] >= 0
    assert calls.mark(version=version, epoch=-1) == -1
    assert calls.mark(version=version, epoch=epoch) == (OUT_OF_DATE if version == 2 else 0)
    for _ in range(2):
        assert calls.mark(version=version, epoch=epoch + 1) == 0
    assert calls.mark(version=version, epoch=epoch + 1, coordinator=5) == 0
    assert calls.mark(version=version, epoch=epoch + 2, coordinator=4) == COORDINATOR_FENCED
    state = calls.in_partition()
    assert (state["producer_epoch"], state["coordinator_epoch"]) == (epoch + 1, 5)
    assert state["current_txn_start_offset"] == -1
    assert calls.described()["transaction_state"] == "Ongoing"
    calls.topic = "absent"
    assert calls.mark(version=version, epoch=epoch) == 3


def test_lists_of_transactions(golden: Golden, calls: TransactionCalls) -> None:
    calls.begin()
    calls.add()

    def listed(**filters: object) -> tuple[int, list[str], bool]:
        none = {
            "state_filters": [],
            "producer_id_filters": [],
            "duration_filter": -1,
            "transactional_id_pattern": None,
        }
        answer = golden.call("ListTransactions", 2, none | filters)
        ids = [each["transactional_id"] for each in answer["transaction_states"]]
        return answer["error_code"], answer["unknown_state_filters"], calls.id in ids

    assert listed() == (0, [], True)
    assert listed(state_filters=["Ongoing"]) == (0, [], True)
    assert listed(state_filters=["Empty"]) == (0, [], False)
    assert listed(state_filters=["ongoing", "Ongoing"]) == (0, ["ongoing"], True)
    assert listed(state_filters=["ongoing"]) == (0, ["ongoing"], False)
    assert listed(producer_id_filters=[calls.producer_id]) == (0, [], True)
    assert listed(producer_id_filters=[1 << 40]) == (0, [], False)
    assert listed(duration_filter=1_000_000) == (0, [], False)
    assert listed(transactional_id_pattern="") == (0, [], True)
    assert listed(transactional_id_pattern="answers-.*") == (0, [], True)
    assert listed(transactional_id_pattern="answers") == (0, [], False)
    assert listed(transactional_id_pattern="(") == (128, [], False)
    assert calls.end(commits=False) == 0


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("{id}-[ab]", ["a", "b"]),
        ("{id}", []),
        ("{id}.*", ["a", "b", "1"]),
        (r"{id}-\pL", ["a", "b"]),
        (r"(?i){id}-(?P<one>\d|A)", ["a", "1"]),
        (r"\Q{id}-a\E", ["a"]),
        ("", None),
        ("(", INVALID_PATTERN),
        ("(?={id}).*", INVALID_PATTERN),
        (r"(a)\1", INVALID_PATTERN),
    ],
)
def test_ids_are_listed_by_patterns_of_re2(
    golden: Golden, calls: TransactionCalls, pattern: str, found: list[str] | int | None
) -> None:
    for end in ("a", "b", "1"):
        TransactionCalls(golden, f"{calls.id}-{end}", calls.topic).begin()
    asked = {
        "state_filters": [],
        "producer_id_filters": [],
        "duration_filter": -1,
        "transactional_id_pattern": pattern.replace("{id}", calls.id),
    }
    answer = golden.call("ListTransactions", 2, asked)
    ids = {each["transactional_id"] for each in answer["transaction_states"]}
    if isinstance(found, int):
        assert (answer["error_code"], ids) == (found, set())
    elif found is None:
        assert ids >= {f"{calls.id}-{end}" for end in ("a", "b", "1")}
    else:
        assert ids == {f"{calls.id}-{end}" for end in found}


def test_partitions_need_not_be_added_where_that_is_not_verified(
    golden: Golden, calls: TransactionCalls
) -> None:
    calls.begin()
    assert calls.send(version=11) == ABORTABLE
    with unverified(golden):
        for _ in turns("the broker verifies no more"):
            # In between the real one may answer that it is not ready.
            if calls.send(version=11) == 0:
                break
        assert calls.in_partition()["current_txn_start_offset"] >= 0
        assert calls.described()["transaction_state"] == "Empty"
        golden.await_coordinators()
        assert calls.commit_offset("answers", 1, version=3) == 0
        assert calls.end(commits=True, version=3) == INVALID_STATE
        # Who has version 2 adds what it writes to all the same.
        new = TransactionCalls(golden, f"{calls.id}-new", calls.topic)
        new.begin()
        assert new.send(version=12) == 0
        assert new.described()["transaction_state"] == "Ongoing"
        assert new.end(commits=False, version=5) == 0
        # What is open in the partition has no coordinator that would end it.
        assert calls.mark(version=1, epoch=calls.epoch) == 0
    for number, _ in enumerate(turns("the broker verifies again")):
        other = TransactionCalls(golden, f"{calls.id}-{number}", calls.topic)
        other.begin()
        if other.send(version=11) == ABORTABLE:
            break
        assert other.mark(version=1, epoch=other.epoch) == 0
