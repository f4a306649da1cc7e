"""The real Kafka starts on a folder that kafkalite wrote, and finds the same consumer groups."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from compat_tests.consumer_group_talk import Connection, Names, Talker, prepare
from compat_tests.migration_talk import Group
from compat_tests.process import KafkaliteProcess

KAFKA = Path(__file__).parent / "oracle" / "kafka"
ONE_PARTITION = {"offsets.topic.num.partitions": "1"}


def kafka(*arguments: str) -> str:
    done = subprocess.run(
        [KAFKA, *arguments], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.jvm
@pytest.mark.needs_process
def test_the_real_kafka_finds_the_same_group(
    tmp_path: Path, start_kafkalite: Callable[..., KafkaliteProcess]
) -> None:
    names, group, mixed_name = Names(), "handed-over", "mixed"
    ours = start_kafkalite(tmp_path / "logs", settings=ONE_PARTITION)
    with (
        closing(Connection(ours.address)) as connection,
        closing(Group(ours.address, mixed_name, names)) as mixed,
    ):
        prepare(connection, names, [group, names.of_here(mixed_name)])
        members = Talker(connection, 1, group, names)
        members.join("a", ("t", "u"))
        members.join("b", ("t",), instance="i")
        members.settle()
        members.join("c")
        told = members.describe()
        classic = mixed.first()
        mixed.consumers.join("m")
        mixed.settle(classic)
        told_of_mixed = mixed.consumers.describe()
    assert [each["member_type"] for each in told_of_mixed["groups"][0]["members"]].count(0) == 1
    assert ours.stop() == 0
    started = kafka("start", "--port", "0", "--data", str(tmp_path))
    try:
        address = re.findall(r"bootstrap=(\S+)", started)[0]
        with (
            closing(Connection(address)) as connection,
            closing(Group(address, mixed_name, names)) as mixed,
        ):
            prepare(connection, Names(), ["another"])
            after = Talker(connection, 1, group, names)
            assert after.describe() == told
            assert _by_id(mixed.consumers.describe()) == _by_id(told_of_mixed)
    finally:
        kafka("stop", str(tmp_path))


def _by_id(told: Any) -> Any:
    """Kafka tells of members by the hashes of their ids, and that of the classic one is drawn."""
    for group in told["groups"]:
        group["members"].sort(key=lambda member: member["member_id"])
    return told
