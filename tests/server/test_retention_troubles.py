"""What keeps retention from deleting segments is told once, until it is gone."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import Deletion
from kafkalite.server import retention_checks
from kafkalite.server.retention_checks import PER_TURN
from tests.server.running import Running, served

ONE_A_SEGMENT = {"internal.segment.bytes": "100"}


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_a_disk_that_refuses_is_told_once_and_asked_again(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for all partitions and looks, though records can be written meanwhile."""
    many = PER_TURN + 3
    await running.create("t", many, configs={**ONE_A_SEGMENT, "retention.bytes": "1"})

    renaming = running.files.rename

    def refuse(source: str, target: str, *, sync: bool = True) -> None:
        if source.startswith("t-"):
            raise OSError(13, "Permission denied", source)
        renaming(source, target, sync=sync)

    for first, following in ((0, 1), (1, 3)):
        for index in range(many):
            for _ in range(2):
                await running.produce("t", b"x", partition=index)
        caplog.clear()
        with monkeypatch.context() as broken:
            broken.setattr(running.files, "rename", refuse)
            for _ in range(3):
                await running.wait_ms(1_001)
                assert await running.produce("t", b"x") >= 0
        kept = [each for each in caplog.messages if "keeps segments that are too old" in each]
        assert len(kept) == 1
        assert kept[0].startswith("t-0 keeps segments that are too old: [Errno 13] Permission den")
        told = [each.getMessage() for each in caplog.records if each.levelname != "INFO"]
        assert told == kept, "no request is refused, and none is said to be"
        assert running.partition("t", many - 1).log.first_segment_offset == first
        await running.wait_ms(1_001)
        ends = {running.partition("t", index).log.first_segment_offset for index in range(1, many)}
        assert ends == {following}
    assert await running.read("t", 3, partition=many - 1) == [b"x"]


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_damage_that_keeps_segments_is_told_once_for_each_partition(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await running.create("t", 2, configs={**ONE_A_SEGMENT, "retention.bytes": "1"})

    def damaged(log: PartitionLog, **_: object) -> list[Deletion]:
        raise CorruptRecordError("no batch")

    for _ in range(2):
        caplog.clear()
        with monkeypatch.context() as broken:
            broken.setattr(retention_checks, "delete_old_segments", damaged)
            await running.wait_ms(5_000)
        assert caplog.messages == [
            f"t-{index} keeps segments that are too old: no batch" for index in range(2)
        ]
        await running.wait_ms(1_001)


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_damaged_logs_that_are_gone_are_forgotten(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.create("t", 2)

    def damaged(log: PartitionLog, **_: object) -> list[Deletion]:
        raise CorruptRecordError("no batch")

    (housekeeping,) = running.broker._housekeeping.values()
    checks = housekeeping._retention
    monkeypatch.setattr(retention_checks, "delete_old_segments", damaged)
    await running.wait_ms(1_001)
    assert len(checks._damaged) == 2
    await running.delete("t")
    await running.create("u")
    await running.wait_ms(1_001)
    assert checks._damaged == {running.partition("u").log}


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_files_that_cannot_be_removed_are_told_of_once(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    configs = {**ONE_A_SEGMENT, "retention.bytes": "1", "file.delete.delay.ms": "0"}
    await running.create("t", configs=configs)

    def refuse(path: str) -> None:
        raise OSError(13, "Permission denied", path)

    for _ in range(2):
        caplog.clear()
        with monkeypatch.context() as broken:
            broken.setattr(running.files, "remove", refuse)
            for _ in range(4):
                await running.produce("t", b"x")
                await running.wait_ms(1_001)
        told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert len(told) == 1
        assert told[0].startswith("a deleted segment stays until the next start: [Errno 13]")
        await running.produce("t", b"x")
        await running.wait_ms(1_001)
