"""After a crash a log holds every whole batch up to the first that is torn or wrong."""

from __future__ import annotations

from zlib import crc32

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log import opening
from kafkalite.log.checkpoints import read_file
from kafkalite.log.epochs import EpochStart
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs, Uuid

FOLDER = "t-0"
TOPIC_ID = Uuid(b"0123456789abcdef")
NOW = TimestampMs(1_700_000_000_000)
SMALL = TopicConfig(segment_bytes=300, index_interval_bytes=100)


def open_log(
    files: MemoryFiles,
    *,
    clean: bool = False,
    config: TopicConfig = SMALL,
    recovery_point: int = 0,
    log_start_offset: int = 0,
) -> PartitionLog:
    return opening.open_log(
        files,
        FOLDER,
        config=config,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=clean,
        recovery_point=Offset(recovery_point),
        log_start_offset=Offset(log_start_offset),
    )


def append(log: PartitionLog, count: int = 1, *, epoch: int = 0, sequence: int = -1) -> None:
    producer = (
        {} if sequence < 0 else {"producer_id": ProducerId(5), "producer_epoch": ProducerEpoch(0)}
    )
    batch = build_batch(
        [Record(b"k", b"v" * 10, (), TimestampMs(NOW + at)) for at in range(count)],
        base_sequence=sequence,
        **producer,  # type: ignore[arg-type]  # mypy cannot see into the dict.
    )
    append_as_leader(log, memoryview(batch), leader_epoch=LeaderEpoch(epoch), now=NOW)


def all_bytes(log: PartitionLog) -> bytes:
    return b"".join(segment.file.read(0, segment.size) for segment in log.segments)


def damage(files: MemoryFiles, name: str, position: int) -> None:
    file = files.open(f"{FOLDER}/{name}")
    before = file.read(position, 1)
    file.write_at(position, bytes([before[0] ^ 0xFF]))


def segment_name(base: int, suffix: str = ".log") -> str:
    return f"{base:020d}{suffix}"


def test_cut_at_any_byte_of_the_last_batch_the_log_ends_before_it() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    first = all_bytes(log)
    append(log, 2)
    data = all_bytes(log)
    for size in range(len(first), len(data)):
        torn = MemoryFiles()
        torn.make_folder(FOLDER)
        torn.replace(f"{FOLDER}/{segment_name(0)}", data[:size])
        recovered = open_log(torn)
        assert recovered.end_offset == 1
        assert all_bytes(recovered) == first
        cut = [] if size == len(first) else [(len(first), size - len(first))]
        assert [(cut.position, cut.size_bytes) for cut in recovered.cuts] == cut


def test_any_wrong_byte_of_a_batch_cuts_before_it() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    first = all_bytes(log)
    append(log)
    data = all_bytes(log)
    outside_the_crc = {*range(len(first), len(first) + 8), *range(len(first) + 12, len(first) + 16)}
    for position in range(len(first), len(data)):
        if position in outside_the_crc:
            continue  # Base offset and leader epoch, which the leader stamps: no CRC covers them.
        wrong = MemoryFiles()
        wrong.make_folder(FOLDER)
        changed = bytearray(data)
        changed[position] ^= 0x55
        wrong.replace(f"{FOLDER}/{segment_name(0)}", bytes(changed))
        recovered = open_log(wrong)
        assert (recovered.end_offset, all_bytes(recovered)) == (1, first), position


def test_offsets_that_do_not_ascend_are_cut() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    one = all_bytes(log)
    files.open(f"{FOLDER}/{segment_name(0)}").append(one)
    recovered = open_log(files)
    assert recovered.end_offset == 1
    assert recovered.cuts[0].reason == "offset 0 where 1 or more was due"


def test_after_a_cut_the_segments_behind_it_go() -> None:
    files = MemoryFiles()
    log = open_log(files)
    for _ in range(12):
        append(log)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) >= 4
    damage(files, segment_name(bases[1]), 40)
    recovered = open_log(files)
    assert [segment.base_offset for segment in recovered.segments] == bases[:2]
    assert recovered.end_offset == bases[1]
    assert [name for name in files.list(FOLDER) if name.endswith(".log")] == [
        segment_name(base) for base in bases[:2]
    ]
    append(recovered)
    assert recovered.end_offset == bases[1] + 1


