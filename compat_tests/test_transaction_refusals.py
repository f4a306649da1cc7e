"""Batches and requests that do not fit a transaction, and what each is answered: the same on
kafkalite and on the real Kafka."""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

import pytest

from compat_tests.golden import Fields, Golden
from compat_tests.transaction_calls import CONCURRENT, TransactionCalls

TRANSACTIONAL, CONTROL = 0x10, 0x20
NEITHER = -1
"""A sequence of a batch that has no producer."""
NONE, UNKNOWN_TOPIC, FORBIDDEN_TOPIC, INVALID_TOPIC, INVALID_REQUEST = 0, 3, 29, 17, 42
SERVER_ERROR, INVALID_GROUP = -1, 24
GAP, OLD_EPOCH, INVALID_STATE, OTHER_PRODUCER, TIMEOUT = 45, 47, 48, 49, 50
FORBIDDEN_ID, NOT_ATTEMPTED, INVALID_RECORD, FENCED, ABORTABLE = 53, 55, 87, 90, 120
NOT_FOUND = 105
OLD, NEW = 11, 12
"""Versions of Produce that clients of either version of the protocol send."""
MINE, OTHERS, NOBODYS = "mine", "another's", "nobody's"

_numbers = itertools.count()


class Case(NamedTuple):
    """One batch, sent when partition 0 of the topic has the transaction's first record."""

    name: str
    old: int
    """What it is answered in version 11, where that partition alone was added."""
    new: int
    """In version 12."""
    id: str | None = MINE
    """Of the request."""
    topic: str = "refusals"
    partition: int = 0
    sequence: int = 1
    epoch: int = 0
    """As it differs from the producer's."""
    attributes: int = TRANSACTIONAL


CASES = (
    Case("a plain batch amid a transaction", INVALID_STATE, INVALID_STATE, None, attributes=0),
    Case("the same with the id", INVALID_STATE, INVALID_STATE, attributes=0),
    Case("the producer elsewhere", NONE, NONE, None, "others", sequence=0, attributes=0),
    Case("nobody's batch", NONE, NONE, sequence=NEITHER, attributes=0),
    Case("nobody's batch of a transaction", NONE, NONE, sequence=NEITHER),
    Case("another id, where the transaction is open", NONE, NONE, OTHERS),
    Case("another id elsewhere", OTHER_PRODUCER, OTHER_PRODUCER, OTHERS, partition=1, sequence=0),
    Case("no id", FORBIDDEN_ID, FORBIDDEN_ID, None),
    Case("an unknown id", OTHER_PRODUCER, OTHER_PRODUCER, NOBODYS, partition=1, sequence=0),
    Case("an empty id", INVALID_REQUEST, INVALID_REQUEST, "", partition=1, sequence=0),
    Case("another partition", ABORTABLE, NONE, partition=1, sequence=0),
    Case("another partition, not from 0 on", ABORTABLE, GAP, partition=1, sequence=5),
    Case("no topic", UNKNOWN_TOPIC, UNKNOWN_TOPIC, topic="no-such", sequence=0),
    Case("an internal topic", ABORTABLE, INVALID_TOPIC, topic="__transaction_state", sequence=0),
    Case("the same, not from 0 on", ABORTABLE, INVALID_TOPIC, topic="__transaction_state"),
    Case("a marker", INVALID_RECORD, INVALID_RECORD, attributes=TRANSACTIONAL | CONTROL),
    Case("a later epoch", OLD_EPOCH, OLD_EPOCH, sequence=0, epoch=1),
    Case("a later epoch elsewhere", OLD_EPOCH, OLD_EPOCH, partition=1, sequence=0, epoch=1),
    Case("an earlier epoch", OLD_EPOCH, OLD_EPOCH, sequence=0, epoch=-1),
    Case("a gap", GAP, GAP, sequence=9),
)


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    golden = Golden(bootstrap)
    golden.fresh_topics({"refusals": {"num_partitions": 2}, "others": {}})
    golden.await_coordinators()
    return golden


@pytest.fixture
def calls(golden: Golden) -> TransactionCalls:
    return begun(golden)


def begun(golden: Golden) -> TransactionCalls:
    made = TransactionCalls(golden, f"refusals-{os.getpid()}-{next(_numbers)}", "refusals")
    made.begin()
    return made


