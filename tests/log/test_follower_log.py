"""What a follower does to its log: its files are its leader's, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from errno import ENOSPC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.follower_log import BeginsBelowError, append_as_follower
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import restart_at
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import build_batch
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs
from tests.log.log_fixtures import FOLDER, NOW, append, batch, idempotent, open_log, read, records
from tests.log.refusing_disk import RefusingDisk
from tests.log.trees import tree

EPOCH = LeaderEpoch(99)
"""Later than any that a test leads in."""
SMALL = TopicConfig(segment_bytes=600, index_interval_bytes=150)


def follow(log: PartitionLog, data: bytes, *, epoch: int = EPOCH, now: int = NOW) -> int:
    return append_as_follower(
        log,
        memoryview(bytearray(data)),
        leader_epoch=LeaderEpoch(epoch),
        now=TimestampMs(now),
    )


def copy(leader: PartitionLog, follower: PartitionLog, *, max_bytes: int = 1 << 20) -> None:
    """Fetch until the follower has all."""
    while follower.end_offset < leader.end_offset:
        assert follow(follower, read(leader, follower.end_offset, max_bytes=max_bytes))


def test_bytes_offsets_and_epochs_are_the_leader_s() -> None:
    leader, follower = open_log(), open_log()
    append(leader, batch(NOW, NOW), epoch=LeaderEpoch(2))
    append(leader, batch(NOW), epoch=LeaderEpoch(5))
    data = read(leader, 0)
    assert follow(follower, data) == len(data)
    assert (follower.end_offset, read(follower, 0)) == (3, data)
    assert follower.epochs.starts == leader.epochs.starts == ((2, 0), (5, 2))


def test_a_batch_that_is_cut_short_waits_for_the_next_fetch() -> None:
    leader, follower = open_log(), open_log()
    for _ in range(3):
        append(leader, batch(NOW, NOW))
    data = read(leader, 0)
    taken = follow(follower, data[:-1])
    assert (follower.end_offset, taken) == (4, len(data) // 3 * 2)
    assert follow(follower, data[: len(data) // 3 - 1]) == 0
    assert follower.end_offset == 4


def test_producers_are_known_as_the_leader_knows_them() -> None:
    leader, follower = open_log(), open_log()
    append(leader, idempotent(0, 2))
    append(leader, idempotent(2, 3))
    copy(leader, follower)
    state = follower.producers.get(ProducerId(9))
    assert state is not None
    assert (state.last_sequence, len(state.batches)) == (4, 2)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("batch"), st.integers(1, 4), st.integers(0, 120)),
        st.tuples(st.just("idempotent"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("copy"), st.integers(61, 900), st.just(0)),
        st.tuples(st.just("later"), st.integers(1, 3_000), st.just(0)),
        st.tuples(st.just("epoch"), st.just(1), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_files_are_the_leader_s_however_it_is_fetched(steps: list[tuple[str, int, int]]) -> None:
    config = SMALL._replace(segment_ms=2_000)
    files, copied = MemoryFiles(), MemoryFiles()
    leader, follower = open_log(files, config), open_log(copied, config)
    now, epoch, sequence = int(NOW), 3, 0
    for kind, first, second in steps:
        if kind == "copy":
            copy(leader, follower, max_bytes=first)
        elif kind == "later":
            now += first
        elif kind == "epoch":
            epoch += 1
        elif kind == "batch":
            data = batch(*[now] * first, value=b"v" * second)
            append(leader, data, now=TimestampMs(now), epoch=LeaderEpoch(epoch))
        else:
            data = idempotent(sequence, first)
            append(leader, data, now=TimestampMs(now), epoch=LeaderEpoch(epoch))
            sequence += first
    append(leader, batch(now), now=TimestampMs(now), epoch=LeaderEpoch(epoch))
    follower_epoch = LeaderEpoch(epoch)
    while follower.end_offset < leader.end_offset:
        follow(follower, read(leader, follower.end_offset, max_bytes=400), epoch=follower_epoch)
    for log in (leader, follower):
        log.close()
    assert tree(copied) == tree(files)


def transactional(sequence: int) -> bytearray:
    return build_batch(
        records(NOW),
        producer_id=ProducerId(9),
        producer_epoch=ProducerEpoch(0),
        base_sequence=sequence,
        is_transactional=True,
    )


def test_aborted_transactions_are_in_the_index_too() -> None:
    files, copied = MemoryFiles(), MemoryFiles()
    leader, follower = open_log(files, SMALL), open_log(copied, SMALL)
    append(leader, transactional(0))
    marker = build_end_transaction_batch(
        EndTransactionMarker(is_commit=False, coordinator_epoch=1),
        producer_id=ProducerId(9),
        producer_epoch=ProducerEpoch(0),
        timestamp=NOW,
    )
    append_as_leader(
        leader, memoryview(marker), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
    )
    copy(leader, follower)
    assert follower.producers.first_unstable_offset is None
    for log in (leader, follower):
        log.close()
    assert any(name.endswith(".txnindex") for name in tree(copied))
    assert tree(copied) == tree(files)


def test_what_a_later_leader_wrote_is_left_out() -> None:
    leader, follower = open_log(), open_log()
    append(leader, batch(NOW), epoch=LeaderEpoch(4))
    append(leader, batch(NOW), epoch=LeaderEpoch(6))
    append(leader, batch(NOW), epoch=LeaderEpoch(6))
    assert follow(follower, read(leader, 0), epoch=5) > 0
    assert follower.end_offset == 1


def _flip(data: bytearray) -> None:
    data[-1] ^= 1


def _negative(data: bytearray) -> None:
    data[23:27] = (-1).to_bytes(4, "big", signed=True)


@pytest.mark.parametrize("damage", [_flip, _negative])
def test_a_damaged_batch_is_refused(
    damage: Callable[[bytearray], None],
) -> None:
    leader, follower = open_log(), open_log()
    append(leader, batch(NOW))
    data = bytearray(read(leader, 0))
    damage(data)
    with pytest.raises(CorruptRecordError):
        follow(follower, bytes(data))
    assert follower.end_offset == 0


def test_batches_out_of_order_are_refused() -> None:
    leader, follower = open_log(), open_log()
    append(leader, batch(NOW))
    data = read(leader, 0)
    follow(follower, data)
    with pytest.raises(CorruptRecordError):
        follow(follower, bytes(data))
    assert follower.end_offset == 1


def test_a_log_of_which_compaction_took_batches_has_the_same_holes() -> None:
    leader, follower = open_log(), open_log()
    for _ in range(3):
        append(leader, batch(NOW))
    data = read(leader, 0)
    third = len(data) // 3
    follow(follower, data[:third] + data[2 * third :])
    assert follower.end_offset == 3


def test_a_leader_that_begins_amid_a_batch_is_followed_from_that_batch_on() -> None:
    leader, follower = open_log(), open_log()
    append(leader, batch(NOW, NOW, NOW, NOW))
    restart_at(follower, Offset(2), NOW)
    data = read(leader, 2)
    with pytest.raises(BeginsBelowError) as below:
        follow(follower, bytes(data))
    assert below.value.offset == 0
    restart_at(follower, below.value.offset, NOW)
    follow(follower, data)
    assert (follower.log_start_offset, follower.end_offset) == (0, 4)


def test_a_log_begins_anew_where_it_is_told() -> None:
    files = MemoryFiles()
    log = open_log(files, SMALL)
    for _ in range(30):
        append(log, idempotent(log.end_offset))
    log.sync()
    restart_at(log, Offset(500), NOW)
    assert (log.log_start_offset, log.end_offset, log.recovery_point) == (500, 500, 500)
    assert (log.epochs.starts, len(log.producers), log.size_bytes) == ((), 0, 0)
    append(log, batch(NOW))
    assert log.end_offset == 501
    log.close()
    assert [n for n in tree(files) if n.endswith(".log")] == [f"{FOLDER}/00000000000000000500.log"]
    assert open_log(files, SMALL).log_start_offset == 500


@pytest.mark.parametrize("offset", [0, 7])
def test_a_log_without_a_folder_begins_anew_too(offset: int) -> None:
    log = open_log()
    restart_at(log, Offset(offset), NOW)
    assert (log.log_start_offset, log.end_offset, log.folder.exists) == (offset, offset, True)


def test_a_disk_that_refuses_leaves_what_was_appended_before() -> None:
    disk = RefusingDisk()
    leader, follower = open_log(config=SMALL), open_log(disk, SMALL)
    for _ in range(4):
        append(leader, batch(NOW))
    data = read(leader, 0)
    follow(follower, data[: len(data) // 2])
    disk.error = ENOSPC
    with pytest.raises(OSError, match="error"):
        follow(follower, data[len(data) // 2 :])
    assert follower.end_offset == 2
