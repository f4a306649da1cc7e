"""What compaction leaves of a log, by Kafka's rules; see `tests/properties` for any history."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.log import compaction_records
from kafkalite.log.compaction import CleaningAbortedError
from kafkalite.log.log_cuts import delete_records, retire_below, truncate_to
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.protocol.records.batch import TimestampType, read_header
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Header, Record, build_batch
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs
from tests.log.compaction_fixtures import (
    CONFIG,
    LATER,
    MUCH_LATER,
    Transactional,
    World,
    cleaning,
    pairs,
    plan,
    run,
    stored_headers,
    stored_records,
    with_sequence,
)
from tests.log.log_fixtures import FOLDER, NOW, append, open_log, stored


def test_the_last_record_of_each_key_stays_at_its_offset() -> None:
    world = World()
    world.write(("a", "1"), ("b", "1"), ("a", "2"))
    world.write(("c", "1"))
    world.write(("b", "2"), ("c", None))
    world.roll()
    world.write(("a", "active"))
    assert world.clean() == 6
    assert world.seen() == [
        (2, b"a", b"2"),
        (4, b"b", b"2"),
        (5, b"c", None),
        (6, b"a", b"active"),
    ]
    assert [(header.base_offset, header.last_offset) for header in stored_headers(world.log)] == [
        (0, 2),
        (4, 5),
        (6, 6),
    ]


def test_a_batch_that_stays_whole_stays_byte_for_byte() -> None:
    world = World()
    world.write(("a", "1"), ("b", "1"), codec=Compression.LZ4)
    world.roll()
    world.write(("c", "x"))
    before = stored(world.log)
    world.clean()
    assert stored(world.log) == before


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_keeps_its_codec_when_records_of_it_go(codec: Compression) -> None:
    world = World()
    world.write(*[(f"k{number}", "v" * 50) for number in range(10)], codec=codec)
    world.write(("k0", "new"))
    world.roll()
    world.clean()
    first = stored_headers(world.log)[0]
    assert (first.compression, first.records_count) == (codec, 9)
    assert (first.base_offset, first.last_offset) == (0, 9)
    assert first.base_timestamp == NOW + 1
    assert [record.timestamp - NOW for record in stored_records(world.log)] == [*range(1, 10), 0]


def test_a_tombstone_goes_when_its_delete_horizon_has_passed() -> None:
    world = World()
    world.write(("a", "1"))
    world.write(("a", None), ("b", "1"))
    world.roll()
    world.write(("x", "active"))
    checkpoint = world.clean(LATER)
    header = stored_headers(world.log)[0]
    assert header.delete_horizon_ms == LATER + 1000
    assert stored_records(world.log)[0] == (1, b"a", None, NOW)
    assert header.max_timestamp == NOW + 1
    world.roll()
    checkpoint = world.clean(TimestampMs(LATER + 999), checkpoint=checkpoint)
    assert world.seen()[0] == (1, b"a", None)
    assert stored_headers(world.log)[0] == header
    world.write(("y", "active"))
    world.roll()
    world.clean(TimestampMs(LATER + 1000), checkpoint=checkpoint)
    assert [key for _, key, _ in world.seen()] == [b"b", b"x", b"y"]
    assert stored_headers(world.log)[0].delete_horizon_ms == LATER + 1000


def test_records_without_a_key_go() -> None:
    world = World(CONFIG._replace(cleanup_policy=("delete",)))
    append(world.log, build_batch([Record(None, b"v"), Record(b"k", b"v")]))
    append(world.log, build_batch([Record(None, b"v")]))
    append(world.log, build_batch([Record(b"l", b"v")]))
    world.log.configure(CONFIG)
    world.roll()
    job = cleaning(world.files, world.log, LATER)
    run(job)
    assert world.seen() == [(1, b"k", b"v"), (3, b"l", b"v")]
    assert job.keyless == 2


def test_append_time_counts_for_what_is_written_anew() -> None:
    world = World(CONFIG._replace(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    data = build_batch(pairs(("a", "1"), ("b", "1")))
    append(world.log, data, now=TimestampMs(NOW + 77))
    world.write(("a", "2"))
    world.roll()
    world.clean()
    header = stored_headers(world.log)[0]
    assert (header.base_timestamp, header.max_timestamp) == (NOW + 77, NOW + 77)
    assert header.timestamp_type == 1
    assert stored_records(world.log)[0].timestamp == NOW + 77


def test_the_batch_that_ends_at_the_high_watermark_keeps_its_header() -> None:
    world = World(CONFIG._replace(cleanup_policy=("delete",)))
    append(world.log, build_batch([Record(b"k", b"v")]))
    append(world.log, build_batch([Record(None, b"v")]))
    world.log.configure(CONFIG)
    world.roll()
    world.clean()
    assert [(each.base_offset, each.records_count) for each in stored_headers(world.log)] == [
        (0, 1),
        (1, 0),
    ]


def test_what_is_left_empty_at_the_end_of_a_round_goes() -> None:
    """Kafka's `Cleaner` looks at the high watermark there, and not at where the round ends."""
    world = Transactional()
    world.send(1, 0, ("a", "1"))
    world.end(1, commit=True)
    world.send(7, 0, ("b", "1"))
    world.roll()
    world.end(7, commit=False)
    world.send(7, 1, ("c", "1"))
    world.end(7, commit=True)
    assert world.clean() == Offset(3)
    headers = stored_headers(world.log)
    assert [header.base_offset for header in headers] == [0, 1, 3, 4, 5]


