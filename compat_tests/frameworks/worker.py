"""A process of a framework's program, started and stopped as its operator would."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_WITHIN_S = 60


@dataclass(frozen=True)
class Program:
    """A file of this folder, and the arguments before those of `Worker`."""

    file: str
    ready: str
    """Stands in its log when it is ready."""
    arguments: tuple[str, ...] = ()


FAUST_COUNTER = Program("faust_counter.py", "Worker ready")
ECHOES = {
    "faust": Program("faust_echo.py", "Worker ready"),
    "faststream-confluent": Program(
        "faststream_echo.py", "app started successfully", ("confluent",)
    ),
    "faststream-aiokafka": Program("faststream_echo.py", "app started successfully", ("aiokafka",)),
}


class Worker:
    """Runs from the start."""

    def __init__(
        self, program: Program, *, bootstrap: str, source: str, sink: str, name: str, folder: Path
    ) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable,
                str(HERE / program.file),
                *program.arguments,
                bootstrap,
                source,
                sink,
                name,
                str(folder / name),
            ],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log: list[str] = []
        """All that it said so far, for whoever has to find out why."""
        self._is_ready = threading.Event()
        self._listener = threading.Thread(target=self._listen, args=(program.ready,))
        self._listener.start()

    def wait_ready(self) -> None:
        """Return when it consumes."""
        assert self._is_ready.wait(_WITHIN_S), "".join(["not ready\n", *self.log])

    def stop(self) -> None:
        """SIGTERM; it must end well."""
        self._process.terminate()
        code = self._end()
        assert code == 0, "".join([f"exit code {code}\n", *self.log])

    def kill(self) -> None:
        """Whatever it does."""
        self._process.kill()
        self._end()

    def _end(self) -> int:
        self._listener.join(_WITHIN_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.wait(_WITHIN_S)

    def _listen(self, ready: str) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            self.log.append(text)
            if ready in text:
                self._is_ready.set()
