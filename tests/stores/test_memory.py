"""What the memory store does beyond the contract (`tests/metadata/test_store.py`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import (
    CommitFailed,
    CommitFailure,
    CommitResult,
    Committed,
    Elected,
    StoreEvent,
)
from kafkalite.stores.memory import MemoryStore
from kafkalite.stores.metadata_log import MetadataLog
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId, TimestampMs
from tests.controller.sample_cluster import uuid
from tests.metadata.sample_changes import topic


class FullDisk(MetadataLog):
    """A log whose disk is full while `is_full`."""

    is_full = False

    def append(self, changes: object, now: TimestampMs) -> object:  # type: ignore[override]  # as is.
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().append(changes, now)  # type: ignore[arg-type]  # passed on as it came.

    def begin_epoch(self, now: TimestampMs) -> object:  # type: ignore[override]  # as is.
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().begin_epoch(now)


def open_log(files: MemoryFiles, cls: type[MetadataLog] = MetadataLog) -> MetadataLog:
    return cls.open(
        files,
        node_id=BrokerId(1),
        directory_id=uuid(1),
        now=TimestampMs(0),
        clean=False,
        formatted_with=(),
    )


def start(store: MemoryStore, heard: list[StoreEvent]) -> Callable[..., CommitResult]:
    """A session that is elected; gives what commits changes."""
    session = store.open_session(BrokerId(1), heard.append)
    session.run_for_controller()
    (elected,) = (event for event in heard if isinstance(event, Elected))

    def commit(*changes: Change) -> CommitResult:
        results: list[CommitResult] = []
        session.commit(elected.epoch, changes, results.append)
        return results[0]

    return commit


def test_what_was_committed_survives_the_death_of_the_process() -> None:
    """Nothing is closed; what was written stays, as page cache does."""
    files = MemoryFiles()
    store = MemoryStore("c", SteerableClock(), open_log(files))
    commit = start(store, [])
    commit(topic("t", 1))
    again = MemoryStore("c", SteerableClock(), open_log(files))
    assert again.image.topics == store.image.topics
    assert again.image.controller_id == -1, "nobody is elected yet"
    heard: list[StoreEvent] = []
    start(again, heard)
    assert again.image.epoch == store.image.epoch + 1
    assert heard == [Elected(again.image.epoch)]


def test_a_disk_that_refuses_a_commit() -> None:
    log = open_log(MemoryFiles(), FullDisk)
    assert isinstance(log, FullDisk)
    store = MemoryStore("c", SteerableClock(), log)
    commit = start(store, [])
    log.is_full = True
    assert commit(topic("t", 1)) == CommitFailed(
        CommitFailure.STORAGE, "[Errno 28] No space left on device"
    )
    assert store.image.topics == {}
    log.is_full = False
    commit(topic("t", 1))
    assert list(store.image.topics) == ["t"]


def test_a_disk_that_refuses_an_election(caplog: pytest.LogCaptureFixture) -> None:
    log = open_log(MemoryFiles(), FullDisk)
    assert isinstance(log, FullDisk)
    log.is_full = True
    store = MemoryStore("c", SteerableClock(), log)
    heard: list[StoreEvent] = []
    one = store.open_session(BrokerId(1), heard.append)
    with pytest.raises(OSError, match="No space left"):
        one.run_for_controller()
    log.is_full = False
    one.run_for_controller()
    assert len(heard) == 1
    two = store.open_session(BrokerId(2), heard.append)
    two.run_for_controller()
    log.is_full = True
    one.close()
    assert len(heard) == 1
    assert "there is no controller" in caplog.text
    log.is_full = False
    two.run_for_controller()
    assert len(heard) == 2


def test_a_watcher_that_fails_neither_undoes_a_commit_nor_starves_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What is in the log is committed, whatever those do who are told of it."""
    store = MemoryStore("c", SteerableClock(), open_log(MemoryFiles()))
    commit = start(store, [])

    def fail(image: MetadataImage, delta: MetadataDelta) -> None:
        if image.topics:
            raise OSError(28, "No space left on device")

    seen: list[list[str]] = []
    bad = store.open_session(BrokerId(2), lambda event: None)
    bad.watch(fail)
    bad.watch(lambda image, delta: seen.append(list(image.topics)))
    good = store.open_session(BrokerId(3), lambda event: None)
    good.watch(lambda image, delta: seen.append(list(image.topics)))
    seen.clear()
    assert isinstance(commit(topic("t", 1)), Committed)
    assert seen == [["t"], ["t"]]
    assert "broker 2" in caplog.text


def test_each_change_has_an_offset() -> None:
    store = MemoryStore("cluster", SteerableClock())
    session = store.open_session(BrokerId(1), lambda event: None)
    session.run_for_controller()
    ends: list[int] = []

    def done(result: CommitResult) -> None:
        assert isinstance(result, Committed)
        ends.append(result.end_offset)

    epoch = store.image.epoch
    session.commit(epoch, (topic("t", 1),), done)
    session.commit(epoch, (topic("u", 2), topic("v", 3)), done)
    assert ends[1] == ends[0] + 2
