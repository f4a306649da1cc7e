"""A real ZooKeeper of a test's own, and the bench that the contract of its port runs over."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

from kafkalite.ports.zookeeper import ZooKeeperEvent, ZooKeeperSession
from kafkalite.ports.zookeeper_kazoo import Ensemble, KazooZooKeeper
from tests.ports.zookeeper_kinds import Turns

ORACLE = Path(__file__).parent / "oracle"
PATIENCE_S = 60.0
"""A server that another process has the machine beside, and a session that has to expire."""
_chroots = count()


class ZooKeeperProcess:
    """One server. `stop` it."""

    def __init__(self, data: Path, *, port: int = 0) -> None:
        self.data = data
        said = self._call("start", "--port", str(port), "--data", str(data))
        found = re.search(r"connect=(\S+)", said)
        assert found, said
        self.address = found[1]

    def stop(self) -> None:
        self._call("stop", str(self.data))

    def kill(self) -> None:
        """SIGKILL. `restart` it."""
        file = self.data / "zookeeper.pid"
        os.kill(int(file.read_text()), signal.SIGKILL)
        file.unlink()  # Its number may be there until its parent asks for what became of it.

    def restart(self) -> None:
        """At the same port, with what it knew."""
        port = self.address.rpartition(":")[2]
        self._call("start", "--port", port, "--data", str(self.data))

    def new_chroot(self) -> str:
        """An address whose cluster nobody has."""
        return f"{self.address}/chroot/{next(_chroots)}"

    @staticmethod
    def _call(*arguments: str) -> str:
        done = subprocess.run(
            [ORACLE / "zookeeper", *arguments], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


class KazooBench:
    """See `Bench`. It begins with nothing below its chroot. `close` ends what is left of it."""

    def __init__(self, hosts: str) -> None:
        self.hosts = hosts
        self.turns = Turns(PATIENCE_S)
        self.zookeeper = self
        self._kazoo = KazooZooKeeper(Ensemble(hosts), self.turns.deliver)
        self._sessions: list[ZooKeeperSession] = []

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
        session = self._kazoo.open_session(listener)
        self._sessions.append(session)
        return session

    def close(self) -> None:
        """All sessions that are open still."""
        for session in self._sessions:
            session.close()
            asyncio.run(session.wait_closed())

    def expire(self, id: int) -> None:
        """Close it in its name, from another connection, as only who has its password can."""
        from kazoo.client import KazooClient

        (session,) = (each for each in self._sessions if each.id == id)
        client_id = session._client.client_id  # type: ignore[attr-defined]  # kazoo's, below.
        impostor = KazooClient(self.hosts.partition("/")[0], client_id=client_id)
        impostor.start()
        impostor.stop()
        impostor.close()
