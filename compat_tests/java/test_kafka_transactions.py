"""The verbs of kafka-transactions, on an open transaction, on one that is over, and on one that
hangs: it is open in a partition, and no coordinator knows of it."""

from __future__ import annotations

import itertools
import os

import pytest

from compat_tests.golden import Golden, turns
from compat_tests.java.tools import Printed, run
from compat_tests.transaction_calls import TransactionCalls
from compat_tests.verification import ABORTABLE, unverified

pytestmark = pytest.mark.jvm

Row = dict[str, str]
INVALID_EPOCH = 47
LONG_AGO_MS = 1_600_000_000_000
_numbers = itertools.count()


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    golden = Golden(bootstrap)
    golden.fresh_topics({"hanging": {}})
    return golden


@pytest.fixture
def calls(golden: Golden) -> TransactionCalls:
    return TransactionCalls(golden, f"tool-{os.getpid()}-{next(_numbers)}", "hanging")


def said(bootstrap: str, *arguments: str) -> Printed:
    return run("kafka-transactions", ["--bootstrap-server", bootstrap, *arguments])


def rows(printed: Printed) -> list[Row]:
    """The table that a verb prints."""
    assert printed.status == 0, printed
    head, *lines = [
        [cell.strip() for cell in line.split("\t")[:-1]] for line in printed.stdout.splitlines()
    ]
    return [dict(zip(head, line, strict=True)) for line in lines]


def hang(calls: TransactionCalls) -> int:
    """The offset of its first record, and its only one."""
    calls.begin()
    with unverified(calls.golden):
        for _ in turns("the broker verifies nothing"):
            code = calls.send(version=11, timestamp_ms=LONG_AGO_MS)
            if code != ABORTABLE:
                break
        assert code == 0
    offset: int = calls.in_partition()["current_txn_start_offset"]
    return offset


def test_an_open_transaction_is_listed_described_and_terminated(
    bootstrap: str, calls: TransactionCalls
) -> None:
    calls.begin()
    assert calls.send(version=12) == 0
    by = {"ProducerId": str(calls.producer_id), "TransactionState": "Ongoing"}
    pattern = ("--transactional-id-pattern", f"{calls.id}.*")
    (listed,) = rows(said(bootstrap, "list", *pattern))
    assert listed.pop("Coordinator").isdigit()
    assert listed == {"TransactionalId": calls.id, **by}
    assert rows(said(bootstrap, "list", *pattern, "--duration-filter", "1000000")) == []
    (described,) = rows(said(bootstrap, "describe", "--transactional-id", calls.id))
    assert described.pop("CurrentTransactionStartTimeMs").isdigit()
    assert described.pop("TransactionDurationMs").isdigit()
    described.pop("CoordinatorId")
    assert described == {
        "TransactionalId": calls.id,
        **by,
        "ProducerEpoch": "0",
        "TransactionTimeoutMs": "60000",
        "TopicPartitions": "hanging-0",
    }
    ended = said(bootstrap, "forceTerminateTransaction", "--transactionalId", calls.id)
    assert ended.status == 0, ended
    # It is the next producer of the id, so it has waited for the end of the last one's transaction.
    state = calls.described()
    assert (state["transaction_state"], state["producer_epoch"] > 0) == ("Empty", True)
    assert calls.in_partition()["current_txn_start_offset"] == -1
    assert calls.send(version=12) == INVALID_EPOCH


def found(bootstrap: str, *limits: str) -> list[Row]:
    """What hangs in the topic, of all that find-hanging finds within these limits."""
    hanging = rows(said(bootstrap, "find-hanging", *limits))
    return [row for row in hanging if row["Topic"] == "hanging"]


def test_a_hanging_transaction_is_found_and_aborted(
    bootstrap: str, calls: TransactionCalls
) -> None:
    start = hang(calls)
    place = ("--topic", "hanging", "--partition", "0")
    me = {"ProducerId": str(calls.producer_id), "ProducerEpoch": "0"}
    (producer,) = [
        row
        for row in rows(said(bootstrap, "describe-producers", *place))
        if row["ProducerId"] == me["ProducerId"]
    ]
    assert producer == {
        **me,
        "LatestCoordinatorEpoch": "-1",
        "LastSequence": "0",
        "LastTimestamp": str(LONG_AGO_MS),
        "CurrentTransactionStartOffset": str(start),
    }
    (hanging,) = found(bootstrap, *place)
    assert hanging.pop("LastTimestamp") == str(LONG_AGO_MS)
    assert hanging.pop("Duration(min)").isdigit()
    assert hanging == {
        "Topic": "hanging",
        "Partition": "0",
        **me,
        "CoordinatorEpoch": "-1",
        "StartOffset": str(start),
    }
    aborted = said(bootstrap, "abort", *place, "--start-offset", str(start))
    assert (aborted.stdout, aborted.status) == ("", 0), aborted
    assert calls.in_partition()["current_txn_start_offset"] == -1
    assert found(bootstrap, *place) == []


def test_a_hanging_transaction_is_found_in_a_topic_and_on_a_broker_and_aborted_by_its_producer(
    bootstrap: str, calls: TransactionCalls
) -> None:
    start = hang(calls)
    (broker,) = calls.golden.metadata(["hanging"])["brokers"]
    for limit in (("--topic", "hanging"), ("--broker-id", str(broker["node_id"]))):
        (hanging,) = found(bootstrap, *limit)
        assert (hanging["ProducerId"], hanging["StartOffset"]) == (
            str(calls.producer_id),
            str(start),
        )
    place = ("--topic", "hanging", "--partition", "0")
    producer = ("--producer-id", str(calls.producer_id), "--producer-epoch", "0")
    aborted = said(bootstrap, "abort", *place, *producer, "--coordinator-epoch", "3")
    assert (aborted.stdout, aborted.status) == ("", 0), aborted
    state = calls.in_partition()
    assert (state["current_txn_start_offset"], state["coordinator_epoch"]) == (-1, 3)
