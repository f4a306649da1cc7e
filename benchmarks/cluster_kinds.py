"""The clusters that `cluster.py` compares: three brokers each, on this machine, steered alike.

`OneProcess` is what `kafkalite cluster` runs, `Processes` three `kafkalite serve` over a ZooKeeper
of their own, `RealKafka` three nodes of Apache Kafka, each broker and controller (KRaft).
All have min.insync.replicas=2 and sessions of `SESSION_MS`; everything else is its default.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).resolve().parent
ORACLE = HERE.parent / "compat_tests" / "oracle"
IDS = (1, 2, 3)
SESSION_MS = 4_000
"""The least that a ZooKeeper takes whose tick is Kafka's. Defaults: 18 s, and 9 s with KRaft."""
HEAP = "-Xmx512M -Xms512M"
CLUSTER_ID = "bench-AAAAAAAAAAAAAAAAA"
READY = re.compile(r"kafkalite ready on (\S+:\d+),")


class Kind(Protocol):
    """A running cluster."""

    name: str
    addresses: dict[int, str]

    def pids(self) -> list[int]:
        """Of its brokers. ZooKeeper's is not among them."""

    def kill(self, id: int) -> None:
        """SIGKILL, or what comes nearest."""

    def restart(self, id: int) -> None:
        """One that was killed, on its folder and port; return when it answers."""

    def stop(self) -> None:
        """All of it."""


def bootstrap(kind: Kind) -> str:
    return ",".join(kind.addresses.values())


def controller(kind: Kind) -> int:
    """Who decides, as `kafkalite cluster status` finds it."""
    command = [sys.executable, "-m", "kafkalite", "cluster", "status", "--json"]
    until = time.monotonic() + 60
    while time.monotonic() < until:
        done = subprocess.run(
            [*command, "--bootstrap", bootstrap(kind)], capture_output=True, text=True
        )
        if done.returncode == 0 and (found := json.loads(done.stdout)["controller"]) is not None:
            return int(found)
        time.sleep(0.1)
    raise SystemExit(f"{kind.name}: no controller in 60 s: {done.stderr or done.stdout}")


class OneProcess:
    name = "kafkalite, one process"

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, HERE / "cluster_host.py", folder / "one"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "one.stderr").open("a"),
            text=True,
        )
        told = json.loads(self._answer())
        self.addresses = {int(id): address for id, address in told.items()}

    def pids(self) -> list[int]:
        return [self._process.pid]

    def kill(self, id: int) -> None:
        """Its session ends at once: nobody has to find out."""
        self.say(f"kill {id}")

    def restart(self, id: int) -> None:
        self.say(f"restart {id}")

    def say(self, line: str) -> None:
        """To `cluster_host.py`."""
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)
        self._answer()

    def stop(self) -> None:
        self._process.communicate(timeout=60)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: it ended, see its standard error")
        return line


class Processes:
    name = "kafkalite, three processes"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        said = _oracle("zookeeper", "start", "--port", "0", "--data", str(folder / "zookeeper"))
        self._hosts = said.split()[0].removeprefix("connect=") + "/bench"
        self.addresses = dict.fromkeys(IDS, ":0")
        self._brokers = {id: self._begin(id) for id in IDS}
        for id in IDS:
            self._wait_ready(id)

    def pids(self) -> list[int]:
        return [process.pid for process in self._brokers.values()]

    def kill(self, id: int) -> None:
        self._brokers[id].kill()
        self._brokers[id].wait()

    def restart(self, id: int) -> None:
        self._brokers[id] = self._begin(id)
        self._wait_ready(id)

    def stop(self) -> None:
        for process in self._brokers.values():
            process.terminate()
        for process in self._brokers.values():
            process.communicate(timeout=60)
        _oracle("zookeeper", "stop", str(self._folder / "zookeeper"))

    def _begin(self, id: int) -> subprocess.Popen[str]:
        port = self.addresses[id].rpartition(":")[2]
        options = ["--node-id", str(id), "--port", port, "--data", str(self._folder / f"own-{id}")]
        for each in (f"zookeeper.session.timeout.ms={SESSION_MS}", "min.insync.replicas=2"):
            options += ["--set", each]
        return subprocess.Popen(
            [sys.executable, "-m", "kafkalite", "serve", *options,
             "--zookeeper", self._hosts],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(self._folder / f"own-{id}.stderr").open("a"),
            text=True,
        )  # fmt: skip

    def _wait_ready(self, id: int) -> None:
        output = self._brokers[id].stdout
        assert output is not None
        line = output.readline()
        found = READY.match(line)
        if found is None:
            raise SystemExit(f"{self.name}: broker {id} did not start: {line!r}")
        self.addresses[id] = found[1]


