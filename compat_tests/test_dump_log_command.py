"""kafkalite's `dump-log` and Kafka's own say the same, line by line, of folders that Kafka began
and kafkalite went on with, and of those that a kafkalite broker made. Neither finds anything
wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.cli.command_line import CommandLine
from compat_tests.cluster_contents import fill
from compat_tests.process import KafkaliteProcess
from kafkalite.config.views import TopicConfig
from kafkalite.log.files_os import OsFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.opening import open_log
from kafkalite.log.scan import scan_batches
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import ZERO_UUID, LeaderEpoch, Offset, ProducerEpoch, ProducerId
from tests.cli.dump_log_sections import COMPLAINTS, in_sections
from tests.log.golden_folders import LOG_START_OFFSETS, NAMES, NOW, ROOT

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

HERE = Path(__file__).parent
SUFFIXES = {".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"}
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
WRONG = (*COMPLAINTS[:-1], "Found ", "Exception")


def append_to(root: Path, name: str) -> None:
    """What its last plain batch holds once more, in every codec, and by an idempotent producer."""
    log = open_log(
        OsFiles(str(root)),
        name,
        config=TopicConfig(index_interval_bytes=256),
        topic_id=ZERO_UUID,
        now=NOW,
        clean=True,
        log_start_offset=LOG_START_OFFSETS.get(name, Offset(0)),
    )
    records = [Record(b"key", b"value", (), NOW)]
    for segment in log.segments:
        for batch in scan_batches(segment.file, 0, segment.size):
            if not batch.header.is_control and not batch.header.is_transactional:
                found = read_records(batch.buffer, batch.at, batch.header)
                records = [
                    Record(r.key, None if r.value is None else bytes(r.value), r.headers, NOW)
                    for r in found
                ]
    producer = ProducerId(77)
    for sequence, compression in enumerate(Compression):
        for batch_bytes in (
            build_batch(records, compression=compression),
            build_batch(
                records,
                producer_id=producer,
                producer_epoch=ProducerEpoch(0),
                base_sequence=sequence * len(records),
            ),
        ):
            epoch = LeaderEpoch(log.epochs.latest + (sequence == 2))
            append_as_leader(log, memoryview(batch_bytes), leader_epoch=epoch, now=NOW)
    log.close()


def files_of(folder: Path) -> list[Path]:
    """Kafka's tool cannot read an empty index, so those stay out."""
    return sorted(
        path for path in folder.iterdir() if path.suffix in SUFFIXES and path.stat().st_size
    )


def arguments(root: Path, plain: str) -> list[list[str]]:
    """What to run on all partitions below: each once with its records, `plain` on those that have
    no decoder, and the indexes of all in each of the two ways to check them."""
    runs: list[list[str]] = []
    indexes: list[str] = []
    by_option: dict[str, list[str]] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        names = [str(path) for path in files_of(folder)]
        option = DECODERS.get(folder.name.rpartition("-")[0], plain)
        by_option.setdefault(option, []).extend(names)
        indexes += [name for name in names if name.endswith("index") and "txn" not in name]
    for option, names in by_option.items():
        runs.append([option, "--files", ",".join(names)])
    for option in ("--index-sanity-check", "--verify-index-only"):
        runs.append([option, "--files", ",".join(indexes)])
    return runs


def test_both_say_the_same_and_find_nothing_wrong(
    tmp_path: Path,
    start_kafkalite: Callable[..., KafkaliteProcess],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafkalite = CommandLine(capsys, monkeypatch)
    golden, made = tmp_path / "golden", tmp_path / "made"
    for name in NAMES:
        shutil.copytree(ROOT / name, golden / name)
        append_to(golden, name)
    shutil.copy(ROOT / "meta.properties", golden)
    broker = start_kafkalite(made)
    fill(kafkalite, broker.address)
    assert broker.stop() == 0
    # The records made here have bytes that are no text; the two spell these differently.
    runs = arguments(golden, "--print-data-log") + arguments(made, "--deep-iteration")
    listed = tmp_path / "runs"
    listed.write_text("\n".join(" ".join(run) for run in runs))
    done = subprocess.run(
        [HERE / "oracle" / "kafka", "java", str(HERE / "DumpLogs.java"), str(listed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # Where it says what does not fit.
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:]
    told = done.stdout.split("## ")[1:]
    assert len(told) == len(runs)
    for run, theirs in zip(runs, told, strict=True):
        ours = kafkalite("dump-log", *run[:-2], *run[-1].split(","))
        assert in_sections(ours.splitlines()) == in_sections(theirs.splitlines()[1:])
        assert not any(line.startswith(WRONG) for line in ours.splitlines())
        assert "isvalid: false" not in ours
    for folder in (golden, made):
        kafkalite("verify-log", str(folder))
