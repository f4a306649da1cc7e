"""ZooKeeper over TLS: a front that asks for a certificate, before a real ZooKeeper."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from compat_tests.zookeeper_process import KazooBench, ZooKeeperProcess
from kafkalite.ports.zookeeper_kazoo import Ensemble, KazooZooKeeper, Tls
from tests.ports.test_zookeeper import Client, made

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for `localhost`, which signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate, both = (folder / each for each in ("key", "certificate", "store.pem"))
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


class Front:
    """Encrypts what a ZooKeeper serves in the clear, and counts those it let in."""

    def __init__(self, store: Path, behind: str) -> None:
        self._host, _, self._port = behind.rpartition(":")
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=store)
        self._context.load_cert_chain(store)
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.let_in = 0
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.let_in += 1
        there, back = await asyncio.open_connection(self._host, int(self._port))
        with suppress(asyncio.CancelledError):  # The end of the test.
            await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer))

    @staticmethod
    async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def front(store: Path, tmp_path: Path) -> Iterator[Front]:
    process = ZooKeeperProcess(tmp_path / "zookeeper")
    try:
        with closing(Front(store, process.address)) as front:
            yield front
    finally:
        process.stop()


def test_a_session_over_tls(
    front: Front, store: Path, open_bench: Callable[[str], KazooBench]
) -> None:
    tls = Tls(keystore=str(store), truststore=str(store))
    bench = open_bench(f"localhost:{front.port}/c")
    bench._kazoo = KazooZooKeeper(Ensemble(bench.hosts, tls=tls), bench.turns.deliver)
    client = Client(bench)
    made(client, "/a")
    assert client.names("/") == ("a",)
    assert front.let_in, "it came in by the front"
