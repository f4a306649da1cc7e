"""The real Kafka and kafkalite drop the same segments: the same files are there, by name and size.

Each broker is told the same, and both folders are looked at once the log begins where it should.
Files that are dropped stay, renamed, as long as the test. Kafka maps the indexes of its active
segment at their full size; those are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.admin import ConfluentAdmin
from compat_tests.process import KafkaliteProcess
from compat_tests.real_kafka import RealKafka
from compat_tests.waiting import wait_until

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

SETTINGS = {
    "log.retention.check.interval.ms": "100",
    "log.initial.task.delay.ms": "0",
    "log.cleaner.backoff.ms": "100",
}
TOPIC = {
    "internal.segment.bytes": "1200",
    "retention.ms": "-1",
    "file.delete.delay.ms": "600000",
    "min.compaction.lag.ms": "600000",
}
RECORDS = 8
"""Three a segment: they begin at 0, 3 and 6."""


@dataclass(frozen=True)
class Case:
    name: str
    start: int
    """Where the log is to begin."""
    settings: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, str] = field(default_factory=dict)
    """Settings before the records are there."""
    deleted_to: int = 0


CASES = [
    Case("size-of-all", 0, {"retention.bytes": "100000"}),
    Case("size-of-two", 3, {"retention.bytes": "1500"}),
    Case("size-of-one", 6, {"retention.bytes": "1"}),
    Case("size-of-none", 8, {"retention.bytes": "0"}),
    Case("time", 8, {"retention.ms": "1"}),
    Case("both", 8, {"retention.ms": "1"}, {"cleanup.policy": "compact,delete"}),
    Case("no-policy", 4, {"retention.ms": "1"}, {"cleanup.policy": ""}, deleted_to=4),
    Case("deleted", 7, deleted_to=7),
    Case("compacted", 4, {"cleanup.policy": "compact"}, deleted_to=4),
    Case("preallocated", 3, {"retention.bytes": "1500"}, {"preallocate": "true"}),
]


@dataclass(frozen=True)
class Broker:
    address: str
    logs: Path

    def act(self, case: Case) -> None:
        """Fill a topic, have segments dropped, and return when they are."""
        client, admin = ConfluentClient(self.address), ConfluentAdmin(self.address)
        topic = NewTopic(case.name, 1, 1, config={**TOPIC, **case.first})
        creator = AdminClient({"bootstrap.servers": self.address})
        creator.create_topics([topic])[case.name].result(30)
        producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True})
        for number in range(RECORDS):
            producer.produce(case.name, b"v" * 300, b"%d" % number)
            assert producer.flush(30) == 0
        if case.deleted_to:
            assert admin.delete_records(case.name, case.deleted_to) == case.deleted_to
        if case.settings:
            admin.set_configs(case.name, dict(case.settings))
        dropped = [base for base in (0, 3, 6) if base + 3 <= case.start or case.start == RECORDS]

        def are_dropped() -> bool:
            gone = [name for name in self.files(case) if name.endswith(".log.deleted")]
            return client.offsets(case.name) == (case.start, RECORDS) and len(gone) == len(dropped)

        wait_until(are_dropped, f"{case.name}: {len(dropped)} segments to be dropped")

    def files(self, case: Case) -> dict[str, int]:
        """Name and size. A file that is renamed while it is looked at is looked for again."""
        while True:
            with suppress(FileNotFoundError):
                return self._files(self.logs / f"{case.name}-0")

    def _files(self, folder: Path) -> dict[str, int]:
        names = [path.name for path in folder.iterdir()]
        active = max(name for name in names if name.endswith(".log")).removesuffix(".log")
        unsealed = {f"{active}.index", f"{active}.timeindex"}
        return {name: (folder / name).stat().st_size for name in names if name not in unsealed}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    data = tmp_path_factory.mktemp("kafka")
    process = RealKafka(data, SETTINGS)
    yield Broker(process.address, data / "logs")
    process.end("stopped")


@pytest.fixture(scope="module")
def kafkalite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    data = tmp_path_factory.mktemp("kafkalite") / "logs"
    process = KafkaliteProcess.start(data, settings=SETTINGS)
    yield Broker(process.address, data)
    assert process.stop() == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_files_are_there(kafka: Broker, kafkalite: Broker, case: Case) -> None:
    for broker in (kafka, kafkalite):
        broker.act(case)
    assert kafkalite.files(case) == kafka.files(case)
    epochs = [
        (broker.logs / f"{case.name}-0" / "leader-epoch-checkpoint").read_text()
        for broker in (kafka, kafkalite)
    ]
    assert epochs[0] == epochs[1]
