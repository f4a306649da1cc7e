"""Kafka's own classes read what our codecs write, and write the same bytes: every message and
version, requests, responses and records alike."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafkalite.protocol import codec
from tests.protocol.message_values import Maker, all_versions

pytestmark = pytest.mark.jvm

HERE = Path(__file__).parent
KAFKA = HERE.parent / "oracle" / "kafka"
SEEDS = range(6)


def in_kafka_4(name: str, version: int) -> bool:
    """4.x has neither ZooKeeper mode's messages nor version 0 of the request header."""
    gone = ("ControlledShutdown", "LeaderAndIsr", "StopReplica", "UpdateMetadata")
    return not name.startswith(gone) and (name, version) != ("RequestHeader", 0)


def test_kafka_rewrites_each_message_to_the_same_bytes(tmp_path: Path) -> None:
    lines = [
        f"{cls.__name__} {version} {codec.encode(Maker(seed).message(cls, version), version).hex()}"
        for cls, version in all_versions()
        if in_kafka_4(cls.__name__, version)
        for seed in SEEDS
    ]
    source = tmp_path / "messages.txt"
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [KAFKA, "java", HERE / "Rewrite.java", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    rewritten = done.stdout.splitlines()
    assert len(rewritten) == len(lines) > 4_000
    differing = [
        (line[:400], found[:400])
        for line, found in zip(lines, rewritten, strict=True)
        if line.split(" ")[2] != found
    ]
    assert differing[:5] == []
