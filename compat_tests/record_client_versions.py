"""Runs the tests of clients through a relay, and writes which versions of which APIs each asked
kafkalite for: `compat_tests/client-versions.json`, which docs/compatibility.md tells.

    python -m compat_tests.record_client_versions [CLIENT...]

Without names all are recorded; with names the record of the others stays as it is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from compat_tests.golden import rows
from compat_tests.process import KafkaliteProcess
from compat_tests.watching_relay import Asked, WatchingRelay

HERE = Path(__file__).parent
RECORD = HERE / "client-versions.json"
RELAYED = "RELAYED"
"""Set in the environment of such tests: what they find at BOOTSTRAP is kafkalite."""


class Recorded(NamedTuple):
    """A client, and where its tests are."""

    tests: tuple[str, ...]
    """As pytest takes them, from this folder on."""
    version: Callable[[], str]


def locked(file: str, pattern: str) -> str:
    """The version that a lock file names: the first group of the pattern."""
    text = (HERE / file).read_text(encoding="utf-8")
    found = re.search(pattern, text)
    assert found is not None, (file, pattern)
    return found[1]


def kcats_version() -> str:
    """Of what is installed on this machine."""
    said = subprocess.run(("kcat", "-V"), capture_output=True, text=True, check=True)
    found = re.search(r"Version (\S+) .*librdkafka (\S+)", said.stdout + said.stderr)
    assert found is not None, said
    return f"{found[1]} on librdkafka {found[2]}"


def _of_python(folder: str, package: str) -> Recorded:
    return Recorded((folder,), partial(version, package))


def _of_go(module: str, *classes: str) -> Recorded:
    tests = tuple(f"go/test_go_clients.py::{name}" for name in classes)
    return Recorded(tests, partial(locked, "go/go.mod", rf"{module} v(\S+)"))


def _of_node(package: str, name: str) -> Recorded:
    pattern = rf'"{package}": "([\d.]+)"'
    return Recorded(
        (f"node/test_node_clients.py::{name}",), partial(locked, "node/package.json", pattern)
    )


def _of_java(module: str, *classes: str) -> Recorded:
    tests = tuple(f"java/test_java_clients.py::{name}" for name in classes)
    pattern = r"<artifactId>kafka-clients</artifactId><version>([\d.]+)</version>"
    return Recorded(tests, partial(locked, f"java/{module}/pom.xml", pattern))


CLIENTS = {
    "confluent-kafka": _of_python("confluent", "confluent-kafka"),
    "kafka-python": _of_python("kafka_python", "kafka-python"),
    "aiokafka": _of_python("aiokafka", "aiokafka"),
    "Java 4.4": _of_java(
        "clients-4.4", "TestClients44", "TestClients44OfTheNewProtocol", "TestAssignors"
    ),
    "Java 3.9": _of_java("clients-3.9", "TestClients39"),
    "Java 2.8": _of_java("clients-2.8", "TestClients28"),
    "franz-go": _of_go("twmb/franz-go", "TestFranzGo", "TestFranzGoOfTheNewProtocol"),
    "sarama": _of_go("IBM/sarama", "TestSarama", "TestNewestSarama"),
    "kafka-go": _of_go("segmentio/kafka-go", "TestKafkaGo"),
    "confluent-kafka-go": _of_go("confluent-kafka-go/v2", "TestConfluentKafkaGo"),
    "kafkajs": _of_node("kafkajs", "TestKafkaJs"),
    "platformatic": _of_node("@platformatic/kafka", "TestPlatformatic"),
    "rdkafka": Recorded(
        ("rust/test_rust_clients.py",),
        partial(locked, "rust/Cargo.lock", r'name = "rdkafka"\nversion = "([^"]+)"'),
    ),
    "kcat": Recorded(("kcat",), kcats_version),
}
"""By what people call them."""


def names() -> dict[int, str]:
    """Of all APIs, by key."""
    return {row["key"]: row["api"] for row in rows("wire.jsonl")}


def ask(tests: tuple[str, ...]) -> Asked:
    """What those tests ask; they must pass."""
    with TemporaryDirectory() as scratch, WatchingRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        broker = KafkaliteProcess.start(Path(scratch) / "data", settings=advertised)
        relay.target = broker.port
        environment = {**os.environ, "BOOTSTRAP": relay.address, RELAYED: "yes"}
        places = [f"{HERE}/{test}" for test in tests]
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *places)
        try:
            subprocess.run(command, env=environment, cwd=HERE.parent, check=True)
            return relay.seen(names())
        finally:
            broker.stop()


def main() -> None:
    """Write the record."""
    wanted = sys.argv[1:] or list(CLIENTS)
    assert set(wanted) <= set(CLIENTS), f"known are {', '.join(CLIENTS)}"
    for name in wanted:
        client = CLIENTS[name]
        recorded = {"version": client.version(), "asks": ask(client.tests)}
        found = json.loads(RECORD.read_text(encoding="utf-8"))
        found[name] = recorded
        ordered = {each: found[each] for each in CLIENTS if each in found}
        RECORD.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
