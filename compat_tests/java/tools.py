"""Kafka's own command line tools, run by their main classes as the scripts of its `bin` do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from compat_tests.java.jars import class_path

LOGGING = Path(__file__).parent.parent / "oracle" / "log4j2.properties"
TARGET = Path(__file__).parent / "tools" / "target"
ARCHIVE = TARGET / "classes.jsa"
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
    # It has no script: Kafka's system tests call it by its class.
    "transactional-message-copier": "TransactionalMessageCopier",
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
                _command(name, arguments, _archived()),
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
        return self._end()

    def kill(self) -> Printed:
        """SIGKILL, and all that it has printed; its last line may be a part of one."""
        self._process.kill()
        return self._end()

    def _end(self) -> Printed:
        assert self._process.stdout is not None
        # `communicate` would read past lines that the stream has taken in with an awaited one.
        if not self._process.stdout.closed:
            with self._process.stdout as stream:
                self._stdout.append(stream.read())
        status = self._process.wait(timeout=60)
        return Printed("".join(self._stdout), self._stderr.read_text(), status)


def run(name: str, arguments: Sequence[str], stdin: str = "") -> Printed:
    """Runs a tool to its end. The first one leaves an archive of its classes, with which the others
    start in half the time; Java looks whether it still fits."""
    class_data = _archived()
    made = TARGET / f"classes-{os.getpid()}.jsa"  # Others may be about to make theirs.
    if not class_data:
        class_data = [f"-XX:ArchiveClassesAtExit={made}"]
    command = _command(name, arguments, class_data)
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if made.exists():
        made.replace(ARCHIVE)
    return Printed(done.stdout, done.stderr, done.returncode)


def _command(name: str, arguments: Sequence[str], class_data: Sequence[str]) -> list[str]:
    main = f"{PACKAGE}.{CLASSES[name]}"
    return [*JVM, *class_data, "-cp", class_path("tools"), main, *arguments]


def _archived() -> list[str]:
    return [f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else []
