"""Aborted transactions: written as Kafka writes them, and found again whatever is lost of them."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.transaction_index import (
    AbortedTransaction,
    AbortedTransactions,
    format_transaction_index,
    parse_transaction_index,
)
from kafkalite.types import Offset, ProducerId
from tests.log.compaction_fixtures import CONFIG, Transactional
from tests.log.golden_folders import golden_bytes, golden_files, memory_copy, open_golden
from tests.log.log_fixtures import FOLDER, NOW, open_log

NAME = "transactions-0"


def entry(producer: int, first: int, last: int, stable: int) -> AbortedTransaction:
    return AbortedTransaction(ProducerId(producer), Offset(first), Offset(last), Offset(stable))


def aborted(log: PartitionLog) -> list[list[AbortedTransaction]]:
    """Of each segment."""
    return [segment.aborted.all for segment in log.segments]


def world() -> Transactional:
    """Two segments: in the first one of two transactions is aborted while the other goes on, in
    the second that is too."""
    world = Transactional(files=MemoryFiles(models_crashes=True))
    world.send(7, 0, ("a", "1"))
    world.send(8, 0, ("b", "1"))
    world.end(7, commit=False)
    world.send(9, 0, ("c", "1"))
    world.end(9, commit=True)
    world.end(9, commit=False)
    world.roll()
    world.send(8, 1, ("d", "1"))
    world.end(8, commit=False)
    return world


EXPECTED = [[entry(7, 0, 2, 1)], [entry(8, 1, 7, 8)]]


@pytest.mark.parametrize("has_file", [True, False])
def test_kafkas_index_is_made_again_from_its_log(has_file: bool) -> None:
    (file,) = golden_files(NAME, ".txnindex")
    files = memory_copy(NAME)
    if not has_file:
        files.remove(f"{NAME}/{file}")
    log = open_golden(NAME, clean=False, files=files)
    log.close()
    made = files.open(f"{NAME}/{file}")
    assert made.read(0, made.size) == golden_bytes(NAME, file)


def test_an_abort_that_had_records_is_written_when_the_segment_rolls() -> None:
    made = world()
    assert aborted(made.log) == EXPECTED
    made.log.close()
    assert aborted(open_log(made.files, CONFIG)) == EXPECTED


@pytest.mark.parametrize("clean", [True, False])
def test_segments_without_aborts_have_no_file(clean: bool) -> None:
    made = Transactional()
    made.send(7, 0, ("a", "1"))
    made.end(7, commit=True)
    made.end(7, commit=False)
    made.log.close()
    log = open_log(made.files, CONFIG, clean=clean)
    log.close()
    assert aborted(log) == [[]]
    assert not [name for name in made.files.list(FOLDER) if name.endswith(".txnindex")]


@pytest.mark.parametrize("damage", [None, b"", b"\x00" * 34, b"\x07" * 33, b"\xff" * 34])
def test_after_a_crash_they_are_found_again(damage: bytes | None) -> None:
    made = world()
    for base in (0, 6):
        path = f"{FOLDER}/{base:020d}.txnindex"
        if made.files.exists(path):
            made.files.remove(path)
        if damage is not None:
            made.files.replace(path, damage)
    log = open_log(made.files, CONFIG, clean=False)
    assert aborted(log) == EXPECTED
    made.end(7, commit=True)
    log.close()
    assert aborted(open_log(made.files, CONFIG)) == EXPECTED


def test_what_is_synced_survives_a_loss_of_power_and_the_rest_is_found_again() -> None:
    made = world()
    made.log.sync()
    made.files.sync_folder("")
    made.files.crash()
    assert made.files.size(f"{FOLDER}/{0:020d}.txnindex") == 34
    log = open_log(made.files, CONFIG, clean=False)
    assert aborted(log) == EXPECTED


def test_a_damaged_file_of_the_last_segment_is_made_again_after_a_clean_stop_too() -> None:
    made = world()
    made.log.close()
    made.files.replace(f"{FOLDER}/{6:020d}.txnindex", b"none")
    assert aborted(open_log(made.files, CONFIG)) == EXPECTED


@pytest.mark.parametrize("offset", [2, 7])
def test_a_log_that_is_cut_forgets_what_was_aborted_behind_the_cut(offset: int) -> None:
    made = world()
    made.log.close()
    made.log.sync()
    made.files.sync_folder("")
    log = open_log(made.files, CONFIG)
    truncate_to(log, Offset(offset), NOW)
    expected = [[]] if offset == 2 else [EXPECTED[0], []]
    assert aborted(log) == expected
    assert aborted(open_log(made.files, CONFIG, clean=False)) == expected
    made.files.crash()
    assert aborted(open_log(made.files, CONFIG, clean=False)) == expected


def test_what_was_aborted_before_a_cut_stays() -> None:
    made = Transactional()
    for sequence in range(2):
        made.send(7, sequence, ("a", "1"))
        made.end(7, commit=False)
    made.log.close()
    log = open_log(made.files, CONFIG)
    truncate_to(log, Offset(3), NOW)
    assert aborted(log) == [[entry(7, 0, 1, 2)]]
    log.close()
    assert aborted(open_log(made.files, CONFIG)) == [[entry(7, 0, 1, 2)]]


def test_a_replay_tells_nothing_twice() -> None:
    made = world()
    made.log.close()
    for name in made.files.list(FOLDER):
        if name.endswith(".snapshot"):
            made.files.remove(f"{FOLDER}/{name}")
    assert aborted(open_log(made.files, CONFIG)) == EXPECTED


def test_a_torn_tail_takes_its_aborts_with_it() -> None:
    made = world()
    made.log.close()
    file = made.files.open(f"{FOLDER}/{6:020d}.log")
    file.truncate(file.size - 1)
    log = open_log(made.files, CONFIG, clean=False)
    assert log.end_offset == 7
    assert aborted(log) == [EXPECTED[0], []]
    assert not made.files.exists(f"{FOLDER}/{6:020d}.txnindex")


@pytest.mark.parametrize(
    "data",
    [b"\x00", bytes(33), b"\x00\x01" + bytes(32), format_transaction_index([entry(1, 5, 4, 5)])],
)
def test_bytes_that_are_no_index_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        parse_transaction_index(data)


def test_snapshots_that_a_replay_passed_over_go_with_their_segments() -> None:
    made = Transactional()
    made.write(("a", "before"))
    made.roll()
    for sequence in range(3):
        made.send(7, sequence, ("a", str(sequence)))
        made.end(7, commit=False)
        made.roll()
    made.log = open_log(made.files, CONFIG, clean=False)
    made.clean()
    assert [segment.base_offset for segment in made.log.segments] == [0, 7]
    names = [name for name in made.files.list(FOLDER) if name.endswith(".snapshot")]
    assert names == [f"{7:020d}.snapshot"]


def test_only_what_the_disk_has_is_let_go() -> None:
    """What was added and not saved stays, and so does what is to be replayed."""
    files = MemoryFiles()
    files.make_folder(FOLDER)
    one, two = entry(7, 0, 2, 1), entry(8, 1, 7, 8)
    aborted = AbortedTransactions(files, f"{FOLDER}/0")
    aborted.begin()
    aborted.add(one)
    aborted.let_go()
    assert aborted.all == [one]
    assert aborted.save()
    files.replace(aborted.name, format_transaction_index([two]))
    assert aborted.all == [one]
    aborted.let_go()
    assert aborted.all == [two], "read anew"
    aborted.forget(is_lost=True)
    files.replace(aborted.name, format_transaction_index([one]))
    aborted.let_go()
    assert aborted.all == []
