"""What stays of single batches, by what is known of their producers."""

from __future__ import annotations

import pytest

from kafkalite.log.compaction_filter import BatchFilter, CleanedBatch, LastRecord
from kafkalite.log.compaction_records import OffsetMap, record_bytes
from kafkalite.log.compaction_transactions import CleanedTransactions
from kafkalite.log.scan import StoredBatch
from kafkalite.protocol.records.batch import read_header
from kafkalite.protocol.records.record import build_batch
from kafkalite.types import Offset, ProducerEpoch, ProducerId
from tests.log.compaction_fixtures import LATER, World, pairs, stored_headers
from tests.log.log_fixtures import append

FIRST_EVER = -(2**63)


def filtered(producer: int, last: LastRecord | None) -> CleanedBatch | None:
    """What is left of a batch at offset 0 whose one key has a later value."""
    data = build_batch(
        pairs(("a", "1")),
        producer_id=ProducerId(producer),
        producer_epoch=ProducerEpoch(0),
        base_sequence=0,
    )
    batch = StoredBatch(0, read_header(data), data, 0)
    offsets = OffsetMap(10)
    offsets.put_keys(record_bytes(batch), 1, Offset(5), Offset(0))
    decide = BatchFilter(
        offsets,
        CleanedTransactions(()),
        {} if last is None else {ProducerId(producer): last},
        high_watermark=Offset(9),
        now=LATER,
        delete_retention_ms=1000,
    )
    return decide.filter(batch)


@pytest.mark.parametrize("producer", [FIRST_EVER, -2, -1])
def test_an_id_below_0_is_no_producers(producer: int) -> None:
    """As Kafka's `hasProducerId` has it: none of these goes on from the batch's sequence."""
    assert filtered(producer, LastRecord(Offset(0), ProducerEpoch(0))) is None


@pytest.mark.parametrize("producer", [0, 7])
@pytest.mark.parametrize(
    ("last", "stays"),
    [
        (LastRecord(Offset(0), ProducerEpoch(0)), True),
        (LastRecord(Offset(4), ProducerEpoch(0)), False),
        (LastRecord(None, ProducerEpoch(0)), False),
        (None, False),
    ],
)
def test_of_a_producers_last_batch_the_header_stays(
    producer: int, last: LastRecord | None, stays: bool
) -> None:
    left = filtered(producer, last)
    assert (left is not None) == stays
    if left is not None:
        assert (left.header.records_count, left.header.last_sequence) == (0, 0)


@pytest.mark.parametrize("producer", [FIRST_EVER, -2])
def test_nothing_stays_of_its_batches_in_a_log_either(producer: int) -> None:
    world = World()
    data = build_batch(
        pairs(("a", "1")),
        producer_id=ProducerId(producer),
        producer_epoch=ProducerEpoch(0),
        base_sequence=0,
    )
    for _ in range(2):
        append(world.log, bytearray(data))
    world.write(("a", "2"))
    world.roll()
    world.clean()
    assert [header.base_offset for header in stored_headers(world.log)] == [2]
