"""`kafkalite cluster --processes`, over a real ZooKeeper."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient

from compat_tests.process import KAFKALITE
from compat_tests.zookeeper_process import ZooKeeperProcess
from kafkalite.cli.main import main

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

END_WITHIN_S = 60
SESSION = ("--set", "zookeeper.session.timeout.ms=4000")


class Command:
    """It runs until `end`."""

    def __init__(self, hosts: str, data: Path, *options: str) -> None:
        words = ("--processes", "--zookeeper", hosts, "--data", str(data), "--port", "0", *SESSION)
        self.process = subprocess.Popen(
            [*KAFKALITE, "cluster", "--json", *words, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        self.ready = json.loads(line)

    def end(self, number: int) -> tuple[int, str]:
        """Exit code and log."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=END_WITHIN_S)
        return self.process.returncode, log


def produced(bootstrap: str, topic: str) -> list[KafkaError]:
    """One record to each of three partitions; what was refused."""
    refused: list[KafkaError] = []

    def told(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    for partition in range(3):
        producer.produce(topic, b"value", partition=partition, on_delivery=told)
    assert producer.flush(END_WITHIN_S) == 0
    return refused


def is_gone(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_process_for_each_broker(
    ensemble: ZooKeeperProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = ensemble.new_chroot()
    command = Command(hosts, tmp_path / "data", "--topic", "t:3")
    ready = command.ready
    processes = ready["processes"]
    try:
        assert set(processes) == set(ready["brokers"]) == {"1", "2", "3"}
        assert len({command.process.pid, *processes.values()}) == 4
        assert (tmp_path / "data" / "broker-2").is_dir()
        found = AdminClient({"bootstrap.servers": ready["bootstrap"]}).list_topics("t", timeout=30)
        replicas = [sorted(each.replicas) for each in found.topics["t"].partitions.values()]
        assert replicas == [[1, 2, 3]] * 3
        os.kill(processes["2"], signal.SIGKILL)
        assert produced(ready["bootstrap"], "t") == []
        assert main(["cluster", "status", "--json", "--bootstrap", ready["bootstrap"]]) == 0
        rows = json.loads(capsys.readouterr().out)["brokers"]
        assert {row["broker"]: row["fenced"] for row in rows} == {1: False, 2: True, 3: False}
        assert [row["out_of_sync"] for row in rows] == [0, 3, 0]
    finally:
        code, log = command.end(signal.SIGINT)
    assert code == 0, log
    port = ready["brokers"]["2"].rpartition(":")[2]
    folder = tmp_path / "data" / "broker-2"
    told = (
        f"broker 2 (process {processes['2']}) ended by signal 9; the others go on; again: "
        f"kafkalite serve --node-id 2 --port {port} --zookeeper {hosts} --data {folder}, and the "
        "same --set"
    )
    assert [line.rpartition("WARNING ")[2] for line in log.splitlines() if "signal 9" in line] == [
        told
    ]
    assert all(map(is_gone, processes.values()))


def test_one_that_cannot_start_ends_all(ensemble: ZooKeeperProcess, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "broker-3").write_text("no folder")
    with pytest.raises(AssertionError) as told:
        Command(ensemble.new_chroot(), data)
    (last,) = [line for line in str(told.value).splitlines() if "did not start" in line]
    assert last.endswith("kafkalite: broker 3 did not start; it says above why")