def test_what_is_below_the_recovery_point_is_not_read() -> None:
    files = MemoryFiles()
    log = open_log(files)
    for _ in range(12):
        append(log)
    log.close()
    bases = [segment.base_offset for segment in log.segments]
    damage(files, segment_name(bases[1]), 40)
    recovered = open_log(files, recovery_point=bases[2])
    assert recovered.cuts == ()
    assert recovered.end_offset == 12


def test_a_hole_between_segments_ends_the_log_unless_it_is_compacted() -> None:
    files = MemoryFiles()
    log = open_log(files)
    for _ in range(12):
        append(log)
    bases = [segment.base_offset for segment in log.segments]
    log.close()
    files.open(f"{FOLDER}/{segment_name(bases[1])}").truncate(0)
    compacted = open_log(files, config=SMALL._replace(cleanup_policy=("compact",)))
    assert compacted.end_offset == 12
    recovered = open_log(files)
    assert recovered.end_offset == bases[1]
    assert recovered.cuts[0].reason == "what was before it is lost"


def test_indexes_epochs_and_producers_are_made_again() -> None:
    files = MemoryFiles()
    log = open_log(files)
    for sequence in range(6):
        append(log, epoch=sequence // 2, sequence=sequence)
    log.close()
    wanted = {
        name: files.open_read(f"{FOLDER}/{name}").read(0, 9999) for name in files.list(FOLDER)
    }
    for name in wanted:
        if name.endswith(("index", ".snapshot", "checkpoint")):
            files.remove(f"{FOLDER}/{name}")
    recovered = open_log(files)
    assert recovered.epochs.starts == (
        EpochStart(LeaderEpoch(0), Offset(0)),
        EpochStart(LeaderEpoch(1), Offset(2)),
        EpochStart(LeaderEpoch(2), Offset(4)),
    )
    state = recovered.producers.get(ProducerId(5))
    assert state is not None
    assert state.last_sequence == 5
    assert len(state.batches) == 5
    recovered.close()
    for name in files.list(FOLDER):
        assert files.open_read(f"{FOLDER}/{name}").read(0, 9999) == wanted[name], name


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"odd", b"\xff" * 24, b"\x7f" * 24])
def test_an_index_that_cannot_be_right_is_made_again(suffix: str, content: bytes | None) -> None:
    files = MemoryFiles()
    log = open_log(files)
    for _ in range(12):
        append(log)
    log.close()
    first = f"{FOLDER}/{segment_name(0, suffix)}"
    wanted = log.segments[0].indexes
    if content is None:
        files.remove(first)
    else:
        files.replace(first, content)
    again = open_log(files, clean=True)
    found = again.segments[0].indexes
    assert found.offsets.to_bytes() == wanted.offsets.to_bytes()
    assert found.times.to_bytes() == wanted.times.to_bytes()
    assert again.segments[0].find(1) == log.segments[0].find(1)


def test_a_damaged_snapshot_is_passed_over() -> None:
    files = MemoryFiles()
    log = open_log(files)
    for sequence in range(6):
        append(log, sequence=sequence)
    log.close()
    damage(files, segment_name(6, ".snapshot"), 20)
    again = open_log(files, clean=True)
    state = again.producers.get(ProducerId(5))
    assert state is not None
    assert state.last_sequence == 5
    assert segment_name(6, ".snapshot") not in files.list(FOLDER)


def test_a_torn_end_is_cut_even_if_the_stop_was_called_clean() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    log.close()
    files.open(f"{FOLDER}/{segment_name(0)}").append(b"\0" * 30)
    again = open_log(files, clean=True)
    assert again.end_offset == 1
    assert again.cuts[0].size_bytes == 30


