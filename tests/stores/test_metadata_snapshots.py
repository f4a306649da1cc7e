"""Snapshots that are written while the log is in use, and what goes from it then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count

import pytest

from kafkalite.errors import InvariantError
from kafkalite.log.directory_set import LogFolderFailedError
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.retired_files import DELETED_SUFFIX, RetiredFiles
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    DelegationTokenRecord,
    PartitionChangeRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from kafkalite.stores import metadata_log, replay
from kafkalite.stores.checkpoint import find_checkpoints, read_checkpoint
from kafkalite.stores.metadata_limits import MetadataLogLimits
from kafkalite.stores.metadata_log import FOLDER, MetadataLog
from kafkalite.stores.new_snapshot import NewSnapshot
from kafkalite.testing.faults import ProcessFiles
from kafkalite.types import BrokerId, ControllerEpoch, TimestampMs
from tests.log.crash_ends import ENDS, End
from tests.log.refusing_disk import RefusingRenames
from tests.log.test_crash_points import MOST_STEPS
from tests.metadata.sample_changes import credential, partition, topic, uuid

NOW = TimestampMs(1_700_000_000_000)
NEWEST_ALONE = MetadataLogLimits(retention_bytes=0)


def open_log(
    files: Files, limits: MetadataLogLimits = NEWEST_ALONE, *, clean: bool = False
) -> MetadataLog:
    return MetadataLog.open(
        files,
        node_id=BrokerId(1),
        directory_id=uuid(9),
        now=NOW,
        clean=clean,
        formatted_with=[],
        limits=limits,
    )


def image_in(files: Files, log: MetadataLog) -> MetadataImage:
    """What the log says, by reading it."""
    return replay.replay(
        files,
        FOLDER,
        end_offset=log.end_offset,
        epoch=ControllerEpoch(1),
        controller_id=BrokerId(1),
    ).image


def begun(files: Files, log: MetadataLog, now: TimestampMs = NOW) -> NewSnapshot:
    return log.begin_snapshot(image_in(files, log), now)


def finish(snapshot: NewSnapshot) -> None:
    while snapshot.write_next():
        pass
    snapshot.install()


def commit(log: MetadataLog, *names: str) -> None:
    for name in names:
        number = int(name[1:]) + 1
        log.append([topic(name, number), partition(number, 0, [1])], NOW)


def names(files: Files) -> list[str]:
    """Of segments and checkpoints."""
    return [n for n in files.list(FOLDER) if n.endswith((".log", ".checkpoint"))]


def led(files: Files, limits: MetadataLogLimits = NEWEST_ALONE) -> MetadataLog:
    log = open_log(files, limits)
    log.begin_epoch(NOW)
    return log


def test_a_snapshot_is_due_after_so_many_bytes() -> None:
    files = MemoryFiles()
    log = led(files, MetadataLogLimits(snapshot_bytes=1_000, snapshot_interval_ms=0))
    before = files.size(f"{FOLDER}/{0:020}.log")
    for number in count():
        assert log.wants_snapshot(TimestampMs(NOW + 10**12)) == (
            files.size(f"{FOLDER}/{0:020}.log") >= 1_000
        )
        if log.wants_snapshot(NOW):
            break
        commit(log, f"t{number}")
    assert before < 1_000
    again = open_log(files, MetadataLogLimits(snapshot_bytes=1_000))
    assert again.wants_snapshot(NOW), "what a start has read counts"
    begun(files, again)
    assert not again.wants_snapshot(NOW)


def test_a_snapshot_is_due_after_so_long() -> None:
    files = MemoryFiles()
    log = led(files, MetadataLogLimits(snapshot_interval_ms=500))
    later = TimestampMs(NOW + 500)
    assert not log.wants_snapshot(TimestampMs(NOW + 499))
    assert log.wants_snapshot(later)
    begun(files, log, later)
    assert not log.wants_snapshot(TimestampMs(later + 499))
    assert log.wants_snapshot(TimestampMs(later + 500))


def test_a_start_that_has_read_many_records_wants_one(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    log = led(files)
    commit(log, "t1")
    for _ in range(20):
        log.append([PartitionChangeRecord(partition_id=0, topic_id=uuid(2), leader=1)], NOW)
    assert not open_log(files).wants_snapshot(NOW)
    monkeypatch.setattr(metadata_log, "SNAPSHOT_AFTER", 20)
    log = open_log(files)
    assert log.wants_snapshot(NOW)
    finish(begun(files, log))
    assert not open_log(files).wants_snapshot(NOW)


def test_no_start_wants_one_that_would_save_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    commit(led(files), *(f"t{n}" for n in range(20)))
    monkeypatch.setattr(metadata_log, "SNAPSHOT_AFTER", 20)
    assert not open_log(files).wants_snapshot(NOW)


def test_none_is_due_while_a_transaction_is_open() -> None:
    files = MemoryFiles()
    led(files).append([BeginTransactionRecord()], NOW)
    log = open_log(files, MetadataLogLimits(snapshot_bytes=1))
    assert not log.wants_snapshot(NOW)
    log.begin_epoch(NOW)
    assert log.wants_snapshot(NOW)


def test_the_next_start_reads_the_snapshot_and_what_came_after_it_was_begun() -> None:
    files = MemoryFiles()
    log = led(files)
    commit(log, "t0", "t1")
    end_offset = log.end_offset
    snapshot = begun(files, log)
    assert snapshot.write_next()
    commit(log, "t2")
    finish(snapshot)
    assert names(files) == [
        f"{0:020}-{0:010}.checkpoint",
        f"{0:020}.log",
        f"{end_offset:020}-{1:010}.checkpoint",
        f"{end_offset:020}.log",
    ]
    log.close()
    files.remove(f"{FOLDER}/{0:020}.log")
    assert list(open_log(files, clean=True).image.topics) == ["t0", "t1", "t2"]


def test_no_snapshot_of_another_moment() -> None:
    files = MemoryFiles()
    log = led(files)
    image = image_in(files, log)
    commit(log, "t0")
    with pytest.raises(InvariantError, match="is none of"):
        log.begin_snapshot(image, NOW)


def test_what_the_image_does_not_keep_is_in_the_snapshot_all_the_same() -> None:
    files = MemoryFiles()
    log = led(files)
    kept = DelegationTokenRecord(token_id="1", owner="alice", max_timestamp=2)
    for change in (
        DelegationTokenRecord(token_id="1", owner="alice", max_timestamp=1),
        DelegationTokenRecord(token_id="2", owner="bob"),
        RemoveDelegationTokenRecord(token_id="2"),
        kept,
    ):
        log.append([change], NOW)
    for _ in range(2):  # The second is of what was read from the first.
        finish(begun(files, log))
        assert [c for c in newest_snapshot(files) if isinstance(c, TOKENS)] == [kept]
        log = open_log(files)
        log.begin_epoch(NOW)


TOKENS = (DelegationTokenRecord, RemoveDelegationTokenRecord)


def newest_snapshot(files: Files) -> list[Change]:
    path = f"{FOLDER}/{find_checkpoints(files, FOLDER)[-1].name}"
    return list(read_checkpoint(files, path))


def test_credentials_are_in_the_snapshot_as_they_were_set_last() -> None:
    files = MemoryFiles()
    log = led(files)
    for change in (
        credential("alice", salt=b"old"),
        credential("bob"),
        credential("alice", salt=b"new"),
        RemoveUserScramCredentialRecord(name="bob", mechanism=1),
    ):
        log.append([change], NOW)
    image = image_in(files, log)
    finish(begun(files, log))
    newest = [c for c in newest_snapshot(files) if isinstance(c, UserScramCredentialRecord)]
    assert newest == [credential("alice", salt=b"new")]
    log.close()
    files.remove(f"{FOLDER}/{0:020}.log")
    again = open_log(files, clean=True).image
    assert again.scram_credentials == image.scram_credentials
    assert len(again.scram_credentials) == 1


def test_a_commit_is_one_batch_though_it_is_larger_than_a_segment() -> None:
    files, limits = MemoryFiles(), MetadataLogLimits(segment_bytes=1_000)
    log = led(files, limits)
    topics = [topic(f"t{number}", number + 1) for number in range(100)]
    log.append(topics, NOW)
    commit(log, "t100")
    assert len([name for name in names(files) if name.endswith(".log")]) == 3
    assert len(open_log(files, limits).image.topics) == 101


# Cleaning.


def with_snapshots(files: Files, limits: MetadataLogLimits, times: int) -> MetadataLog:
    """A topic before each, made an hour after the one before."""
    log = led(files, limits)
    for number in range(times):
        commit(log, f"t{number}")
        finish(begun(files, log, TimestampMs(NOW + 3_600_000 * number)))
    return log


def test_while_all_is_larger_than_the_limit_the_oldest_goes() -> None:
    files = MemoryFiles()
    with_snapshots(files, MetadataLogLimits(), 4)
    found = find_checkpoints(files, FOLDER)
    sizes = {name: files.size(f"{FOLDER}/{name}") for name in names(files)}
    limit = sum(sizes.values()) - sizes[found[0].name] - sizes[f"{0:020}.log"] - 1
    log = open_log(files, MetadataLogLimits(retention_bytes=limit, retention_ms=-1))
    for each in log.clean(NOW):
        each.remove()
    kept = [each.name for each in found[2:]]
    assert kept == [name for name in names(files) if name.endswith(".checkpoint")]
    assert [name for name in names(files) if name.endswith(".log")] == [
        f"{each.end_offset:020}.log" for each in found[2:]
    ]
    assert log.clean(NOW) == []


def test_a_snapshot_that_is_too_old_goes_and_the_newest_stays() -> None:
    files = MemoryFiles()
    log = with_snapshots(files, MetadataLogLimits(retention_bytes=-1, retention_ms=1_000), 4)
    found = find_checkpoints(files, FOLDER)
    assert log.clean(NOW) == [], "what the cluster was formatted with counts, and is not older"
    log.clean(TimestampMs(NOW + 3_600_000 + 1_000))
    assert find_checkpoints(files, FOLDER) == found[2:]
    log.clean(TimestampMs(NOW + 3_600_000 * 1_000))
    assert find_checkpoints(files, FOLDER) == found[-1:]
    assert list(open_log(files).image.topics) == ["t0", "t1", "t2", "t3"]


def test_what_went_is_told_whichever_rename_the_disk_refuses() -> None:
    for at in count():
        files = RefusingRenames()
        log = with_snapshots(files, MetadataLogLimits(retention_bytes=-1, retention_ms=1_000), 4)
        newest = find_checkpoints(files, FOLDER)[-1:]
        files.left = at
        later = TimestampMs(NOW + 3_600_000 * 1_000)
        found: list[RetiredFiles] = []
        with suppress(OSError):
            found += log.clean(later)
        assert len(found) > 0 or at == 0
        was_refused = files.has_refused
        files.left = None
        found += log.clean(later)
        for each in found:
            each.remove()
        assert find_checkpoints(files, FOLDER) == newest
        assert not [name for name in files.list(FOLDER) if name.endswith(DELETED_SUFFIX)]
        if not was_refused:
            assert at > 5
            return


def test_nothing_goes_without_a_limit() -> None:
    files = MemoryFiles()
    log = with_snapshots(files, MetadataLogLimits(retention_bytes=-1, retention_ms=-1), 3)
    before = files.list(FOLDER)
    assert log.clean(TimestampMs(NOW + 10**12)) == []
    assert files.list(FOLDER) == before


def test_nothing_goes_before_there_is_a_snapshot() -> None:
    files = MemoryFiles()
    log = led(files)
    commit(log, "t0")
    log._log.roll(NOW)
    assert log.clean(NOW) == []


def test_a_start_removes_what_a_stop_has_left() -> None:
    files = MemoryFiles()
    log = with_snapshots(files, NEWEST_ALONE, 2)
    first = find_checkpoints(files, FOLDER)[1].name
    content = files.open_read(f"{FOLDER}/{first}").read(0, 1 << 20)
    begun(files, log).write_next()
    log.clean(NOW)
    files.replace(f"{FOLDER}/{first}", content)  # A loss of power has undone its new name.
    assert [n for n in files.list(FOLDER) if n.endswith((".part", ".deleted"))]
    open_log(files)
    assert not [n for n in files.list(FOLDER) if n.endswith((".part", ".deleted"))]
    assert len(find_checkpoints(files, FOLDER)) == 1


def test_old_metadata_that_is_damaged_does_not_matter_below_a_snapshot() -> None:
    files = MemoryFiles()
    with_snapshots(files, MetadataLogLimits(), 2)
    first = next(name for name in names(files) if name.endswith(".log"))
    files.open(f"{FOLDER}/{first}").write_at(100, b"\xff\xff")
    assert list(open_log(files).image.topics) == ["t0", "t1"]
    files.open(f"{FOLDER}/{names(files)[-1]}").append(b"torn")
    assert list(open_log(files).image.topics) == ["t0", "t1"]


def test_it_stays_small_while_topics_come_and_go_for_long() -> None:
    files = MemoryFiles()
    limits = MetadataLogLimits(snapshot_bytes=2_000, retention_bytes=6_000)
    log = led(files, limits)
    most = 0
    for number in range(500):
        commit(log, f"t{number}")
        log.append([RemoveTopicRecord(topic_id=uuid(number + 1))], NOW)
        if log.wants_snapshot(NOW):
            finish(begun(files, log))
            for each in log.clean(NOW):
                each.remove()
        most = max(most, sum(files.size(f"{FOLDER}/{name}") for name in files.list(FOLDER)))
    assert most < 6_000 + 2 * 2_000
    assert not open_log(files).image.topics


# Crash points.


def test_a_snapshot_that_is_installed_is_on_the_disk() -> None:
    files = MemoryFiles(models_crashes=True)
    log = led(files)
    commit(log, "t0")
    finish(begun(files, log))
    files.crash()
    assert find_checkpoints(files, FOLDER)[-1].end_offset == log.end_offset


def history(files: Files, told: list[str]) -> Iterator[MetadataLog]:
    """A commit before the snapshot, during it, and after; `told`: what was committed."""
    log = led(files)
    commit(log, "t0")
    finish(begun(files, log))
    commit(log, "t1")
    log.sync()
    told += ["t0", "t1"]
    yield log
    commit(log, "t2")
    told.append("t2")
    snapshot = begun(files, log)
    snapshot.write_next()
    commit(log, "t3")
    told.append("t3")
    finish(snapshot)
    for each in log.clean(NOW):
        each.remove()
    commit(log, "t4")
    told.append("t4")


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_a_crash_before_each_operation_of_a_snapshot_and_of_cleaning(end: End) -> None:
    for steps in count(1):
        assert steps < MOST_STEPS
        disk = MemoryFiles(models_crashes=True)
        files = ProcessFiles(disk, SeededEntropy(steps), on_death=lambda: None)
        told: list[str] = []
        acts = history(files, told)
        next(acts)
        safe = len(told)
        files.die_within(steps)
        with suppress(OSError, LogFolderFailedError, StopIteration):
            next(acts)
        has_died = files.is_dead
        files.die()
        end.come(disk)
        log = open_log(disk)
        found = list(log.image.topics)
        least = safe if end.kept is not None else len(told)
        assert len(found) >= least
        assert found == ["t0", "t1", "t2", "t3", "t4"][: len(found)]
        assert not [n for n in disk.list(FOLDER) if n.endswith((".part", ".deleted", ".tmp"))]
        log.begin_epoch(NOW)
        commit(log, "t9")
        finish(begun(disk, log))
        for each in log.clean(NOW):
            each.remove()
        log.close()
        assert list(open_log(disk, clean=True).image.topics) == [*found, "t9"]
        assert len(find_checkpoints(disk, FOLDER)) == 1
        if not has_died:
            assert steps > 15, "there was little to die at"
            return


def test_a_disk_that_refuses_leaves_the_log_as_it_was() -> None:
    disk = MemoryFiles()
    files = ProcessFiles(disk, SeededEntropy(1), on_death=lambda: None)
    log = led(files)
    commit(log, "t0")
    image = image_in(files, log)
    log.sync()
    before = disk.list(FOLDER)
    files.refusal_probability = 1.0
    with pytest.raises(OSError, match="refuses"):
        log.begin_snapshot(image, NOW)
    files.spare()
    assert disk.list(FOLDER) == before
    assert not log.wants_snapshot(NOW), "not again with each commit"
    commit(log, "t1")
    assert list(open_log(disk).image.topics) == ["t0", "t1"]
