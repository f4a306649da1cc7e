"""The real Kafka on a data folder, started, stopped and killed by `oracle/kafka`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from compat_tests.cluster_contents import End

KAFKA = Path(__file__).parent / "oracle" / "kafka"
COMPLAINT = re.compile(
    r"^\[[^]]*\] (?:ERROR|FATAL) .*|.*(?:stray|Corrupt|orrupted).*", re.MULTILINE
)

SETTINGS = {
    "offsets.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "50",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "broker.session.timeout.ms": "4000",  # It waits so long after a kill.
}


class RealKafka:
    """The real one, on a folder whose `logs` are the broker's data."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str] = SETTINGS, *, port: int = 0
    ) -> None:
        """Port 0 takes a free one; `settings` stand for those above."""
        self.folder = folder
        options = [w for key, value in settings.items() for w in ("--config", f"{key}={value}")]
        done = subprocess.run(
            [KAFKA, "start", "--port", str(port), "--data", folder, *options],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.address = done.stdout.split("bootstrap=")[1].split()[0]

    def end(self, how: End) -> None:
        if how == "killed":
            os.kill(int((self.folder / "broker.pid").read_text()), signal.SIGKILL)
        subprocess.run([KAFKA, "stop", self.folder], capture_output=True, timeout=60, check=True)

    def complaints(self) -> list[str]:
        return COMPLAINT.findall((self.folder / "broker.log").read_text())

    @property
    def has_waited(self) -> bool:
        """For the session of the broker that was there before."""
        return "DUPLICATE_BROKER_REGISTRATION" in (self.folder / "broker.log").read_text()
