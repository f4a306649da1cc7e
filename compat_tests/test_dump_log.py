"""Kafka's own dump-log reads what kafkalite wrote: every batch valid, every index in step, no
complaint."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.client_cases import Codec
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.kafka_python.adapter import KafkaPythonClient
from compat_tests.process import KafkaliteProcess
from compat_tests.sample import samples

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

KAFKA = Path(__file__).parent / "oracle" / "kafka"
CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
COMPLAINTS = re.compile(
    r"Mismatches in|Found timestamp mismatch|Found out of order|"
    r"Index timestamp|is less than|isvalid: false|Exception|corrupt",
    re.IGNORECASE,
)


def dump_log(files: list[Path], *options: str) -> str:
    """What dump-log prints, errors too. It takes `.log`, `.index`, `.timeindex`, `.snapshot` and
    more."""
    names = ",".join(str(file) for file in files)
    result = subprocess.run(
        [KAFKA, "tool", "dump-log", "--files", names, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2_000:]
    return result.stdout + result.stderr


def test_dump_log_has_no_complaint(
    start_kafkalite: Callable[..., KafkaliteProcess], topic: str
) -> None:
    broker = start_kafkalite()
    # Not librdkafka: it compresses with lz4 only if the broker lists FindCoordinator.
    client = KafkaPythonClient(broker.address)
    client.create_topic(topic)
    sent = samples(3_000)
    for codec in CODECS:
        client.produce(topic, sent, codec=codec)
    client.produce(topic, sent, idempotent=True)
    assert broker.stop() == 0

    folder = broker.data / f"{topic}-0"
    text = dump_log(
        [
            file
            for file in sorted(folder.iterdir())
            if file.suffix in {".log", ".index", ".timeindex"}
        ],
        "--deep-iteration",
        "--print-data-log",
    )
    assert not COMPLAINTS.search(text), COMPLAINTS.findall(text)
    offsets = [int(found) for found in re.findall(r"\| offset: (\d+)", text)]
    assert offsets == list(range(6 * len(sent)))
    assert set(re.findall(r"compresscodec: (\w+)", text)) == set(CODECS)

    snapshots = sorted(folder.glob("*.snapshot"))
    assert snapshots, "a clean stop writes the producers' state"
    assert "producerId:" in dump_log(snapshots)


def test_dump_log_reads_the_metadata_log(
    start_kafkalite: Callable[..., KafkaliteProcess], topic: str
) -> None:
    broker = start_kafkalite()
    ConfluentClient(broker.address).create_topic(topic)
    assert broker.stop() == 0

    folder = broker.data / "__cluster_metadata-0"
    text = dump_log(sorted(folder.glob("*.log")), "--cluster-metadata-decoder")
    assert not COMPLAINTS.search(text), COMPLAINTS.findall(text)
    assert re.search(rf'"type":"TOPIC_RECORD".*"name":"{topic}"', text)
    assert '"type":"PARTITION_RECORD"' in text
