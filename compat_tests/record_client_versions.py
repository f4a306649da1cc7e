"""Runs the tests of every client through a relay, and writes which versions of which APIs each
asked kafkalite for: `compat_tests/client-versions.json`, which docs/compatibility.md tells.

    python -m compat_tests.record_client_versions
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from compat_tests.golden import rows
from compat_tests.process import KafkaliteProcess
from compat_tests.watching_relay import Asked, WatchingRelay

HERE = Path(__file__).parent
RECORD = HERE / "client-versions.json"
CLIENTS = {
    "confluent": "confluent-kafka",
    "kafka_python": "kafka-python",
    "aiokafka": "aiokafka",
}
"""Folder of the tests and name of the package."""


def names() -> dict[int, str]:
    """Of all APIs, by key."""
    return {row["key"]: row["api"] for row in rows("wire.jsonl")}


def ask(folder: str) -> Asked:
    """What the tests in that folder ask; they must pass."""
    with TemporaryDirectory() as scratch, WatchingRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        broker = KafkaliteProcess.start(Path(scratch) / "data", settings=advertised)
        relay.target = broker.port
        environment = {**os.environ, "BOOTSTRAP": relay.address}
        tests = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / folder)
        try:
            subprocess.run(tests, env=environment, cwd=HERE.parent, check=True)
            return relay.seen(names())
        finally:
            broker.stop()


def main() -> None:
    """Write the record."""
    found = {
        package: {"version": version(package), "asks": ask(folder)}
        for folder, package in CLIENTS.items()
    }
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