def batch(calls: TransactionCalls, case: Case) -> bytes:
    has_producer = case.sequence != NEITHER
    records: bytes = calls.golden.script["batch"](
        pid=calls.producer_id if has_producer else -1,
        epoch=calls.epoch + case.epoch if has_producer else -1,
        seq=case.sequence,
        attrs=case.attributes,
    )
    return records


def produce(golden: Golden, version: int, id: str | None, *batches: Fields) -> list[Fields]:
    """The answers to batches of partitions; in another order than they were asked."""
    asked = {"transactional_id": id, "acks": -1, "timeout_ms": 5_000, "topic_data": list(batches)}
    answer = golden.call("Produce", version, asked)
    return [each for topic in answer["responses"] for each in topic["partition_responses"]]


def data(topic: str, index: int, records: bytes) -> Fields:
    partition = {"index": index, "records": records}
    return {"name": topic, "topic_id": None, "partition_data": [partition]}


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_batch_is_answered(
    golden: Golden, calls: TransactionCalls, case: Case, version: int
) -> None:
    # With an epoch of 1 or more there is an earlier one.
    calls.begin()
    if version == OLD:
        assert calls.add() == NONE
    assert calls.send(version=version) == NONE
    ids = {MINE: calls.id, OTHERS: f"{calls.id}-other", NOBODYS: f"{calls.id}-nobody"}
    if case.id == OTHERS:
        TransactionCalls(golden, ids[OTHERS], "refusals").begin()
    id = None if case.id is None else ids.get(case.id, case.id)
    (answer,) = produce(golden, version, id, data(case.topic, case.partition, batch(calls, case)))
    assert answer["error_code"] == (case.new if version == NEW else case.old)
    # The log has refused a gap: then it is told where it starts.
    if answer["error_code"] in (GAP, ABORTABLE):
        assert answer["log_start_offset"] == (0 if answer["error_code"] == GAP else -1)
    assert calls.end(commits=False, version=5 if version == NEW else 3) == NONE


@pytest.mark.parametrize("version", [OLD, NEW])
def test_the_batches_of_a_request_have_one_producer(golden: Golden, version: int) -> None:
    one, other = begun(golden), begun(golden)
    answers = produce(
        golden,
        version,
        one.id,
        data("refusals", 0, batch(one, CASES[-1]._replace(sequence=0))),
        data("others", 0, batch(other, CASES[-1]._replace(sequence=0))),
    )
    why = "Transactional records contained more than one producer ID"
    assert [(each["error_code"], each["error_message"]) for each in answers] == [
        (OTHER_PRODUCER, why)
    ] * 2


@pytest.mark.parametrize("version", [0, 3])
def test_partitions_that_cannot_be_added(calls: TransactionCalls, version: int) -> None:
    asked = {"refusals": [0, 7], "no-such": [0], "__consumer_offsets": [0]}
    answer = calls.golden.call(
        "AddPartitionsToTxn",
        version,
        {
            "v3_and_below_transactional_id": calls.id,
            "v3_and_below_producer_id": calls.producer_id,
            "v3_and_below_producer_epoch": calls.epoch,
            "v3_and_below_topics": [
                {"name": name, "partitions": indexes} for name, indexes in asked.items()
            ],
        },
    )
    codes = {
        (topic["name"], each["partition_index"]): each["partition_error_code"]
        for topic in answer["results_by_topic_v3_and_below"]
        for each in topic["results_by_partition"]
    }
    assert codes == {
        ("refusals", 0): NOT_ATTEMPTED,
        ("refusals", 7): UNKNOWN_TOPIC,
        ("no-such", 0): UNKNOWN_TOPIC,
        ("__consumer_offsets", 0): FORBIDDEN_TOPIC,
    }
    assert calls.described()["transaction_state"] == "Empty"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transaction_timeout_ms": 0}, TIMEOUT),
        ({"transaction_timeout_ms": -1}, TIMEOUT),
        ({"transaction_timeout_ms": 900_001}, TIMEOUT),
        ({"transaction_timeout_ms": 900_000}, NONE),
        ({"transactional_id": ""}, INVALID_REQUEST),
        ({"producer_id": 5}, INVALID_REQUEST),
        ({"producer_epoch": 5}, INVALID_REQUEST),
        ({"producer_id": -2, "producer_epoch": -2}, FENCED),
        ({"transactional_id": None, "transaction_timeout_ms": -5}, NONE),
        ({"transactional_id": None, "producer_id": 5, "producer_epoch": 3}, NONE),
        ({"transactional_id": None, "producer_id": 5}, INVALID_REQUEST),
    ],
)
def test_a_producer_is_given_or_not(calls: TransactionCalls, fields: Fields, code: int) -> None:
    asked = {"transactional_id": calls.id, "transaction_timeout_ms": 1_000}
    nobody = {"producer_id": -1, "producer_epoch": -1}
    answer = calls.golden.call("InitProducerId", 4, {**asked, **nobody, **fields})
    assert answer["error_code"] == code