def test_headers_of_records_stay() -> None:
    world = World()
    kept = Record(b"b", b"1", (Header("h", b"x"), Header("n", None)), NOW)
    append(world.log, build_batch([Record(b"a", b"1", (), TimestampMs(NOW - 300)), kept]))
    world.write(("a", "2"))
    world.roll()
    world.clean()
    from kafkalite.log.scan import scan_batches
    from kafkalite.protocol.records.record import read_records

    segment = world.log.segments[0]
    batch = next(scan_batches(segment.file, 0, segment.size))
    (record,) = read_records(batch.buffer, batch.at, batch.header)
    assert record == kept._replace(offset=Offset(1))


def test_segments_become_one_as_far_as_limits_allow() -> None:
    world = World(CONFIG._replace(segment_bytes=1000))
    for number in range(40):
        world.write((f"k{number % 5}", "v" * 100))
    world.roll()
    before = len(world.log.segments)
    end = world.clean()
    assert before >= 6
    assert end == 40
    # One segment for each group of at most 1,000 bytes as they were: so the first time, none merge.
    assert len(world.log.segments) == before
    world.write(("k0", "last"))
    world.roll()
    world.clean(checkpoint=end)
    assert len(world.log.segments) < before
    assert [offset for offset, *_ in world.seen()] == [36, 37, 38, 39, 40]
    files = [name for name in world.files.list(FOLDER) if not name.endswith(".deleted")]
    bases = sorted(int(name.split(".")[0]) for name in files if name.endswith(".log"))
    assert bases == [segment.base_offset for segment in world.log.segments]
    assert not [name for name in files if name.endswith((".cleaned", ".swap"))]


def test_offsets_and_timestamps_are_found_after_cleaning() -> None:
    world = World()
    for number in range(60):
        append(
            world.log,
            build_batch(
                [Record(f"k{number % 30}".encode(), b"v" * 60, (), TimestampMs(NOW + number))]
            ),
        )
    world.roll()
    world.write(("z", "active"))
    world.clean()
    log = world.log
    found = log.offset_for_timestamp(TimestampMs(NOW + 45))
    assert found is not None
    assert found.offset == 45
    for offset in range(31):
        part = log.read(
            Offset(offset), max_bytes=10_000, max_offset=log.end_offset, first_batch_whole=True
        ).part
        assert part is not None
        assert read_header(bytes(part)).base_offset == 30  # type: ignore[arg-type]  # Memory files give views.
    log.close()
    again = open_log(world.files, CONFIG)
    assert stored_records(again) == stored_records(log)
    entries = 0
    for segment, cleaned in zip(again.segments, log.segments, strict=True):
        written = cleaned.indexes.offsets.to_bytes()
        assert segment.indexes.offsets.to_bytes() == written
        made_again = segment.held.make_again(segment.size, CONFIG).offsets
        assert made_again.to_bytes() == written, "an entry each 100 bytes"
        entries += len(made_again)
    assert entries > 10


def test_a_full_map_cleans_as_far_as_it_reaches() -> None:
    world = World()
    for number in range(10):
        world.write((f"k{number}", "1"), (f"k{number % 3}", "2"))
    world.roll()
    end = world.clean(capacity=4)
    assert end == 7
    assert [offset for offset, *_ in world.seen()][:4] == [1, 3, 5, 6]
    while end < 20:
        before, end = end, world.clean(checkpoint=end, capacity=4)
        assert end > before
    latest = {key: offset for offset, key, _ in world.seen()}
    assert len(latest) == len(world.seen()) == 10


def test_the_last_batch_of_a_round_stays_without_records() -> None:
    world = World()
    world.write(("a", "1"))
    world.roll()
    world.write(("b", "1"))
    world.roll()
    world.write(("c", "active"))
    end = world.clean()
    append(world.log, build_batch(pairs(("b", None))))
    world.roll()
    world.clean(LATER, checkpoint=end)
    world.clean(MUCH_LATER, checkpoint=end)
    last = [header for header in stored_headers(world.log) if header.base_offset == 3]
    assert [(header.records_count, header.base_timestamp) for header in last] == [(0, -1)]
    assert [key for _, key, _ in world.seen()] == [b"a", b"c"]


