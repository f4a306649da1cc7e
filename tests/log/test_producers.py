"""What a partition remembers of its idempotent and transactional producers."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.producer_snapshots import (
    ProducerSnapshots,
    format_snapshot,
    parse_snapshot,
)
from kafkalite.log.producers import ProducerStates
from kafkalite.protocol.records.batch import MAX_SEQUENCE, BatchHeader, read_header
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs

NOW = TimestampMs(1_000_000)
DAY = 86_400_000
ID = ProducerId(7)


def header(
    sequence: int, count: int = 1, *, epoch: int = 0, transactional: bool = False
) -> BatchHeader:
    batch = build_batch(
        [Record(None, b"v")] * count,
        producer_id=ID,
        producer_epoch=ProducerEpoch(epoch),
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return read_header(batch)


@pytest.fixture
def states() -> ProducerStates:
    return ProducerStates("orders-3")


def appended(states: ProducerStates, one: BatchHeader, offset: int) -> None:
    assert states.check(one, Offset(offset)) is None
    states.appended(one, Offset(offset), NOW)


def refusal(states: ProducerStates, one: BatchHeader) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        states.check(one, Offset(50))
    return caught.value


def test_a_new_producer_may_begin_anywhere(states: ProducerStates) -> None:
    appended(states, header(17), 0)
    state = states.get(ID)
    assert state is not None
    assert (state.epoch, state.last_sequence, state.last_timestamp) == (0, 17, NOW)
    assert len(states) == 1
    assert states.get(ProducerId(8)) is None


def test_a_gap_is_refused(states: ProducerStates) -> None:
    appended(states, header(0, 2), 0)
    error = refusal(states, header(3))
    assert error.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error.message == (
        "Out of order sequence number for producer 7 at offset 50 in partition orders-3: "
        "3 (incoming seq. number), 1 (current end sequence number)"
    )


def test_a_repeat_is_told_by_both_its_sequences(states: ProducerStates) -> None:
    appended(states, header(0, 3), 10)
    found = states.check(header(0, 3), Offset(13))
    assert found is not None
    assert (found.first_offset, found.last_offset, found.timestamp) == (10, 12, NOW)
    assert refusal(states, header(0, 2)).code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap(states: ProducerStates) -> None:
    appended(states, header(MAX_SEQUENCE - 1, 3), 0)
    state = states.get(ID)
    assert state is not None
    assert (state.batches[-1].first_sequence, state.last_sequence) == (MAX_SEQUENCE - 1, 0)
    assert states.check(header(MAX_SEQUENCE - 1, 3), Offset(3)) is not None
    appended(states, header(1), 3)
    states.appended(header(MAX_SEQUENCE), Offset(4), NOW)
    appended(states, header(0), 5)


def test_a_new_epoch_begins_at_zero(states: ProducerStates) -> None:
    appended(states, header(0), 0)
    error = refusal(states, header(1, epoch=1))
    assert error.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error.message == (
        "Invalid sequence number for new epoch of producer 7 at offset 50 in partition orders-3: "
        "1 (request epoch), 1 (seq. number), 0 (current producer epoch)"
    )
    appended(states, header(0, epoch=1), 1)
    state = states.get(ID)
    assert state is not None
    assert (state.epoch, len(state.batches)) == (1, 1)


def test_an_epoch_gone_by_is_refused(states: ProducerStates) -> None:
    appended(states, header(0, epoch=2), 0)
    error = refusal(states, header(1, epoch=1))
    assert error.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert error.message == (
        "Epoch of producer 7 at offset 50 in orders-3 is 1, which is smaller than the last seen "
        "epoch 2"
    )


def test_the_first_epoch_may_be_none_and_no_lower(states: ProducerStates) -> None:
    error = refusal(states, header(0, epoch=-2))
    assert error.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert error.message.endswith("is -2, which is smaller than the last seen epoch -1")
    appended(states, header(0, epoch=-1), 0)


def test_transactions(states: ProducerStates) -> None:
    appended(states, header(0, transactional=True), 5)
    appended(states, header(1, transactional=True), 6)
    assert states.first_unstable_offset == 5
    assert refusal(states, header(2)).code is ErrorCode.INVALID_TXN_STATE
    assert states.transaction_ended(header(0), 3, TimestampMs(NOW + 1)) == 5
    unstable: Offset | None = states.first_unstable_offset
    assert unstable is None
    state = states.get(ID)
    assert state is not None
    assert (state.coordinator_epoch, state.last_timestamp) == (3, NOW + 1)
    assert states.transaction_ended(header(0, epoch=1), 3, NOW) is None
    assert (state.epoch, state.last_sequence) == (1, -1)
    appended(states, header(0, epoch=1), 9)


def test_silent_producers_expire_but_not_within_a_transaction(states: ProducerStates) -> None:
    appended(states, header(0), 0)
    states.remove_expired(TimestampMs(NOW + DAY - 1))
    assert len(states) == 1
    saved = states.active()
    states.remove_expired(TimestampMs(NOW + DAY))
    assert len(states) == 0
    states.restore(saved, TimestampMs(NOW + DAY))
    assert len(states) == 0
    states.restore(saved, NOW)
    appended(states, header(1, transactional=True), 1)
    states.remove_expired(TimestampMs(NOW + DAY))
    assert len(states) == 1


def test_snapshots_hold_the_last_batch(states: ProducerStates) -> None:
    appended(states, header(0), 0)
    appended(states, header(1, 4, transactional=True), 1)
    (state,) = parse_snapshot(format_snapshot(states.active()))
    assert [batch.first_offset for batch in state.batches] == [1]
    assert (state.producer_id, state.epoch, state.last_sequence) == (7, 0, 4)
    assert (state.last_timestamp, state.transaction_first_offset) == (NOW, 1)
    states.transaction_ended(header(0, epoch=1), 2, NOW)
    (state,) = parse_snapshot(format_snapshot(states.active()))
    assert (len(state.batches), state.coordinator_epoch) == (0, 2)


def test_any_damage_to_a_snapshot_is_seen(states: ProducerStates) -> None:
    appended(states, header(0), 0)
    data = format_snapshot(states.active())
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        with pytest.raises(CorruptRecordError):
            parse_snapshot(bytes(damaged))
        with pytest.raises(CorruptRecordError):
            parse_snapshot(data[:position])
    with pytest.raises(CorruptRecordError):
        parse_snapshot(data + b"x")


def test_a_snapshot_whose_count_is_wrong_is_refused() -> None:
    from crc32c import crc32c

    body = b"\xff\xff\xff\xff"
    with pytest.raises(CorruptRecordError, match="-1 entries"):
        parse_snapshot(b"\0\1" + crc32c(body).to_bytes(4, "big") + body)


class TestFiles:
    def snapshots(self) -> tuple[MemoryFiles, ProducerSnapshots]:
        files = MemoryFiles()
        files.make_folder("t-0")
        return files, ProducerSnapshots(files, "t-0")

    def load(
        self, snapshots: ProducerSnapshots, states: ProducerStates, end: int, *kept: int
    ) -> Offset | None:
        return snapshots.load(
            states, end_offset=Offset(end), now=NOW, kept=frozenset(map(Offset, kept))
        )

    def test_the_newest_at_or_below_the_end_is_read(self, states: ProducerStates) -> None:
        _, snapshots = self.snapshots()
        for offset in range(4):
            appended(states, header(offset), offset)
            snapshots.save(states, Offset(offset + 1))
        assert snapshots.newest == 4
        fresh = ProducerStates("t-0")
        assert self.load(snapshots, fresh, 3, 1) == 3
        state = fresh.get(ID)
        assert state is not None
        assert state.last_sequence == 2
        assert snapshots.offsets() == [1, 3]

    def test_an_offset_is_saved_once(self, states: ProducerStates) -> None:
        files, snapshots = self.snapshots()
        snapshots.save(states, Offset(5))
        appended(states, header(0), 0)
        snapshots.save(states, Offset(5))
        assert files.size(f"t-0/{5:020d}.snapshot") == 10

    def test_without_files_there_is_nothing(self, states: ProducerStates) -> None:
        files, snapshots = self.snapshots()
        appended(states, header(0), 0)
        files.replace("t-0/x.snapshot", b"")
        assert self.load(snapshots, states, 9) is None
        assert len(states) == 0
        assert snapshots.unsynced() == []
