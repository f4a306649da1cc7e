"""Transcripts of Kafka's tools: what was typed, and what the real Kafka made them say.

    # A comment.
    $ kafka-console-producer --bootstrap-server BROKER --topic orders
    < a line of its standard input
    > a line that it printed
    ! a line of its standard error
    = 1

`=` is the exit status, where it is not 0. BROKER is the broker's address, FOLDER an empty folder.
`| grep TEXT` behind a command keeps lines of all its output: the others are what other tests do.

A transcript wants a broker that has not seen it before, and leaves no topic and no group behind.

Three commands are none of Kafka's: `write NAME` puts its input into a file in FOLDER; a command
with `& await TEXT` behind it goes on in the background once it has printed that text, and `stop`
ends it, and tells what it printed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compat_tests.java import tools
from compat_tests.java.normal import normal

OUTPUT = (">", "!", "=")


@dataclass
class Step:
    """A command, with what stands before it, its input, and what it said when it was recorded."""

    above: list[str] = field(default_factory=list)
    command: str = ""
    stdin: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def read(path: Path) -> list[Step]:
    """The steps of a transcript. Comments behind the last are its end's `above`."""
    steps = [Step()]
    for line in path.read_text(encoding="utf-8").splitlines():
        if (not line or line.startswith(("#", "$"))) and steps[-1].command:
            steps.append(Step())
        mark, _, rest = line.partition(" ")
        if mark == "$":
            steps[-1].command = rest
        elif mark == "<":
            steps[-1].stdin.append(rest)
        elif mark in OUTPUT:
            steps[-1].said.append(line)
        else:
            assert not line or mark.startswith("#"), f"{path.name}: {line}"
            steps[-1].above.append(line)
    return steps


def text(steps: Iterable[Step]) -> str:
    """The reverse of `read`."""
    lines: list[str] = []
    for step in steps:
        lines += step.above
        if step.command:
            lines.append(f"$ {step.command}")
        lines += [f"< {line}" for line in step.stdin]
        lines += step.said
    return "".join(f"{line}\n" for line in lines)


class Stage:
    """Where a transcript is played: one broker, one folder, at most one tool in the background."""

    def __init__(self, broker: str, folder: Path) -> None:
        self._broker = broker
        self._folder = folder
        self._running: tools.Running | None = None

    def play(self, step: Step) -> list[str]:
        """What the command says now, as lines of a transcript."""
        command, _, wanted = step.command.partition(" | grep ")
        wanted = "".join(shlex.split(wanted))
        command, _, awaited = command.partition(" & await ")
        name, *words = shlex.split(command)
        arguments = [self._real(word) for word in words]
        stdin = "".join(f"{line}\n" for line in step.stdin)
        if name == "write":
            (self._folder / arguments[0]).write_text(self._real(stdin))
            return []
        if awaited:
            self._running = tools.Running(name, arguments, self._folder)
            self._running.await_line(awaited)
            return []
        printed = self._stop() if name == "stop" else tools.run(name, arguments, stdin)
        return list(self._told(printed, wanted))

    def close(self) -> None:
        """Ends what still runs, after a failure."""
        if self._running is not None:
            self._running.stop()

    def _stop(self) -> tools.Printed:
        running, self._running = self._running, None
        assert running is not None, "nothing runs that could be stopped"
        return running.stop()

    def _real(self, text: str) -> str:
        return text.replace("BROKER", self._broker).replace("FOLDER", str(self._folder))

    def _without_places(self, text: str) -> str:
        """Addresses as the tools print them: in one, or in two columns."""
        host, _, port = self._broker.rpartition(":")
        text = re.sub(rf"\b{re.escape(host)} +{port}\b", "HOST PORT", text)
        return text.replace(self._broker, "BROKER").replace(str(self._folder), "FOLDER")

    def _told(self, printed: tools.Printed, wanted: str) -> Iterator[str]:
        for mark, text in ((">", printed.stdout), ("!", printed.stderr)):
            for line in normal(self._without_places(text)).splitlines():
                if wanted in line:
                    yield f"{mark} {line}".rstrip()
        if printed.status:
            yield f"= {printed.status}"
