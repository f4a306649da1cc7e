"""What a broker for tests leaves behind: no thread, no descriptor, no file, no lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from kafkalite.testing import Broker
from tests.testing.confluent_calls import receive, send

_WITHIN_S = 60
CLEAN_STOP = ".kafka_cleanshutdown"


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python of its own, in that folder."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=_WITHIN_S,
        check=False,
    )


COUNT = """
import os, socket, threading
from kafkalite.testing import Broker, BrokerError

def held():
    return threading.active_count(), len(os.listdir("/dev/fd"))

def dial(broker):
    host, _, port = broker.bootstrap.rpartition(":")
    return socket.create_connection((host, int(port)))

Broker().start().stop()  # The first loop of a process makes a pipe that all later ones share.
before = held()
for data in (None, "data"):
    with Broker(topics={"t": 3}, data=data) as broker:
        client = dial(broker)
        broker.create_topic("later")  # By now it has accepted the connection before.
        now = held()
        assert now[0] > before[0] and now[1] > before[1] + 1, (before, now)
    client.close()
    assert held() == before, (before, held())

with Broker() as broker:
    port = int(broker.bootstrap.rpartition(":")[2])
    before = held()
    for refused in (Broker(port=port), Broker(topics={"t": 0})):
        try:
            refused.start()
        except BrokerError:
            assert held() == before, (before, held())
        else:
            raise AssertionError("started")
"""


def test_threads_and_descriptors_are_given_back(tmp_path: Path) -> None:
    ended = run(COUNT, tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_memory_leaves_no_file(tmp_path: Path) -> None:
    ended = run(
        "from kafkalite.testing import Broker\nwith Broker(topics={'t': 3}): pass",
        tmp_path,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 0), ("raise SystemExit(5)", 5), ("1 / 0", 1)],
    ids=["end", "exit", "exception"],
)
def test_an_interpreter_that_exits_stops_its_brokers(tmp_path: Path, end: str, code: int) -> None:
    ended = run(
        f"from kafkalite.testing import Broker\nBroker(data='data').start()\n{end}", tmp_path
    )
    assert ended.returncode == code, ended.stderr
    assert (tmp_path / "data" / CLEAN_STOP).exists()


def test_ctrl_c_stops_a_broker(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from kafkalite.testing import Broker\n"
            "with Broker(data='data'):\n"
            "    print('ready', flush=True)\n"
            "    input()\n",
        ],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=_WITHIN_S)
    assert "KeyboardInterrupt" in errors
    assert (tmp_path / "data" / CLEAN_STOP).exists()


FORK = """
import os, socket, sys
from kafkalite.testing import Broker, BrokerError
from tests.testing.confluent_calls import send

def dial(broker):
    host, _, port = broker.bootstrap.rpartition(":")
    return socket.create_connection((host, int(port)))

with Broker(topics={"t": 1}, data="data") as broker:
    client = dial(broker)
    broker.create_topic("later")  # By now the broker has accepted the connection before.
    told, tell = os.pipe()
    held, release = os.pipe()
    child = os.fork()
    if not child:
        os.close(release)
        send(broker.bootstrap, "t", b"tea")
        assert not broker.is_running
        try:
            broker.start()
        except BrokerError as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError("started")
        broker.stop()
        send(broker.bootstrap, "t", b"tea")
        with Broker() as own:
            send(own.bootstrap, "t", b"tea")
        os.write(tell, b"well")
        os.read(held, 1)
        sys.exit(3)
    os.close(tell)
    assert os.read(told, 4) == b"well"
    broker.stop()
    assert client.recv(1) == b"", "the fork keeps the connection open"
    try:
        dial(broker)
    except ConnectionRefusedError:
        pass
    else:
        raise AssertionError("the fork keeps the listener open")
    broker.start()  # Or the fork keeps the lock on the folder.
    os.close(release)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    send(broker.bootstrap, "t", b"tea")
