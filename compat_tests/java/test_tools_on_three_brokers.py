"""Kafka's own tools on three brokers, one of which dies or stops now and then, say here what they
say on three real ones: `transcripts_of_three`.

Beside Kafka's commands a transcript has `kill ID`, `stop ID` and `start ID`, which return when all
brokers know, and `in-sync TOPIC`, which waits until all replicas on brokers that run are.
`pytest compat_tests/java/test_tools_on_three_brokers.py --record` records them anew, from three
real brokers that it starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Protocol

import pytest

from compat_tests.java.transcript import Stage, Step, read, text
from compat_tests.kafka_cluster import RealCluster, active_brokers, out_of_sync
from compat_tests.waiting import wait_until
from kafkalite.testing import Cluster

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts_of_three").glob("*.txt"))


class Brokers(Protocol):
    """What comes and goes."""

    bootstrap: str

    def start(self, id: int) -> None: ...
    def stop(self, id: int) -> None: ...
    def kill(self, id: int) -> None: ...
    def close(self) -> None: ...


class OurBrokers:
    def __init__(self) -> None:
        self._cluster = Cluster(3, settings={"default.replication.factor": 1}).start()
        self.bootstrap = self._cluster.address_of(1)
        self.start, self.kill = self._cluster.restart, self._cluster.kill

    def stop(self, id: int) -> None:
        self._cluster.stop(id)

    def close(self) -> None:
        self._cluster.stop()


class ClusterStage(Stage):
    def __init__(self, brokers: Brokers, folder: Path) -> None:
        super().__init__(brokers.bootstrap, folder)
        self._brokers = brokers
        self._running_ids = {1, 2, 3}

    def play(self, step: Step) -> list[str]:
        """See `Stage`, and the module for more commands."""
        verb, _, about = step.command.partition(" ")
        address = self._brokers.bootstrap
        match verb:
            case "kill" | "stop" | "start":
                id = int(about)
                getattr(self._brokers, verb)(id)
                self._running_ids ^= {id}
                wait_until(lambda: active_brokers(address) == self._running_ids, step.command)
            case "in-sync":
                wait_until(
                    lambda: not any(self._running_ids & out for out in out_of_sync(address, about)),
                    step.command,
                )
            case _:
                return super().play(step)
        return []


@pytest.fixture
def brokers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Brokers]:
    is_real = request.config.getoption("--record", default=False)
    brokers: Brokers = RealCluster(tmp_path / "kafka") if is_real else OurBrokers()
    with closing(brokers):
        yield brokers


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: str(path.stem))
def test_transcript(
    path: Path, brokers: Brokers, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recorded = read(path)
    with closing(ClusterStage(brokers, tmp_path)) as stage:
        played = [
            replace(step, said=stage.play(step)) if step.command else step for step in recorded
        ]
    if request.config.getoption("--record", default=False):
        path.write_text(text(played), encoding="utf-8")
        return
    recorded_lines, played_lines = text(recorded).splitlines(), text(played).splitlines()
    difference = unified_diff(recorded_lines, played_lines, "recorded", "now", n=8, lineterm="")
    assert played_lines == recorded_lines, "\n".join(["", *difference])
