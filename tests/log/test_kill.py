"""What was acknowledged before a SIGKILL is there after it, once and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log import opening
from kafkalite.log.files_os import OsFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.scan import scan_batches
from kafkalite.protocol.records.batch import crc_is_valid
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import LeaderEpoch, ProducerEpoch, ProducerId, TimestampMs, Uuid

NOW = TimestampMs(1_700_000_000_000)
KILLED_AFTER = (1_013, 9_973, 4_099, 6_007)
"""Bytes that the child has said, in turn; where in an append the signal strikes is chance."""


def open_log(root: str) -> PartitionLog:
    return opening.open_log(
        OsFiles(root),
        "killed-0",
        config=TopicConfig(segment_bytes=20_000, index_interval_bytes=500),
        topic_id=Uuid(b"killed killed ki"),
        now=NOW,
        clean=False,
    )


def append_until_killed(root: str) -> None:
    """The child: appends, and says each offset only after it was appended."""
    log = open_log(root)
    state = log.producers.get(ProducerId(1))
    sequence = 0 if state is None else state.last_sequence + 1
    while True:
        offset = log.end_offset
        batch = build_batch(
            [Record(b"%d" % offset, b"v" * (offset % 400), (), NOW)],
            producer_id=ProducerId(1),
            producer_epoch=ProducerEpoch(0),
            base_sequence=sequence,
        )
        append_as_leader(log, memoryview(batch), leader_epoch=LeaderEpoch(0), now=NOW)
        sequence += 1
        os.write(1, b"%d\n" % offset)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged = 0
    for wanted in KILLED_AFTER:
        child = subprocess.Popen(
            [sys.executable, __file__, str(tmp_path)], stdout=subprocess.PIPE, bufsize=0
        )
        assert child.stdout is not None
        said = b""
        while len(said) < wanted:
            said += child.stdout.read(1024)
        child.send_signal(signal.SIGKILL)
        said += child.stdout.read()
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        offsets = [int(line) for line in said[: said.rindex(b"\n")].split()]
        assert offsets == list(range(acknowledged, acknowledged + len(offsets)))
        log = open_log(str(tmp_path))
        assert offsets[-1] < log.end_offset <= offsets[-1] + 2
        check_all(log)
        acknowledged = log.end_offset
        log.release_files()
    assert len(log.segments) > 3


def check_all(log: PartitionLog) -> None:
    expected = 0
    for segment in log.segments:
        for batch in scan_batches(segment.file, 0, segment.size):
            assert crc_is_valid(batch.buffer, batch.at, batch.header)
            (record,) = read_records(batch.buffer, batch.at, batch.header)
            assert (record.offset, record.key) == (expected, b"%d" % expected)
            assert batch.header.base_sequence == expected
            expected += 1
    assert expected == log.end_offset


if __name__ == "__main__":
    append_until_killed(sys.argv[1])
