"""A `kafkalite serve` of a test's own: started, stopped and killed as a person would do it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

KAFKALITE = (sys.executable, "-m", "kafkalite")
READY = re.compile(r"kafkalite ready on (?P<address>\S+:\d+),")


class KafkaliteProcess:
    """One broker process on a data folder. Made by `start`, which returns when it is ready."""

    def __init__(self, data: Path, process: subprocess.Popen[str], address: str) -> None:
        self.data = data
        self.address = address
        """`HOST:PORT`, as the ready line has it."""
        self._process = process

    @classmethod
    def start(
        cls, data: Path, *, port: int = 0, settings: Mapping[str, str] | None = None
    ) -> KafkaliteProcess:
        """Port 0 takes a free one; `settings` are Kafka's keys, of which `log.dirs` has `data` in
        it, and `listeners` stands for the port. `AssertionError`, with what it wrote, when it ends
        before it is ready."""
        sets = [f"--set={key}={value}" for key, value in (settings or {}).items()]
        if "log.dirs" not in (settings or {}):
            sets += ["--data", str(data)]
        if "listeners" not in (settings or {}):
            sets += ["--port", str(port)]
        errors = data.with_name(f"{data.name}.stderr")
        with errors.open("a") as sink:
            process = subprocess.Popen(
                [*KAFKALITE, "serve", *sets],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
            )
        assert process.stdout is not None
        first = process.stdout.readline()
        ready = READY.match(first)
        if ready is None:
            process.kill()
            process.communicate()
            raise AssertionError(f"no ready line but {first!r}; stderr: {errors.read_text()}")
        return cls(data, process, ready["address"])

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self._process.terminate()
        return self._end()

    def kill(self) -> int:
        """SIGKILL: nothing of its own runs any more."""
        self._process.kill()
        return self._end()

    def _end(self) -> int:
        self._process.communicate(timeout=60)
        return self._process.returncode