@pytest.mark.parametrize("version", range(6))
def test_no_id_and_one_that_is_not_known(golden: Golden, version: int) -> None:
    by = {"producer_id": 1, "producer_epoch": 0, "committed": True}
    for id, code in (("", INVALID_REQUEST), ("refusals-nobody", OTHER_PRODUCER)):
        ended = golden.call("EndTxn", version, {"transactional_id": id, **by})["error_code"]
        assert ended == code != CONCURRENT
    asked = {"transactional_ids": ["", "refusals-nobody", "refusals-nobody"]}
    described = golden.call("DescribeTransactions", 0, asked)["transaction_states"]
    assert sorted((each["transactional_id"], each["error_code"]) for each in described) == [
        ("", INVALID_REQUEST),
        ("refusals-nobody", NOT_FOUND),
        ("refusals-nobody", NOT_FOUND),
    ]


@pytest.mark.parametrize("version", range(6))
def test_offsets_of_no_group(golden: Golden, version: int) -> None:
    calls = begun(golden)
    assert calls.commit_offset("", 5, version=version) == INVALID_GROUP
    assert calls.described()["transaction_state"] == "Empty"


def test_old_clients_are_told_why_a_batch_is_refused(calls: TransactionCalls) -> None:
    mine = batch(calls, CASES[-1]._replace(sequence=0))
    (answer,) = produce(calls.golden, 9, calls.id, data("refusals", 0, mine))
    why = "Partition was not added to the transaction"
    assert (answer["error_code"], answer["error_message"]) == (INVALID_STATE, why)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ([(7, -1, "refusals")], [(7, "refusals", SERVER_ERROR)]),
        ([(-1, 0, "refusals")], [(-1, "refusals", SERVER_ERROR)]),
        ([(-1, 0, "__consumer_offsets")], [(-1, "__consumer_offsets", SERVER_ERROR)]),
        ([(7, -1, "no-such")], [(7, "no-such", UNKNOWN_TOPIC)]),
        ([(7, 0, None)], []),
        ([(7, 5, "refusals"), (7, 4, "refusals")], [(7, "refusals", OLD_EPOCH)]),
    ],
)
def test_markers_of_nobody(
    golden: Golden,
    version: int,
    asked: list[tuple[int, int, str | None]],
    answered: list[tuple[int, str, int]],
) -> None:
    """Producer id, epoch and topic of each, of ids that are far from those given."""
    far = 1 << 50
    markers = [
        {
            "producer_id": id if id < 0 else id + far,
            "producer_epoch": epoch,
            "transaction_result": True,
            "topics": [] if topic is None else [{"name": topic, "partition_indexes": [0]}],
            "coordinator_epoch": 0,
            "transaction_version": 0,
        }
        for id, epoch, topic in asked
    ]
    answer = golden.call("WriteTxnMarkers", version, {"markers": markers})
    assert [
        (id if id < 0 else id - far, topic["name"], each["error_code"])
        for id, topics in (
            (marker["producer_id"], marker["topics"]) for marker in answer["markers"]
        )
        for topic in topics
        for each in topic["partitions"]
    ] == answered


def test_states_that_there_are_not(golden: Golden) -> None:
    asked = {"state_filters": ["Nonsense", "ongoing"], "producer_id_filters": []}
    answer = golden.call("ListTransactions", 0, asked)
    assert answer["unknown_state_filters"] == ["Nonsense", "ongoing"]
    assert answer["transaction_states"] == []
