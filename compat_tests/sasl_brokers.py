"""Brokers with SASL, kafkalite's and the real one, for the exchanges of
`tests.server.sasl_exchanges`.

    python -m compat_tests.sasl_brokers

writes `tests/server/sasl-exchanges.txt` anew, as the real Kafka answers.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from compat_tests.oracle.free_port import free_ports
from compat_tests.process import KafkaliteProcess
from kafkalite.protocol.framing import FrameSplitter
from tests import certificates
from tests.server.sasl_exchanges import ITERATIONS, SALT, SETTINGS
from tests.server.sasl_talk import EXCHANGES, RECORDED, Wire, transcript

KAFKA = Path(__file__).parent / "oracle" / "kafka"
LISTENERS = ("PLAINTEXT", "SASL", "SHORT", "SMALL", "STRICT", "TLS")
PROTOCOLS = SETTINGS["listener.security.protocol.map"]
WAIT_S = 20.0
AT_ONCE = 8

Addresses = Mapping[str, tuple[str, int]]
"""By listener's name."""


class SocketWire(Wire):
    """Over a real socket."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, WAIT_S)
        self._splitter = FrameSplitter()
        self._frames: list[bytes] = []

    async def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except ConnectionError:
            self._frames = []

    async def answer(self) -> bytes | None:
        while not self._frames:
            try:
                chunk = self._socket.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not chunk:
                return None
            self._frames = self._splitter.feed(chunk)
        return self._frames.pop(0)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def wait_ms(self, duration_ms: int) -> None:
        Event().wait(duration_ms / 1000)

    def close(self) -> None:
        self._socket.close()


def transcripts(addresses: Addresses) -> dict[tuple[str, str], str]:
    """Of all exchanges, several at once: some wait for their session's end."""

    def one(key: tuple[str, str]) -> str:
        wire = SocketWire(addresses[key[0]])
        try:
            return asyncio.run(transcript(*key, wire))
        finally:
            wire.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return dict(zip(EXCHANGES, threads.map(one, EXCHANGES), strict=True))


def _addresses() -> Addresses:
    ports = free_ports(len(LISTENERS))
    return {name: ("127.0.0.1", port) for name, port in zip(LISTENERS, ports, strict=True)}


def _settings(addresses: Addresses, folder: Path) -> dict[str, str]:
    listeners = ",".join(f"{name}://{host}:{port}" for name, (host, port) in addresses.items())
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        **SETTINGS,
        "listener.security.protocol.map": f"{PROTOCOLS},TLS:SASL_SSL",
        "listener.name.tls.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.tls.plain.sasl.jaas.config": SETTINGS[
            "listener.name.sasl.plain.sasl.jaas.config"
        ],
        **certificates.settings_of(folder),
        "ssl.client.auth": "required",  # Which a listener with SASL does not heed.
    }


@contextmanager
def kafkalite(folder: Path) -> Iterator[Addresses]:
    """A process, which has the users."""
    addresses = _addresses()
    broker = KafkaliteProcess.start(folder / "data", settings=_settings(addresses, folder))
    _add_users(addresses)
    yield addresses
    assert broker.stop() == 0


@contextmanager
def kafka(folder: Path) -> Iterator[Addresses]:
    """The real one, which has the users."""
    addresses = _addresses()
    settings = _settings(addresses, folder)
    settings["listeners"] += ",CONTROLLER://127.0.0.1:@CPORT@"
    settings["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
    options = [w for key, value in settings.items() for w in ("--config", f"{key}={value}")]
    port = str(addresses["PLAINTEXT"][1])
    start = [str(KAFKA), "start", "--port", port, "--data", str(folder / "data"), *options]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    try:
        _add_users(addresses)
        yield addresses
    finally:
        stop = [str(KAFKA), "stop", str(folder / "data")]
        subprocess.run(stop, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder / "data")


def _add_users(addresses: Addresses) -> None:
    """Alice's and bob's credentials of SCRAM."""
    admin = AdminClient({"bootstrap.servers": "{}:{}".format(*addresses["PLAINTEXT"])})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        told: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(
                name, ScramCredentialInfo(mechanism, ITERATIONS), f"{name}-secret".encode(), SALT
            )
            for name in ("alice", "bob")
        ]
        for done in admin.alter_user_scram_credentials(told).values():
            done.result(WAIT_S)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, kafka(Path(place)) as running:
        RECORDED.write_text("".join(transcripts(running).values()))