class RealKafka:
    name = "Kafka 4.4.0, three nodes"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ports = free_ports(2 * len(IDS))
        self._ports = dict(zip(IDS, ports, strict=False))
        self._controllers = dict(zip(IDS, ports[len(IDS) :], strict=True))
        self.addresses = {id: f"127.0.0.1:{port}" for id, port in self._ports.items()}
        at_once(self._format, self._start)

    def pids(self) -> list[int]:
        return [int((self._data(id) / "broker.pid").read_text()) for id in IDS]

    def kill(self, id: int) -> None:
        pid = int((self._data(id) / "broker.pid").read_text())
        os.kill(pid, 9)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.001)

    def restart(self, id: int) -> None:
        self._start(id)

    def stop(self) -> None:
        at_once(lambda id: _oracle("kafka", "stop", str(self._data(id))))

    def _data(self, id: int) -> Path:
        return self._folder / f"kafka-{id}"

    def _settings(self, id: int) -> dict[str, str]:
        own, quorum = self._ports[id], self._controllers[id]
        listeners = f"PLAINTEXT://127.0.0.1:{own},CONTROLLER://127.0.0.1:{quorum}"
        voters = ",".join(f"{id}@127.0.0.1:{port}" for id, port in self._controllers.items())
        return {
            "process.roles": "broker,controller",
            "node.id": str(id),
            "controller.quorum.voters": voters,
            "controller.quorum.bootstrap.servers": voters.split("@")[1].split(",")[0],
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self._data(id) / "logs"),
            "min.insync.replicas": "2",
            "default.replication.factor": "3",
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
            "broker.session.timeout.ms": str(SESSION_MS),
            "broker.heartbeat.interval.ms": "500",
        }

    def _format(self, id: int) -> None:
        """`kafka start` would format a quorum of one."""
        self._data(id).mkdir()
        file = self._data(id) / "format.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self._settings(id).items()))
        (self._data(id) / "controller.port").write_text(str(self._controllers[id]))
        tool = "kafka.tools.StorageTool"
        _oracle("kafka", "java", tool, "format", "-t", CLUSTER_ID, "-c", str(file))

    def _start(self, id: int) -> None:
        sets = [f"{key}={value}" for key, value in self._settings(id).items()]
        options = [word for each in sets for word in ("--config", each)]
        address = str(self._ports[id])
        _oracle("kafka", "start", "--port", address, "--data", str(self._data(id)), *options)


def at_once(*works: Callable[[int], object]) -> None:
    """Each work on all brokers at once, one work after the other."""
    with ThreadPoolExecutor() as pool:
        for work in works:
            list(pool.map(work, IDS))


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _oracle(command: str, *arguments: str) -> str:
    done = subprocess.run(
        [ORACLE / command, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "KAFKA_HEAP_OPTS": HEAP},
    )
    if done.returncode:
        raise SystemExit(f"{command} {arguments[0]}: {done.stderr or done.stdout}")
    return done.stdout


KINDS: dict[str, Callable[[Path], Kind]] = {
    "one": OneProcess,
    "processes": Processes,
    "kafka": RealKafka,
}
