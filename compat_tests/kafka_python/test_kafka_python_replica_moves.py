"""A replica is moved to and fro between two log folders while an idempotent producer writes to it
and a consumer reads: each record arrives once, in order, and what is left is sound."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import KafkaError, Producer
from kafka import TopicPartitionReplica
from kafka.admin import KafkaAdminClient

from compat_tests.cli.command_line import CommandLine
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.process import KafkaliteProcess
from compat_tests.waiting import wait_until

pytestmark = pytest.mark.needs_process

MOVES = 8


@pytest.fixture
def kafkalite(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch)


@pytest.fixture
def broker(tmp_path: Path, start_kafkalite: Callable[..., KafkaliteProcess]) -> KafkaliteProcess:
    one, two = tmp_path / "one", tmp_path / "two"
    return start_kafkalite(one, settings={"log.dirs": f"{one},{two}"})


def folder_of(admin: KafkaAdminClient, topic: str) -> str:
    """Where its replica is; fails while another copy is under way."""
    found = [
        (folder["log_dir"], partition["is_future_key"])
        for folder in admin.describe_log_dirs()[0]["log_dirs"]
        for each in folder["topics"]
        if each["name"] == topic
        for partition in each["partitions"]
    ]
    return str(found[0][0]) if len(found) == 1 and not found[0][1] else ""


def test_every_record_is_there_once(
    broker: KafkaliteProcess,
    topic: str,
    tmp_path: Path,
    kafkalite: CommandLine,
) -> None:
    ConfluentClient(broker.address).create_topic(topic)
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    producer = Producer({"bootstrap.servers": broker.address, "enable.idempotence": True})
    is_over = Event()
    failed: list[KafkaError] = []
    sent: list[bytes] = []

    def delivered(error: KafkaError | None, message: object) -> None:
        if error is not None:
            failed.append(error)

    def produce() -> None:
        while not is_over.is_set():
            value = f"{len(sent)} " + "v" * 500
            sent.append(value.encode())
            producer.produce(topic, value, on_delivery=delivered)
            producer.poll(0)
            if len(sent) % 100 == 0:
                producer.flush()
        producer.flush()

    def has_sent(count: int) -> bool:
        return len(sent) > count

    def is_in(folder: str) -> bool:
        return folder_of(admin, topic) == folder

    writer = Thread(target=produce)
    writer.start()
    try:
        for moves in range(MOVES):
            wait_until(partial(has_sent, 500 * moves), "more records")
            at = folder_of(admin, topic)
            target = next(str(tmp_path / name) for name in ("one", "two") if not at.endswith(name))
            replica = TopicPartitionReplica(topic=topic, partition=0, broker_id=1)
            (result,) = admin.alter_replica_log_dirs({replica: target}).values()
            assert result.errno == 0
            wait_until(partial(is_in, target), target)
    finally:
        is_over.set()
        writer.join()
        admin.close()
    assert failed == []
    producer.close()
    received = ConfluentClient(broker.address).read(topic, len(sent))
    assert [each.sample.value for each in received] == sent
    assert broker.stop() == 0
    for name in ("one", "two"):
        assert not [file for file in (tmp_path / name).iterdir() if "future" in file.name]
        kafkalite("verify-log", str(tmp_path / name))
