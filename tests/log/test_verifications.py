"""What a partition remembers of producers whose transactions are asked about."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.producers import ProducerStates
from kafkalite.log.verifications import Verification, Verifications
from kafkalite.protocol.records.batch import read_header
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.types import Offset, ProducerEpoch, TimestampMs
from tests.log.test_producers import ID, NOW, header

GAP, INVALID = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_TXN_STATE


def begin(
    verifications: Verifications, sequence: int, epoch: int = 0, now: int = 0, *, bumps: bool = True
) -> Verification:
    return verifications.begin(
        ID, ProducerEpoch(epoch), sequence, TimestampMs(now), bumps_epoch=bumps
    )


def end(states: ProducerStates, epoch: int) -> None:
    """A marker comes."""
    marker = build_end_transaction_batch(
        EndTransactionMarker(is_commit=False, coordinator_epoch=0),
        producer_id=ID,
        producer_epoch=ProducerEpoch(epoch),
        timestamp=NOW,
    )
    states.transaction_ended(read_header(marker), 0, NOW)


def test_what_was_asked_first_is_to_come_first() -> None:
    verifications = Verifications()
    first = begin(verifications, 0)
    second = begin(verifications, 3)
    assert verifications.refusal(ID, second, 3) is GAP
    assert verifications.refusal(ID, first, 0) is ErrorCode.NONE


def test_the_lowest_of_an_epoch_counts_and_the_latest_epoch() -> None:
    verifications = Verifications()
    known = begin(verifications, 5, epoch=1)
    for sequence, epoch, lowest in ((3, 1, 3), (4, 1, 3), (0, 0, 3), (7, 2, 7)):
        assert begin(verifications, sequence, epoch) is known
        assert known.lowest_sequence == lowest


@pytest.mark.parametrize("bumps", [False, True])
def test_a_marker_ends_it_and_another_question_is_another(bumps: bool) -> None:
    states = ProducerStates("orders-3")
    before = begin(states.verifications, 0, bumps=bumps)
    end(states, epoch=1 if bumps else 0)
    assert states.verifications.refusal(ID, before, 0) is INVALID
    begin(states.verifications, 0, bumps=bumps)
    assert states.verifications.refusal(ID, before, 0) is INVALID


def test_the_marker_of_the_transaction_before_does_not() -> None:
    """Under version 2 it has the epoch that this one has."""
    states = ProducerStates("orders-3")
    known = begin(states.verifications, 0, epoch=4)
    end(states, epoch=4)
    assert states.verifications.refusal(ID, known, 0) is ErrorCode.NONE


@pytest.mark.parametrize("transactional", [True, False])
def test_the_first_append_of_a_transaction_ends_it(transactional: bool) -> None:
    states = ProducerStates("orders-3")
    known = begin(states.verifications, 0)
    states.appended(header(0, transactional=transactional), Offset(0), NOW)
    expected = INVALID if transactional else ErrorCode.NONE
    assert states.verifications.refusal(ID, known, 0) is expected


def test_what_leads_to_nothing_is_forgotten_in_time() -> None:
    states = ProducerStates("orders-3", expiration_ms=100)
    known = begin(states.verifications, 0, now=50)
    states.remove_expired(TimestampMs(149))
    assert states.verifications.refusal(ID, known, 0) is ErrorCode.NONE
    states.remove_expired(TimestampMs(150))
    assert states.verifications.refusal(ID, known, 0) is INVALID