def test_a_producers_last_sequence_stays_in_a_batch_without_records() -> None:
    world = World()
    append(world.log, with_sequence(7, 0, *pairs(("a", "1"))))
    append(world.log, with_sequence(7, 1, *pairs(("a", "2"), ("b", "2"))))
    world.write(("a", "3"), ("b", "3"))
    world.write(("z", "z"))
    world.roll()
    world.clean()
    headers = [header for header in stored_headers(world.log) if header.producer_id == 7]
    assert [
        (header.base_offset, header.last_offset, header.base_sequence, header.records_count)
        for header in headers
    ] == [(1, 2, 1, 0)]
    world.log.close()
    for snapshot in [name for name in world.files.list(FOLDER) if name.endswith(".snapshot")]:
        world.files.remove(f"{FOLDER}/{snapshot}")
    again = open_log(world.files, CONFIG, clean=False)
    state = again.producers.get(ProducerId(7))
    assert state is not None
    assert state.last_sequence == 2
    append(again, with_sequence(7, 3, *pairs(("a", "4"))))


def test_aborted_records_go_and_their_marker_after_them() -> None:
    world = Transactional()
    world.write(("a", "old"))
    first = world.send(7, 0, ("a", "aborted"), ("b", "aborted"))
    marker = world.end(7, commit=False)
    world.send(8, 0, ("c", "committed"))
    commit = world.end(8, commit=True)
    world.write(("z", "z"))
    world.roll()
    end = world.clean(LATER)
    assert [key for _, key, _ in world.seen()] == [b"a", b"c", b"z"]
    # The batch stays, for its producer may go on; the marker with it, and the index.
    assert [h.base_offset for h in stored_headers(world.log)] == [0, 1, marker, 4, commit, 6]
    assert len(world.log.segments[0].aborted.all) == 1
    for state in world.log.producers.active():
        state.batches.clear()
        state.epoch = ProducerEpoch(1)
    # Now no producer needs them: first the batch goes and the marker gets its horizon...
    world.write(("y", "y"))
    world.roll()
    end = world.clean(MUCH_LATER, checkpoint=end)
    kept = {header.base_offset: header for header in stored_headers(world.log)}
    assert first not in kept
    assert kept[Offset(marker)].delete_horizon_ms is None
    world.write(("y", "y"))
    world.roll()
    end = world.clean(MUCH_LATER, checkpoint=end)
    kept = {header.base_offset: header for header in stored_headers(world.log)}
    assert kept[Offset(marker)].delete_horizon_ms == MUCH_LATER + 1000
    assert kept[Offset(commit)].delete_horizon_ms is None
    assert not world.files.exists(f"{FOLDER}/{0:020d}.txnindex")
    # ... and then the marker.
    world.write(("y", "y"))
    world.roll()
    world.clean(TimestampMs(MUCH_LATER + 1000), checkpoint=end)
    assert marker not in [header.base_offset for header in stored_headers(world.log)]
    assert commit in [header.base_offset for header in stored_headers(world.log)]


def test_a_marker_stays_while_it_alone_tells_a_producers_epoch() -> None:
    world = Transactional()
    marker = world.end(7, commit=True)
    world.write(("a", "1"))
    world.roll()
    end = world.clean(LATER)
    assert stored_headers(world.log)[0].delete_horizon_ms == LATER + 1000
    for now in (TimestampMs(LATER + 1000), TimestampMs(LATER + 2000)):
        world.write(("a", "2"))
        world.roll()
        end = world.clean(now, checkpoint=end)
        header = stored_headers(world.log)[0]
        assert (header.base_offset, header.records_count) == (marker, 0)
        assert header.is_control
    (state,) = world.log.producers.active()
    state.epoch = ProducerEpoch(1)
    world.write(("a", "3"))
    world.roll()
    world.clean(TimestampMs(LATER + 3000), checkpoint=end)
    assert marker not in [header.base_offset for header in stored_headers(world.log)]


def test_nothing_is_cleaned_above_an_open_transaction_or_the_high_watermark() -> None:
    world = Transactional()
    world.write(("a", "1"))
    world.roll()
    world.send(7, 0, ("b", "1"))
    world.roll()
    world.write(("c", "1"))
    world.roll()
    found = plan(world.log, NOW)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 1)
    assert world.clean() == 1