class Watched(MemoryFiles):
    """Knows which files were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def open(self, path: str) -> MemoryFile:
        self.opened.add(path)
        return super().open(path)

    def open_read(self, path: str) -> MemoryFile:
        self.opened.add(path)
        return super().open_read(path)


@pytest.mark.parametrize("segments", [3, 30])
def test_of_what_a_clean_stop_left_no_more_is_opened_however_many_segments_there_are(
    segments: int,
) -> None:
    files = Watched()
    log = open_log(files)
    for sequence in range(segments):
        append(log, sequence=sequence)
        log.roll(NOW)
    append(log, sequence=segments)
    log.close()
    files.opened.clear()
    open_log(files, clean=True, recovery_point=segments + 1)
    last_two = [segment_name(segments - 1), segment_name(segments)]
    looked_at = {path.rpartition("/")[2] for path in files.opened}
    assert sorted(name for name in looked_at if name.endswith(".log")) == last_two
    assert len(looked_at) < 10


def test_leftovers_are_removed() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    log.close()
    names = files.list(FOLDER)
    leftovers = (f"{7:020d}.index", "x.tmp", segment_name(0) + ".deleted", f"{1:020d}.log.cleaned")
    for name in leftovers:
        files.replace(f"{FOLDER}/{name}", b"")
    again = open_log(files, clean=True)
    assert files.list(FOLDER) == names
    assert again.end_offset == 1


@pytest.mark.parametrize("clean", [True, False])
def test_what_has_no_name_of_a_segment_is_somebodys_own(clean: bool) -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    append(log)
    log.close()
    digits = "\N{ARABIC-INDIC DIGIT ZERO}" * 19 + "1"
    theirs = [
        f"{stem}{suffix}"
        for stem in ("1", "notes", "9" * 20, "-" + "0" * 18 + "1", digits, "")
        for suffix in (".log", ".index", ".snapshot", ".log.swap", ".log.cleaned")
    ]
    for name in theirs:
        files.replace(f"{FOLDER}/{name}", b"theirs")
    before = files.list(FOLDER)
    again = open_log(files, clean=clean)
    append(again)
    assert again.end_offset == 3
    again.roll(NOW)
    again.close()
    assert set(before) < set(files.list(FOLDER))
    assert {name: read_file(files, f"{FOLDER}/{name}") for name in theirs} == dict.fromkeys(
        theirs, b"theirs"
    )


def test_a_log_that_ends_below_its_start_begins_anew_there() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    log.close()
    again = open_log(files, log_start_offset=50)
    assert (again.log_start_offset, again.end_offset) == (50, 50)
    append(again)
    assert again.end_offset == 51
    assert [segment.base_offset for segment in again.segments] == [50]


@pytest.mark.parametrize("magic", [0, 1])
def test_sound_records_of_older_formats_are_refused_and_not_cut(magic: int) -> None:
    body = bytes([magic]) + bytes(magic * 8 + 1) + b"\xff" * 8
    message = bytes(8) + (len(body) + 4).to_bytes(4, "big") + crc32(body).to_bytes(4, "big") + body
    files = MemoryFiles()
    files.make_folder(FOLDER)
    files.replace(f"{FOLDER}/{segment_name(0)}", message)
    with pytest.raises(CorruptRecordError, match="magic 0 or 1 at 0"):
        open_log(files)
    assert files.size(f"{FOLDER}/{segment_name(0)}") == len(message)
    damage(files, segment_name(0), len(message) - 1)
    assert open_log(files).cuts[0].size_bytes == len(message)


def test_a_tail_of_zeros_is_cut() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    files.open(f"{FOLDER}/{segment_name(0)}").append(bytes(500))
    assert open_log(files).cuts[0].size_bytes == 500


def test_a_file_that_changes_behind_our_back_is_noticed() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    log.release_files()
    files.open(f"{FOLDER}/{segment_name(0)}").append(b"?")
    with pytest.raises(InvariantError, match="has 80 bytes, not 79"):
        append(log)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("at", [0, -1], ids=["first segment", "last segment"])
def test_a_wrong_last_entry_of_an_index_neither_hides_a_record_nor_stops_the_log(
    suffix: str, at: int
) -> None:
    files = MemoryFiles()
    config = TopicConfig(segment_bytes=1500, index_interval_bytes=100)
    log = open_log(files, config=config)
    for number in range(36):
        append_at(log, NOW + 10 * number)
    log.close()
    name = segment_name(log.segments[at].base_offset, suffix)
    content = files.open_read(f"{FOLDER}/{name}").read(0, 9999)
    entry = 8 if suffix == ".index" else 12
    assert len(content) > entry
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 0x55
        files.replace(f"{FOLDER}/{name}", bytes(changed))
        again = open_log(files, config=config, clean=True)
        for number in (0, 3, 14, 15, 27, 35) if position >= len(content) - entry else ():
            found = again.offset_for_timestamp(TimestampMs(NOW + 10 * number))
            assert found is not None
            assert found.offset == number, position
            assert again.read(
                Offset(number), max_bytes=100, max_offset=Offset(36), first_batch_whole=True
            ).size_bytes
        assert again.end_offset == 36
        segment = again.segments[at]
        segment.added(Offset(36), Offset(36), TimestampMs(NOW + 999), 200)
        segment.added(Offset(37), Offset(37), TimestampMs(NOW + 1000), 200)
        segment.indexes.seal()


def append_at(log: PartitionLog, timestamp: int) -> None:
    batch = build_batch([Record(b"k", b"v", (), TimestampMs(timestamp))])
    append_as_leader(log, memoryview(batch), leader_epoch=LeaderEpoch(0), now=NOW)


@pytest.mark.parametrize("clean", [True, False])
def test_segments_that_overlap_are_refused_and_left_alone(*, clean: bool) -> None:
    files = MemoryFiles()
    log = open_log(files)
    for _ in range(12):
        append(log)
    log.close()
    last = log.segments[-1]
    content = files.open_read(last.name).read(0, last.size)
    between = f"{FOLDER}/{segment_name(last.base_offset + 1)}"
    files.replace(between, content)
    with pytest.raises(CorruptRecordError, match=rf"{between} begins at offset \d+, and .*ends at"):
        open_log(files, clean=clean)
    assert files.open_read(between).read(0, 9999) == content
    assert files.size(last.name) == len(content)


@pytest.mark.parametrize("is_there", [True, False], ids=["empty", "missing"])
def test_what_is_gone_after_a_clean_stop_is_told(*, is_there: bool) -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    log.close()
    if is_there:
        files.open(f"{FOLDER}/{segment_name(0)}").truncate(0)
    else:
        files.remove(f"{FOLDER}/{segment_name(0)}")
    again = open_log(files, clean=True, recovery_point=1)
    assert again.end_offset == 0
    place = f"{FOLDER}/{segment_name(0)}" if is_there else FOLDER
    assert [str(cut) for cut in again.cuts] == [
        f"{place} lost what stood from byte 0 on: the log ends at offset 0, and was synced up to 1"
    ]


def test_a_log_that_ends_below_its_start_tells_what_went() -> None:
    files = MemoryFiles()
    log = open_log(files)
    append(log)
    log.close()
    (cut,) = open_log(files, log_start_offset=50).cuts
    assert cut.reason == "the log ends at offset 1, below its start at 50"
    assert cut.size_bytes == log.size_bytes


def test_segments_that_a_recovery_dropped_do_not_come_back() -> None:
    files = MemoryFiles(models_crashes=True)
    log = open_log(files)
    while len(log.segments) == 1:
        append(log)
    files.sync_folder("")
    files.sync_folder(FOLDER)
    first = f"{FOLDER}/{segment_name(0)}"
    files.crash(lambda path, unsynced: 0 if path == first else unsynced)
    large = TopicConfig()
    log = open_log(files, config=large)
    assert log.end_offset == 0
    append(log, 20)
    files.crash(lambda path, unsynced: unsynced)
    log = open_log(files, config=large)
    assert [segment.name for segment in log.segments] == [f"{FOLDER}/{segment_name(0)}"]


@pytest.mark.parametrize("has_indexes", [True, False])
def test_a_batch_that_stands_there_twice_after_a_clean_stop_is_cut(has_indexes: bool) -> None:
    files = MemoryFiles()
    log = open_log(files, config=TopicConfig())
    append(log, 3)
    sound = all_bytes(log)
    log.close()
    path = f"{FOLDER}/{segment_name(0)}"
    files.replace(path, sound * 2)
    if not has_indexes:
        files.remove(f"{FOLDER}/{segment_name(0, '.timeindex')}")
    log = open_log(files, clean=True, config=TopicConfig())
    (cut,) = log.cuts
    assert (cut.position, cut.size_bytes) == (len(sound), len(sound))
    assert log.end_offset == 3
    assert all_bytes(log) == sound
