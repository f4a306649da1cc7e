"""A cluster over a real ZooKeeper: brokers of kafkalite and of Kafka 3.9.2, each a process of its
own, and the tools of Kafka 2.6 beside them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compat_tests.oracle.free_port import free_ports
from compat_tests.process import KAFKALITE, READY
from compat_tests.waiting import wait_until
from compat_tests.zookeeper_process import ORACLE, ZooKeeperProcess

SESSION_MS = 4_000
"""The least that a ZooKeeper with Kafka's tick takes: so long a killed broker seems to live."""


NONE: Mapping[str, str] = MappingProxyType({})


class LiteBroker:
    """`kafkalite serve --zookeeper`."""

    def __init__(
        self,
        id: int,
        data: Path,
        hosts: str,
        *,
        port: int = 0,
        folders: Sequence[Path] = (),
        settings: Mapping[str, str] = NONE,
    ) -> None:
        """`folders`: those of its logs, where they are not `data`; `settings` may have `listeners`,
        which stand for the port."""
        self.id = id
        self.errors = data.with_name(f"{data.name}.stderr")
        options = ["--node-id", str(id), *words_of("--set", settings)]
        if "listeners" not in settings:
            options += ["--port", str(port)]
        if folders:
            options += ["--set", f"log.dirs={','.join(map(str, folders))}"]
        else:
            options += ["--data", str(data)]
        session = f"zookeeper.session.timeout.ms={SESSION_MS}"
        with self.errors.open("a") as sink:
            self._process = subprocess.Popen(
                [*KAFKALITE, "serve", *options, "--zookeeper", hosts, "--set", session],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
            )

    def wait_ready(self) -> str:
        """`HOST:PORT`."""
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        ready = READY.match(first)
        assert ready is not None, f"{first!r}; stderr: {self.errors.read_text()}"
        return ready["address"]

    def signal(self, number: int) -> None:
        """Any."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.communicate(timeout=60)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self._process.terminate()
        self._process.communicate(timeout=60)
        return self._process.returncode


class RealBroker:
    """Kafka 3.9.2 in ZooKeeper mode."""

    def __init__(
        self, id: int, data: Path, hosts: str, *, port: int = 0, settings: Mapping[str, str] = NONE
    ) -> None:
        """`settings` may have `listeners`, of which one is at the port."""
        self.id = id
        self.data = data
        given = {
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
            **settings,
        }
        said = call(
            "kafka-zk", "start", "--id", str(id), "--zookeeper", hosts, "--port", str(port),
            "--data", str(data), *words_of("--config", given),
        )  # fmt: skip
        found = re.search(r"bootstrap=(\S+) pid=(\d+)", said)
        assert found, said
        self.address, self.pid = found[1], int(found[2])

    def kill(self) -> None:
        """SIGKILL; harmless when it is gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, 9)


class ZooKeeperCluster:
    """Everything of one test. `close` it."""

    def __init__(self, zookeeper: ZooKeeperProcess, folder: Path) -> None:
        self.hosts = zookeeper.new_chroot()
        self.folder = folder
        self.lite: dict[int, LiteBroker] = {}
        self.real: dict[int, RealBroker] = {}
        self.addresses: dict[int, str] = {}
        from kazoo.client import KazooClient

        self._stack = ExitStack()
        self._kazoo: Any = KazooClient(zookeeper.address)  # Any: kazoo has no types.
        self._stack.callback(self._kazoo.close)
        self._stack.callback(self._kazoo.stop)
        self._kazoo.start()
        self._chroot = "/" + self.hosts.partition("/")[2]

    def start_lite(self, *ids: int, settings: Mapping[str, str] = NONE) -> None:
        """On their folders of before, if there are any."""
        for id in ids:
            self.launch_lite(id, settings=settings)
        for id in ids:
            self.addresses[id] = self.lite[id].wait_ready()

    def launch_lite(self, id: int, *, settings: Mapping[str, str] = NONE) -> None:
        """As `start_lite`; it is not ready yet."""
        address = self.addresses.get(id)
        port = int(address.rpartition(":")[2]) if address else free_ports(1)[0]
        data = self.folder / f"lite-{id}"
        self.lite[id] = LiteBroker(id, data, self.hosts, port=port, settings=settings)

    def start_real(self, id: int, *, port: int = 0, settings: Mapping[str, str] = NONE) -> None:
        data = self.folder / f"real-{id}"
        self.real[id] = RealBroker(id, data, self.hosts, port=port, settings=settings)
        self.addresses[id] = self.real[id].address

    def kill(self, id: int) -> None:
        broker = self.lite.pop(id, None)
        if broker is None:
            self.real[id].kill()
        else:
            broker.kill()

    def close(self) -> None:
        for broker in self.real.values():
            # A stop in good order takes 15 s where no controller is left to ask for one.
            self._stack.callback(broker.kill)
        for id in tuple(self.lite):
            self._stack.callback(self.kill, id)
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        return ",".join(self.addresses.values())

    def tool(self, name: str, *arguments: str) -> str:
        """One of Kafka 2.6's, which speaks to ZooKeeper."""
        return call("kafka-26", f"kafka.admin.{name}", "--zookeeper", self.hosts, *arguments)

    def is_there(self, path: str) -> bool:
        """With data or without."""
        return self._kazoo.retry(self._kazoo.exists, self._chroot + path) is not None

    def data(self, path: str) -> bytes | None:
        """None when there is no such znode, or nothing in it."""
        from kazoo.exceptions import NoNodeError

        try:
            content: bytes = self._kazoo.retry(self._kazoo.get, self._chroot + path)[0]
        except NoNodeError:
            return None
        return content

    def write(self, path: str, data: bytes) -> None:
        """Make it, and what is above it."""
        self._kazoo.create(self._chroot + path, data, makepath=True)

    def remove(self, path: str) -> None:
        """It has nothing below it."""
        self._kazoo.delete(self._chroot + path)

    def names(self, path: str) -> list[str]:
        """What stands right below."""
        found: list[str] = self._kazoo.retry(self._kazoo.get_children, self._chroot + path)
        return found

    def json(self, path: str) -> dict[str, Any]:  # Any: JSON.
        found = json.loads(self.data(path) or b"{}")
        assert isinstance(found, dict)
        return found

    def version(self, topic: str, partition: int) -> int:
        """How often the partition's state was set."""
        path = f"{self._chroot}/brokers/topics/{topic}/partitions/{partition}/state"
        found: int = self._kazoo.retry(self._kazoo.get, path)[1].version
        return found

    def controller(self) -> int:
        return int(self.json("/controller").get("brokerid", -1))

    def state(self, topic: str, partition: int) -> dict[str, Any]:  # Any: JSON.
        return self.json(f"/brokers/topics/{topic}/partitions/{partition}/state")

    wait = staticmethod(wait_until)


def words_of(option: str, settings: Mapping[str, str]) -> list[str]:
    return [word for key, value in settings.items() for word in (option, f"{key}={value}")]


def call(command: str, *arguments: str) -> str:
    done = subprocess.run(
        [ORACLE / command, *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "KAFKA_HEAP_OPTS": "-Xmx512M"},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