def test_what_is_damaged_is_not_cleaned_and_not_repaired() -> None:
    world = World()
    world.write(("a", "1"))
    world.write(("a", "2"), ("b", "2"))
    world.roll()
    segment = world.log.segments[0]
    file = world.files.open(segment.name)
    file.write_at(segment.size - 3, b"X")
    before = stored(world.log)
    with pytest.raises(CorruptRecordError, match="wrong CRC"):
        world.clean()
    assert stored(world.log) == before
    assert not [name for name in world.files.list(FOLDER) if name.endswith(".cleaned")]


def test_damage_in_what_was_cleaned_before_is_found_too() -> None:
    world = World()
    world.write(("a", "1"), ("b", "1"))
    world.roll()
    world.write(("x", "x"))
    end = world.clean()
    world.write(("a", "2"))
    world.roll()
    segment = world.log.segments[0]
    world.files.open(segment.name).write_at(segment.size - 2, b"X")
    before = stored(world.log)
    with pytest.raises(CorruptRecordError, match="wrong CRC"):
        world.clean(checkpoint=end)
    assert stored(world.log) == before


def test_a_batch_larger_than_a_piece_is_read_whole() -> None:
    world = World(CONFIG._replace(segment_bytes=1 << 20))
    world.write(*[(f"k{at}", "v" * 900) for at in range(100)])
    world.write(("k0", "last"), ("k1", "last"))
    world.roll()
    world.clean(piece_bytes=4096)
    assert len(world.seen()) == 100


def test_a_batch_that_decompresses_to_too_much_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_records, "BATCH_LIMIT_BYTES", 500)
    world = World()
    world.write(("a", "1"))
    world.write(("a", "2"), ("b", "v" * 600), codec=Compression.ZSTD)
    world.write(("b", "3"))
    world.write(("c", "1"), ("c", "2"), codec=Compression.ZSTD)
    world.roll()
    job = cleaning(world.files, world.log, LATER)
    assert run(job) == world.log.end_offset
    assert job.oversized == 1
    kept = [(offset, key) for offset, key, _ in world.seen()]
    assert kept == [(0, b"a"), (1, b"a"), (2, b"b"), (3, b"b"), (5, b"c")]


def test_a_cleaning_ends_when_its_segments_are_deleted() -> None:
    world = World()
    world.write(("a", "1"))
    world.roll()
    world.write(("a", "2"))
    world.roll()
    steps = cleaning(world.files, world.log, LATER).steps()
    for _ in range(3):
        next(steps).run()
    delete_records(world.log, Offset(1))
    retire_below(world.log, Offset(1))
    with pytest.raises(CleaningAbortedError):
        next(steps)
    assert world.seen() == [(1, b"a", b"2")]
    assert not [name for name in world.files.list(FOLDER) if name.endswith(".cleaned")]


def test_a_cleaning_that_is_given_up_leaves_nothing() -> None:
    world = World()
    world.write(("a", "1"), ("a", "2"))
    world.roll()
    before = (stored(world.log), world.files.list(FOLDER))
    steps = cleaning(world.files, world.log, LATER).steps()
    next(steps).run()
    next(steps).run()
    steps.close()
    assert (stored(world.log), world.files.list(FOLDER)) == before


def test_of_producer_snapshots_those_of_segments_that_are_gone_go() -> None:
    world = World()
    for sequence in range(4):
        append(world.log, with_sequence(7, sequence, *pairs(("a", str(sequence)))))
        world.roll()
    retired: list[RetiredFiles] = []
    run(cleaning(world.files, world.log, LATER, on_retired=retired.append))
    assert [segment.base_offset for segment in world.log.segments] == [0, 4]
    left = [name for name in world.files.list(FOLDER) if name.endswith(".snapshot")]
    assert left == [f"{4:020d}.snapshot"]
    for files in retired:
        files.remove()
    assert not [name for name in world.files.list(FOLDER) if name.endswith(".deleted")]


def test_leader_epochs_of_batches_stay() -> None:
    world = World()
    for epoch in (1, 2, 3):
        append(
            world.log, build_batch(pairs(("a", "1"), (f"k{epoch}", "1"))), epoch=LeaderEpoch(epoch)
        )
    world.roll()
    world.clean()
    assert [header.partition_leader_epoch for header in stored_headers(world.log)] == [1, 2, 3]


def test_a_log_that_is_cut_where_compaction_took_the_records_goes_on() -> None:
    """Its new last segment rolls at its end, and not over its own file."""
    world = World(CONFIG._replace(segment_bytes=300))
    for key in "abcccccde":
        world.write((key, "1"))
    world.clean()
    assert [segment.base_offset for segment in world.log.segments] == [0, 4, 8]
    truncate_to(world.log, Offset(3), NOW)
    left = [(0, b"a", b"1"), (1, b"b", b"1")]
    assert world.seen() == left
    world.roll()
    world.write(("f", "1"))
    assert world.seen() == [*left, (3, b"f", b"1")]
