"""Ctrl-C while a command is still imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.cli import app, early_interrupts
from kafkalite.cli.early_interrupts import end_at_once_upon_interrupts, raise_upon_interrupts
from kafkalite.cli.main import main
from kafkalite.ports import tls_context
from tests.cli.serving import environment

INTERRUPTED = """
import os, signal, sys

module = sys.argv.pop(1)

class Finder:
    def find_spec(self, name, *more):
        if name == module:
            Unheard()

class Unheard:
    def __del__(self):  # At once, and what such a method raises is ignored.
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background ignores it.
sys.meta_path.insert(0, Finder())
from kafkalite.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("kafkalite.cli.main", ["--version"]),
        ("kafkalite.cli.app", ["--version"]),
        ("kafkalite.cli.serve", ["serve", "--port=-1"]),
        ("kafkalite.cli.serving", ["serve", "--port=0", "--ephemeral", "--ready-file=/dev/full"]),
    ],
)
def test_it_ends_quietly_where_python_would_overhear_it(module: str, words: list[str]) -> None:
    ends_quietly(INTERRUPTED, module, *words)


def test_it_ends_quietly_while_that_is_still_to_be_seen_to() -> None:
    heard = INTERRUPTED.replace("Unheard()", "os.kill(os.getpid(), signal.SIGINT)")
    ends_quietly(heard, "kafkalite.cli.early_interrupts", "--version")


def ends_quietly(program: str, *words: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


AMID_A_KEY = """
import os, signal, ssl, sys
from kafkalite.ports import tls_context

signal.signal(signal.SIGINT, signal.default_int_handler)  # As above.

def load(*files, **more):
    print(*os.listdir(os.environ["TMPDIR"]), flush=True)
    os.kill(os.getpid(), signal.{})

ssl.SSLContext.load_cert_chain = load
tls_context._DESCRIPTORS = "{}"
from kafkalite.__main__ import main
sys.exit(main())
"""
KEY_STORE = Path(__file__).parent.parent / "data" / "key-stores" / "several.jks"


NOWHERE = "/none"
"""Where no file without a name can be opened again, as it is beyond Linux."""
AMID_A_KEYS_FILE = [(NOWHERE, "SIGINT", 130)]
if sys.platform == "linux":
    AMID_A_KEYS_FILE.append((tls_context._DESCRIPTORS, "SIGTERM", -signal.SIGTERM))


@pytest.mark.parametrize(("descriptors", "name", "code"), AMID_A_KEYS_FILE)
def test_the_file_that_a_key_is_in_for_a_moment_goes(
    tmp_path: Path, descriptors: str, name: str, code: int
) -> None:
    """OpenSSL is given it in one, in the clear. Where it has a name, Ctrl-C removes that; where it
    has none, no end of the process leaves anything."""
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.location": str(KEY_STORE),
        "ssl.keystore.type": "JKS",
        "ssl.keystore.password": "changeit",
    }
    words = [f"--set={key}={value}" for key, value in settings.items()]
    program = AMID_A_KEY.format(name, descriptors)
    ended = subprocess.run(
        [sys.executable, "-c", program, "serve", "--ephemeral", *words],
        env={**environment(), "TMPDIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (code, "")
    assert ended.stdout.startswith("kafkalite-") == (descriptors == NOWHERE)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def signal_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("signal_handler")
@pytest.mark.parametrize("other", [signal.SIG_IGN, lambda *_: None])
def test_what_somebody_else_does_upon_it_stays(other: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, other)
    end_at_once_upon_interrupts()
    assert signal.getsignal(signal.SIGINT) is other
    assert not raise_upon_interrupts()
    assert signal.getsignal(signal.SIGINT) is other


@pytest.mark.usefixtures("signal_handler")
@pytest.mark.parametrize("word", ["topics", "serve"])
def test_a_command_that_runs_has_it_back(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own end is that of `main`, and not of the process; `serve` as the library reads it."""

    def run(arguments: list[str]) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0

    monkeypatch.setattr(app, "run", run)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_at_once_upon_interrupts()
    monkeypatch.setattr(os, "_exit", lambda code: pytest.fail("the process ends"))
    assert main([word, "--help"]) == early_interrupts.INTERRUPTED


@pytest.mark.usefixtures("signal_handler")
def test_commands_are_interrupted_as_before() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_at_once_upon_interrupts()
    raise_upon_interrupts()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
