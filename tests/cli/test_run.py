"""`kafkalite run`: a broker for the length of a command."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafkalite.cli.main import main
from tests.cli.serving import COMMAND, environment, ran

PRINT = "import os, sys\nprint(*(os.environ[name] for name in sys.argv[1:]), sep='\\n')\n"
WAIT = (
    "import signal, sys, time\n"
    "def stop(number, frame):\n"
    "    print('got', signal.Signals(number).name, flush=True)\n"
    "    sys.exit(3)\n"
    "for name in ('SIGTERM', 'SIGINT', 'SIGUSR1'):\n"
    "    signal.signal(getattr(signal, name), stop)\n"
    "print('waits', flush=True)\n"
    "time.sleep(60)\n"
)


def python(program: str, *words: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", program, *words)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port))).close()
    except ConnectionRefusedError:
        return False
    return True


def test_the_command_finds_the_address_and_the_broker_ends_with_it() -> None:
    names = ("KAFKA_BOOTSTRAP_SERVERS", "SPRING_KAFKA_BOOTSTRAP_SERVERS", "KAFKA_BROKERS", "MINE")
    ended = ran("run", "--env", "MINE", *python(PRINT, *names))
    assert (ended.returncode, ended.stderr) == (0, "")
    (address,) = set(ended.stdout.split())
    assert address.startswith("127.0.0.1:")
    assert not is_listening(address)


def test_topics_and_settings_are_there() -> None:
    client = (
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "kafkalite",
    )  # kafka-python is not free of them.
    for option in ("--partitions=2", "--set=num.partitions=2"):
        ended = ran("run", "--topic", "a:3", "--topic=b", option, "--", *client, "topics", "list")
        rows = [line.split()[:2] for line in ended.stdout.splitlines()[1:]]
        assert rows == [["a", "3"], ["b", "2"]], ended.stderr


def test_the_environment_is_the_commands_and_sets_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Variables that would keep `serve` from starting; the help says so."""
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "none")
    monkeypatch.setenv("KAFKA_LISTENERS", "SASL_PLAINTEXT://nowhere:1")
    assert main(["run", *python(PRINT, "KAFKA_NUM_PARTITIONS", "KAFKA_LISTENERS")]) == 0
    assert capfd.readouterr().out.split() == ["none", "SASL_PLAINTEXT://nowhere:1"]
    assert main(["run", "--help"]) == 0
    told = " ".join(capfd.readouterr().out.replace("│", " ").split())
    assert "the broker takes no KAFKA_... variable from it as a setting; say --set." in told


def test_the_port_can_be_chosen() -> None:
    port = free_port()
    ended = ran("run", "--port", str(port), *python(PRINT, "KAFKA_BROKERS"))
    assert ended.stdout == f"127.0.0.1:{port}\n"


def test_a_port_that_is_taken_is_told_in_words_of_options() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ended = ran("run", "--port", str(other.getsockname()[1]), *python("pass"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("kafkalite: cannot start: cannot listen on 127.0.0.1:")
    assert ended.stderr.endswith("in use; --port 0 takes a free one\n")


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("raise SystemExit(0)", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_it_ends_as_the_command_ends(program: str, code: int) -> None:
    ended = ran("run", *python(program))
    assert (ended.returncode, ended.stderr) == (code, "")


def test_the_commands_options_are_its_own() -> None:
    ended = ran("run", *python("import sys; print(sys.argv[1:])", "--topic", "-h", "--", "x"))
    assert ended.stdout == "['--topic', '-h', '--', 'x']\n"


@pytest.mark.parametrize("options", [(), ("--topic", "a"), ("--port=0", "--env", "MINE")])
def test_from_the_command_on_all_words_are_its_own(options: tuple[str, ...]) -> None:
    """Without `--` before it too: `-h` would end `run` well, and nothing would have run."""
    own = ("-h", "--version", "--help", "--topic", "--", "x")
    words = (sys.executable, "-c", "import sys; print(sys.argv[1:])", *own)
    ended = ran("run", *options, *words)
    assert (ended.stdout, ended.stderr, ended.returncode) == (f"{list(own)}\n", "", 0)


def test_the_commands_words_may_be_any_bytes() -> None:
    ended = ran("run", *python("import os, sys; print(os.fsencode(sys.argv[1]))", "\udcff"))
    assert ended.stdout == "b'\\xff'\n"


def test_a_command_that_there_is_not() -> None:
    ended = ran("run", "--", "no-such-command")
    assert ended.returncode == 127
    assert ended.stderr == "kafkalite: cannot run no-such-command (No such file or directory)\n"
    ended = ran("run", "--", os.path.dirname(__file__))
    assert ended.returncode == 126
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "there is no command"),
        (("--topics", "a:3", "--", "true"), "no option --topics (is it --topic?)"),
        (("--topics=a:3", "true"), "is it --topic?"),
        (("--topics", "a:3", "true", "--version"), "is it --topic?"),
        (("--partition", "3", "true", "-h"), "is it --partitions?"),
        (("-x", "true"), "-x"),
        (("--topic",), "--topic needs a value"),
        (("--topic", "a:b", "--", "true"), "NAME:PARTITIONS"),
        (("--set", "a", "--", "true"), "KEY=VALUE"),
        (("--set", "num.partitions=0", "--", "true"), "num.partitions=0 (--set): allowed is"),
        (("--set", "num.partitons=2", "--", "true"), "--set: num.partitons: no such"),
        (("--set", "num.partitons=2", "--", "true"), "num.partitions?"),
        (("--set", "listeners=x", "--", "true"), "--set: Error creating broker listeners"),
        (("--set", "listeners=PLAINTEXT://:0", "--port", "1", "--", "true"), "--port and --set"),
        (("--set", "num.partitions=2", "--partitions", "2", "true"), "cannot go together"),
        (("--set", "log.dirs=x", "--", "true"), "--set log.dirs: "),
        (("--env", "", "--", "true"), "--env : expected the name of a variable"),
        (("--env", "A=B", "--", "true"), "--env A=B: expected the name of a variable"),
        (("--port", "99999", "--", "true"), "99999"),
    ],
)
def test_wrong_use_is_told(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert says in line


def test_a_broker_that_cannot_start_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = ran("run", "--port", str(taken.getsockname()[1]), "--", "true")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "in use" in line


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    """`run` of a program that has printed its first line."""
    process = subprocess.Popen(
        [*COMMAND, "run", *python(program)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_signal_is_for_the_command(name: str) -> None:
    with running(WAIT) as process:
        process.send_signal(getattr(signal, name))
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (3, f"got {name}\n", "")


def test_ctrl_c_reaches_the_command_once() -> None:
    """A terminal sends it to both; a second one would be taken for impatience."""
    leader, follower = pty.openpty()
    program = (
        "import signal, sys, time\n"
        "count = 0\n"
        "def note(number, frame):\n"
        "    global count\n"
        "    count += 1\n"
        "    print('interrupted', count, flush=True)\n"
        "signal.signal(signal.SIGINT, note)\n"
        "def end(number, frame):\n"
        "    print('terminated', count, flush=True)\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('waits', flush=True)\n"
        "while True:\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [*COMMAND, "run", *python(program)],
        env=environment(),
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: _take_terminal(follower),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        os.write(leader, b"\x03")
        assert process.stdout.readline() == "interrupted 1\n"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
        os.close(leader)
        os.close(follower)
    assert (output, errors, process.returncode) == ("terminated 1\n", "", 0)


def _take_terminal(descriptor: int) -> None:
    os.setsid()
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)
