"""Kafka's own command line tools, run by their main classes as the scripts of its `bin` do."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from compat_tests.java.jars import class_path

LOGGING = Path(__file__).parent.parent / "oracle" / "log4j2.properties"
TARGET = Path(__file__).parent / "tools" / "target"
PACKAGE = "org.apache.kafka.tools"
CLASSES = {
    "kafka-acls": "AclCommand",
    "kafka-broker-api-versions": "BrokerApiVersionsCommand",
    "kafka-cluster": "ClusterTool",
    "kafka-configs": "ConfigCommand",
    "kafka-console-consumer": "consumer.ConsoleConsumer",
    "kafka-console-producer": "ConsoleProducer",
    "kafka-consumer-groups": "consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "ConsumerPerformance",
    "kafka-delete-records": "DeleteRecordsCommand",
    "kafka-features": "FeatureCommand",
    "kafka-get-offsets": "GetOffsetShell",
    "kafka-groups": "GroupsCommand",
    "kafka-leader-election": "LeaderElectionCommand",
    "kafka-log-dirs": "LogDirsCommand",
    "kafka-metadata-quorum": "MetadataQuorumCommand",
    "kafka-producer-perf-test": "ProducerPerformance",
    "kafka-reassign-partitions": "reassign.ReassignPartitionsCommand",
    "kafka-topics": "TopicCommand",
    "kafka-transactions": "TransactionsCommand",
    "kafka-verifiable-consumer": "VerifiableConsumer",
    "kafka-verifiable-producer": "VerifiableProducer",
}
JVM = (
    "java",
    # A tool lives for half a second: it is not worth compiling well, nor collecting at once.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # Nothing about the archive, of which it would complain on the tool's standard output.
    "-Xlog:disable",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Duser.timezone=UTC",
    f"-Dlog4j2.configurationFile={LOGGING}",
)


class Printed(NamedTuple):
    """What a tool has said."""

    stdout: str
    stderr: str
    status: int


class Running:
    """A tool that runs. `stop` it, or the process stays behind."""

    def __init__(self, name: str, arguments: Sequence[str], folder: Path) -> None:
        self._stdout: list[str] = []
        self._stderr = folder / f"{name}.stderr"
        with self._stderr.open("w") as sink:
            self._process = subprocess.Popen(
                _command(name, arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
            )

    def await_line(self, with_text: str) -> None:
        """Until it prints a line that contains this; `AssertionError` when it ends before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._stdout.append(line)
            if with_text in line:
                return
        raise AssertionError(f"no {with_text!r} in {self._stdout}; {self._stderr.read_text()}")

    def stop(self) -> Printed:
        """SIGTERM, at which Kafka's tools end in good order; and all that it has printed."""
        self._process.terminate()
        rest, _ = self._process.communicate(timeout=60)
        self._stdout.append(rest)
        return Printed("".join(self._stdout), self._stderr.read_text(), self._process.returncode)


def run(name: str, arguments: Sequence[str], stdin: str = "") -> Printed:
    """Runs a tool to its end."""
    done = subprocess.run(
        _command(name, arguments), input=stdin, capture_output=True, text=True, check=False
    )
    return Printed(done.stdout, done.stderr, done.returncode)


def _command(name: str, arguments: Sequence[str]) -> list[str]:
    path = class_path("tools")
    main = f"{PACKAGE}.{CLASSES[name]}"
    return [*JVM, f"-XX:{_class_data()}", "-cp", path, main, *arguments]


def _class_data() -> str:
    """The first tool leaves an archive of its classes, with which the others start in half the
    time. Java looks whether it still fits."""
    archive = TARGET / "classes.jsa"
    return f"{'SharedArchiveFile' if archive.exists() else 'ArchiveClassesAtExit'}={archive}"
