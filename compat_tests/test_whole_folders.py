"""A whole data folder goes from kafkalite to the real Kafka and back, and from the real Kafka to
kafkalite, after clean stops and after SIGKILL. Whoever takes it over serves all that was there. The
broker that had it before has cleaned the compacted topic, and the next one goes on from there."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.cli.command_line import CommandLine
from compat_tests.cluster_contents import (
    COMPACTED,
    Contents,
    End,
    add_one_to_each,
    contents,
    fill,
)
from compat_tests.process import KafkaliteProcess
from compat_tests.real_kafka import RealKafka
from compat_tests.waiting import wait_until
from kafkalite.log.checkpoints import CLEANER_OFFSETS, read_offsets
from kafkalite.log.files_os import OsFiles
from kafkalite.log.scan import scan_batches
from kafkalite.types import TopicPartition

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

SOON = {
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.initial.task.delay.ms": "0",
    "log.cleaner.backoff.ms": "50",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}
"""Recovery points are on the disk before the kill: Kafka complains of segments below them that have
no index. And the metadata has snapshots, as that of `start_kafka` has."""


@pytest.fixture
def kafkalite(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch)


def end_kafkalite(broker: KafkaliteProcess, how: End) -> None:
    assert (broker.stop() if how == "stopped" else broker.kill()) in (0, -signal.SIGKILL)


def cleaned_to(data: Path) -> int:
    """As its checkpoint has it."""
    return read_offsets(OsFiles(str(data)), CLEANER_OFFSETS).get(TopicPartition(COMPACTED, 0), 0)


def wait_for_holes(data: Path) -> int:
    """All closed segments of the compacted topic are cleaned, and the disk has it: up to where."""
    logs = data / f"{COMPACTED}-0"

    def is_cleaned() -> bool:
        return cleaned_to(data) == max(int(log.stem) for log in logs.glob("*.log")) > 0

    wait_until(is_cleaned, "the cleaner")
    files, headers = OsFiles(str(logs)), []
    for log in sorted(logs.glob("*.log")):
        file = files.open_read(log.name)
        headers += [batch.header for batch in scan_batches(file, 0, file.size)]
        file.close()
    assert headers[0].base_offset > 0, "the first of all were superseded"
    assert sum(header.records_count for header in headers) < 25, "of 60 with seven keys"
    return cleaned_to(data)


def check_grown(kafkalite: CommandLine, address: str, before: Contents) -> Contents:
    """Everything takes one more record; what was there is there. What it holds then."""
    add_one_to_each(address)
    grown = contents(kafkalite, address)
    for topic, records in before.records.items():
        if not topic.startswith("__"):
            last = [record for record in grown.records[topic] if record["key"] == "last"]
            assert len(last) == sum(record["key"] == "last" for record in records) + 1 or (
                topic == "compacted"
            )
            assert [record for record in grown.records[topic] if record not in last] == [
                record for record in records if record["key"] != "last"
            ]
    return grown


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_kafka_takes_over_what_kafkalite_left_and_the_reverse(
    tmp_path: Path,
    how: End,
    kafkalite: CommandLine,
    start_kafkalite: Callable[..., KafkaliteProcess],
    start_kafka: Callable[[Path], RealKafka],
) -> None:
    data = tmp_path / "logs"
    ours = start_kafkalite(data, settings=SOON)
    fill(kafkalite, ours.address)
    cleaned = wait_for_holes(data)
    before = contents(kafkalite, ours.address)
    assert len(list((data / "segmented-0").glob("*.log"))) > 1
    assert len(list((data / "__cluster_metadata-0").glob("*.checkpoint"))) > 1
    end_kafkalite(ours, how)
    theirs = start_kafka(tmp_path)
    assert theirs.has_waited == (how == "killed")
    taken_over = contents(kafkalite, theirs.address)
    assert taken_over.after(how) == before.after(how)
    grown = check_grown(kafkalite, theirs.address, taken_over)
    theirs.end(how)
    assert "\n".join(theirs.complaints()) == ""
    assert cleaned_to(data) >= cleaned
    again = start_kafkalite(data)
    given_back = contents(kafkalite, again.address)
    assert given_back.after(how) == grown.after(how)
    check_grown(kafkalite, again.address, given_back)
    end_kafkalite(again, "stopped")
    kafkalite("verify-log", str(data))


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_kafkalite_takes_over_what_kafka_left(
    tmp_path: Path,
    how: End,
    kafkalite: CommandLine,
    start_kafkalite: Callable[..., KafkaliteProcess],
    start_kafka: Callable[[Path], RealKafka],
) -> None:
    theirs = start_kafka(tmp_path)
    fill(kafkalite, theirs.address)
    cleaned = wait_for_holes(tmp_path / "logs")
    before = contents(kafkalite, theirs.address)
    theirs.end(how)
    metadata = tmp_path / "logs" / "__cluster_metadata-0"
    assert len(list(metadata.glob("*.checkpoint"))) > 1, "that of the format, and snapshots"
    ours = start_kafkalite(tmp_path / "logs")
    taken_over = contents(kafkalite, ours.address)
    assert taken_over.after(how) == before.after(how)
    check_grown(kafkalite, ours.address, taken_over)
    end_kafkalite(ours, "stopped")
    kafkalite("verify-log", str(tmp_path / "logs"))
    assert cleaned_to(tmp_path / "logs") >= cleaned