"""


def test_a_fork_uses_the_broker_and_does_not_own_it(tmp_path: Path) -> None:
    ended = run(FORK, tmp_path)
    assert ended.returncode == 0, ended.stderr


AMID_AN_IMPORT = """
import os, sys, threading
from pathlib import Path
from kafkalite.testing import Broker
from kafkalite.testing.lives import ThreadLife

begun, go_on = threading.Event(), threading.Event()
sys.path.insert(0, os.getcwd())
Path("slow.py").write_text('''
from __main__ import begun, go_on
begun.set()
go_on.wait()
is_whole = True
''')
os.register_at_fork(before=go_on.set)  # The last that is registered is the first that runs.

class Importing(ThreadLife):
    async def _serve(self):
        self.started.set_result(None)
        import slow
        await self._stopping.wait()

life = Importing("importing")
life.start()
begun.wait()
child = os.fork()
if not child:
    import slow
    os._exit(0 if slow.is_whole else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
life.stop_soon()
life.ended.result(60)
child = os.fork()  # It waits for none that has ended.
if not child:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_fork_amid_an_import_has_the_whole_module(tmp_path: Path) -> None:
    ended = run(AMID_AN_IMPORT, tmp_path)
    assert ended.returncode == 0, ended.stderr


TWO_AT_ONCE = """
import os, threading, time
from kafkalite.testing import forks
from kafkalite.testing.lives import ThreadLife

forks._PATIENCE_S = 20
both = threading.Barrier(2)

def fork():
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

class Forking(ThreadLife):
    async def _serve(self):
        both.wait()
        fork()
        self.started.set_result(None)
        await self._stopping.wait()

begun = time.monotonic()
lives = [Forking("one"), Forking("other")]
for life in lives:
    life.start()
for life in lives:
    life.started.result(60)
    life.stop_soon()
    life.ended.result(60)
assert time.monotonic() - begun < forks._PATIENCE_S
fork()  # Neither is waited for, nor whose turn it was.
"""


def test_two_loops_that_fork_at_once_do_not_wait_for_each_other(tmp_path: Path) -> None:
    ended = run(TWO_AT_ONCE, tmp_path)
    assert ended.returncode == 0, ended.stderr


AMID_A_FORK = """
import os, signal, threading
from kafkalite.testing import forks
from kafkalite.testing.lives import ThreadLife

forks._PATIENCE_S = forks._LOOK_AGAIN_S = 0.1
begun, forking, handled = threading.Event(), threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)  # The last that is registered is the first that runs.

def fork():
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def on_signal(*_):
    fork()
    handled.set()

signal.signal(signal.SIGUSR1, on_signal)

class Signalling(ThreadLife):
    async def _serve(self):
        self.started.set_result(None)
        begun.set()
        forking.wait()
        os.kill(os.getpid(), signal.SIGUSR1)
        await self._stopping.wait()

life = Signalling("signalling")
life.start()
begun.wait()
fork()
handled.wait()
life.stop_soon()
life.ended.result(20)
"""


def test_a_signal_that_forks_amid_a_fork_leaves_no_loop_at_rest(tmp_path: Path) -> None:
    ended = run(AMID_A_FORK, tmp_path)
    assert ended.returncode == 0, ended.stderr


INTERRUPTED = """
import os, sys
from kafkalite.testing import forks

class Turn:
    def acquire(self, timeout):
        raise KeyboardInterrupt  # As Ctrl-C does while it waits.

forks._turn = Turn()
ignored = []
sys.unraisablehook = lambda one: ignored.append(one.exc_type)
child = os.fork()
if not child:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert ignored == [KeyboardInterrupt], ignored
"""


def test_a_fork_whose_wait_is_interrupted_leaves_nothing_under_way(tmp_path: Path) -> None:
    ended = run(INTERRUPTED, tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_a_spawned_process_uses_the_broker() -> None:
    with Broker() as broker, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(send, broker.bootstrap, "t", b"tea").result(_WITHIN_S)
        assert receive(broker.bootstrap, "t") == b"tea"
