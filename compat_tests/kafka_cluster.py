"""Three real Kafka 4.4.0 brokers, for recordings of what a cluster does; and a look at any cluster
from outside.

The first broker is the controller too, so it is to live on.
"""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

from compat_tests.oracle.free_port import free_ports
from compat_tests.waiting import wait_until
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkalite.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kafkalite.protocol.schema import Request, Response

ORACLE = Path(__file__).parent / "oracle" / "kafka"
QUICK = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "1000"}


def ask(address: str, request: Request, version: int, answer: type[Response]) -> Response:
    """One request on a connection of its own."""
    host, _, port = address.rpartition(":")
    frame = b"".join(
        bytes(part)  # type: ignore[arg-type]  # requests hold nothing but bytes.
        for part in request_frame(request, version, correlation_id=1, client_id="look")
    )
    with (
        socket.create_connection((host, int(port)), 10) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(frame)
        data = answers.read(int.from_bytes(answers.read(4)))
    _, position = read_response_header(answer.__schema__.api_key, version, data)
    return decode(answer, version, data, position)


def active_brokers(address: str) -> set[int]:
    """Those that are not fenced, as the broker at that address knows it."""
    found = ask(address, DescribeClusterRequest(), 2, DescribeClusterResponse)
    assert isinstance(found, DescribeClusterResponse)
    return {each.broker_id for each in found.brokers}


def out_of_sync(address: str, topic: str) -> list[set[int]]:
    """Replicas of each partition that are not in sync."""
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=topic)], response_partition_limit=2_000
    )
    found = ask(address, request, 0, DescribeTopicPartitionsResponse)
    assert isinstance(found, DescribeTopicPartitionsResponse)
    partitions = found.topics[0].partitions
    return [{*each.replica_nodes} - {*each.isr_nodes} for each in partitions]


class RealCluster:
    """Brokers 1, 2 and 3. `close` ends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        settings = [f"--config={key}={value}" for key, value in QUICK.items()]
        started = subprocess.run(
            [ORACLE, "start", "--port", "0", "--data", folder / "1", *_pairs(settings)],
            capture_output=True,
            text=True,
            check=True,
        )
        found = re.search(r"bootstrap=(\S+)", started.stdout)
        assert found is not None, started.stdout
        self.bootstrap = found[1]
        try:
            self._complete()
        except BaseException:
            self.close()
            raise

    def _complete(self) -> None:
        for id in (2, 3):
            self._format(id)
            self.start(id)
        wait_until(lambda: active_brokers(self.bootstrap) == {1, 2, 3}, "not all came")

    def start(self, id: int) -> None:
        """Broker 2 or 3 comes, or comes back."""
        with (self._folder / f"{id}.log").open("ab") as log:
            self._processes[id] = subprocess.Popen(
                [ORACLE, "java", "kafka.Kafka", self._folder / f"{id}.properties"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, id: int) -> None:
        """SIGKILL."""
        self._end(id, "-KILL")

    def stop(self, id: int) -> None:
        """In good order."""
        self._end(id, "-TERM")

    def close(self) -> None:
        """All of them."""
        for id in list(self._processes):
            self.kill(id)
        subprocess.run([ORACLE, "stop", self._folder / "1"], check=True, capture_output=True)

    def _end(self, id: int, signal: str) -> None:
        process = self._processes.pop(id)
        # The script's whole session, for Java is a child of it.
        subprocess.run(["kill", signal, "--", f"-{process.pid}"], check=True)
        process.wait()

    def _format(self, id: int) -> None:
        controller = (self._folder / "1" / "controller.port").read_text().strip()
        (port,) = free_ports(1)
        properties = self._folder / f"{id}.properties"
        properties.write_text(
            f"""\
process.roles=broker
node.id={id}
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={self._folder / str(id)}
"""
            + "".join(f"{key}={value}\n" for key, value in QUICK.items())
        )
        cluster_id = re.search(
            r"cluster.id=(\S+)", (self._folder / "1" / "logs" / "meta.properties").read_text()
        )
        assert cluster_id is not None
        subprocess.run(
            [
                *(ORACLE, "java", "kafka.tools.StorageTool", "format"),
                *("-t", cluster_id[1], "-c", properties),
            ],
            check=True,
            capture_output=True,
        )


def _pairs(settings: list[str]) -> list[str]:
    return [word for setting in settings for word in setting.split("=", 1)]
