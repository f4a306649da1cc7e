"""What batches of idempotent producers are answered: duplicates, gaps, epochs, and sequences that
wrap. The same on kafkalite and on the real Kafka; requests are built by the recording's script."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from compat_tests.golden import Golden, turns

GAP, OLD_EPOCH, BAD_STATE, INVALID_RECORD, NOT_READY = 45, 47, 53, 87, 14
LAST = 2**31 - 1
"""The highest sequence; 0 follows."""
TRANSACTIONAL, CONTROL = 0x10, 0x20
VERSION = 9


class Batch(NamedTuple):
    sequence: int
    records: int = 1
    epoch: int = 0
    attributes: int = 0


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    golden = Golden(bootstrap)
    golden.fresh_topics({"once": {}, "emptied": {}})
    return golden


@pytest.fixture
def producer_id(golden: Golden) -> int:
    given = {"error_code": NOT_READY}
    for _ in turns("a producer id"):
        given = golden.call("InitProducerId", 4, {"transactional_id": None})
        if not given["error_code"]:
            break
    return given["producer_id"]


def send(golden: Golden, producer_id: int, batch: Batch, topic: str = "once") -> tuple[int, int]:
    """The code, and the offset of the first record, -1 with an error."""
    records = golden.script["batch"](
        n=batch.records,
        pid=producer_id,
        epoch=batch.epoch,
        seq=batch.sequence,
        attrs=batch.attributes,
    )
    _, version, fields = golden.script["produce"](records, topic=topic, part=0, version=VERSION)
    code, offset = 3, -1
    for _ in turns(f"a leader of {topic}"):
        answer = golden.call("Produce", version, fields)["responses"][0]["partition_responses"][0]
        code, offset = answer["error_code"], answer["base_offset"]
        if code not in (3, 6):
            break
    return code, offset


CASES: dict[str, list[tuple[Batch, int]]] = {
    # Each batch, and what it is answered: an offset from where the first one stands, or, below 0,
    # the negative of a code.
    "a first sequence may be any": [
        (Batch(7), 0),
        (Batch(8), 1),
        (Batch(10), -GAP),
        (Batch(8), 1),
        (Batch(9), 2),
    ],
    "of the last five batches duplicates are known": [
        *((Batch(n), n) for n in range(7)),
        (Batch(0), -GAP),
        (Batch(1), -GAP),
        *((Batch(n), n) for n in range(2, 7)),
    ],
    "a duplicate is one from its first record to its last": [
        (Batch(0, 3), 0),
        (Batch(3, 2), 3),
        (Batch(0, 3), 0),
        (Batch(3, 2), 3),
        (Batch(3), -GAP),
        (Batch(4), -GAP),
        (Batch(0, 2), -GAP),
    ],
    "behind the last sequence comes 0": [
        (Batch(LAST), 0),
        (Batch(0), 1),
        (Batch(LAST), 0),
        (Batch(1), 2),
    ],
    "also inside of a batch": [
        (Batch(LAST - 1, 3), 0),
        (Batch(1), 3),
        (Batch(LAST - 1, 3), 0),
        (Batch(LAST), -GAP),
    ],
    "and not 1": [(Batch(LAST), 0), (Batch(1), -GAP)],
    "a new epoch begins with 0, and an old one is over": [
        (Batch(0), 0),
        (Batch(1, epoch=1), -GAP),
        (Batch(0, epoch=1), 1),
        (Batch(1, epoch=0), -OLD_EPOCH),
        (Batch(1, epoch=1), 2),
        (Batch(0, epoch=3), 3),
        (Batch(0, epoch=2), -OLD_EPOCH),
        (Batch(1, epoch=3), 4),
    ],
    "epochs go up to the last": [(Batch(0, epoch=32767), 0), (Batch(1, epoch=32767), 1)],
    "an id needs a sequence": [(Batch(0), 0), (Batch(-1), -INVALID_RECORD)],
    "a client writes no markers": [
        (Batch(0, attributes=CONTROL), -INVALID_RECORD),
        (Batch(0, attributes=CONTROL | TRANSACTIONAL), -BAD_STATE),
        (Batch(0), 0),
    ],
    "a transaction needs an id": [(Batch(0, attributes=TRANSACTIONAL), -BAD_STATE), (Batch(0), 0)],
}


@pytest.mark.parametrize("case", CASES)
def test_batches_are_answered(golden: Golden, producer_id: int, case: str) -> None:
    first: int | None = None
    answers = []
    for batch, _ in CASES[case]:
        code, offset = send(golden, producer_id, batch)
        if first is None and not code:
            first = offset
        answers.append(-code if code else offset - (first or 0))
    assert answers == [expected for _, expected in CASES[case]]


def test_an_id_that_nobody_was_given_is_taken_from_0_on(golden: Golden) -> None:
    unknown = 1 << 60
    assert send(golden, unknown, Batch(0))[0] == 0
    assert send(golden, unknown, Batch(5))[0] == GAP


@pytest.mark.parametrize("epoch", [0, -1, -5])
def test_an_id_below_0_is_none(golden: Golden, epoch: int) -> None:
    """So nothing is a repeat, or out of order."""
    for sequence in (3, 3, -1, 0):
        assert send(golden, -5, Batch(sequence, epoch=epoch))[0] == 0
    asked = {"topics": [{"name": "once", "partition_indexes": [0]}]}
    (topic,) = golden.call("DescribeProducers", 0, asked)["topics"]
    producers = topic["partitions"][0]["active_producers"]
    assert -5 not in [each["producer_id"] for each in producers]


def test_an_epoch_below_that_of_nobody_is_old(golden: Golden, producer_id: int) -> None:
    assert send(golden, producer_id, Batch(0, epoch=-2))[0] == OLD_EPOCH
    assert send(golden, producer_id, Batch(0, epoch=-1))[0] == 0
    assert send(golden, producer_id, Batch(1, epoch=-2))[0] == OLD_EPOCH


def test_a_producer_is_known_when_its_records_are_deleted(golden: Golden, producer_id: int) -> None:
    """UNKNOWN_PRODUCER_ID is of brokers before 4.0."""
    send(golden, producer_id, Batch(0), "emptied")
    _, last = send(golden, producer_id, Batch(1), "emptied")
    partition = {"partition_index": 0, "offset": last + 1}
    asked = {"timeout_ms": 5_000, "topics": [{"name": "emptied", "partitions": [partition]}]}
    assert not golden.errors(golden.call("DeleteRecords", 2, asked))
    assert send(golden, producer_id, Batch(1), "emptied") == (0, last)
    assert send(golden, producer_id, Batch(9), "emptied")[0] == GAP
    assert send(golden, producer_id, Batch(2), "emptied") == (0, last + 1)
