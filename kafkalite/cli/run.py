"""`kafkalite run`: a broker for the length of a command."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Iterable, Mapping
from contextlib import suppress
from inspect import signature
from typing import Annotated

from cyclopts import Parameter

from kafkalite.cli.assignments import parse_assignments
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.mistakes import from_to
from kafkalite.cli.topic_wish import MOST_PARTITIONS, parse_topics

_VARIABLES = ("KAFKA_BOOTSTRAP_SERVERS", "SPRING_KAFKA_BOOTSTRAP_SERVERS", "KAFKA_BROKERS")
"""Quarkus, Micronaut and kafkalite's own commands read the first, Spring Boot the second, many
programs in Go and Node the third."""
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGWINCH")
"""A terminal sends these to the command as well."""
_PLACES = ("log.dir", "log.dirs")
_MAX_PORT = 65535
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_SIGNALLED = 128


def run(
    *command: Annotated[str, Parameter(metavar="CMD...")],
    topic: tuple[str, ...] = (),
    partitions: Annotated[int | None, Parameter(validator=from_to(1, MOST_PARTITIONS))] = None,
    set: tuple[str, ...] = (),
    port: Annotated[int, Parameter(validator=from_to(0, _MAX_PORT))] = 0,
    env: tuple[str, ...] = (),
) -> int:
    """Start a broker in memory, run a command against it, stop the broker.

    The command finds the address in KAFKA_BOOTSTRAP_SERVERS (and in SPRING_KAFKA_BOOTSTRAP_SERVERS
    and KAFKA_BROKERS). Its exit code is that of `run`; 128 and the signal's number when a signal
    ended it. The environment is the command's: unlike `serve`, the broker takes no KAFKA_...
    variable from it as a setting; say --set.

    Args:
        command: what to run, and all that comes after it; -- may stand before
        topic: a topic to have; may be repeated
        partitions: of each topic for which nobody says it [default: 1]
        set: a broker setting by Kafka's name; may be repeated
        port: where the broker listens; 0 takes a free port
        env: one more variable to put the address in; may be repeated
    """
    if not command:
        raise WrongUseError("there is no command; say `kafkalite run -- CMD`")
    settings = parse_assignments(set)
    _refuse_mistakes(settings, port, env)
    from kafkalite.testing import Broker, BrokerError

    if partitions is not None:
        if "num.partitions" in settings:
            raise WrongUseError(
                "--partitions and --set num.partitions=... cannot go together; use one of them"
            )
        settings["num.partitions"] = str(partitions)
    try:
        broker = Broker(topics=parse_topics(topic), settings=settings, port=port)
        with broker:
            variables = dict.fromkeys((*_VARIABLES, *env), broker.bootstrap)
            return asyncio.run(_ended(command, variables))
    except ValueError as error:
        raise WrongUseError(_in_words_of_options(str(error))) from error
    except BrokerError as error:
        said = str(error).removeprefix("kafkalite ").replace("; port=0 ", "; --port 0 ")
        raise CommandError(said) from error


def _refuse_mistakes(settings: Mapping[str, str], port: int, variables: Iterable[str]) -> None:
    """Those of which `Broker` would tell as arguments of its own, and the system without a name."""
    for key in _PLACES:
        if key in settings:
            raise WrongUseError(f"--set {key}: the broker of `run` keeps its data in memory")
    if port and "listeners" in settings:
        raise WrongUseError("--port and --set listeners=... say the same thing; use one of them")
    for name in variables:
        if not name or "=" in name:
            raise WrongUseError(f"--env {name}: expected the name of a variable, such as BROKERS")


def _in_words_of_options(said: str) -> str:
    """What `Broker` says of its `settings`, which are those of --set here."""
    return said.replace("(settings)", "(--set)").replace("settings: ", "--set: ", 1)


def with_command_marked(words: list[str]) -> list[str]:
    """The words after `run`, with `--` before the command: from there on all words are its own,
    `-h` and `--version` too."""
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return words
        if not word.startswith("-") or word == "-":
            return [*words[:place], "--", *words[place:]]
        place += 2 if word in _options() else 1
    return words


def _options() -> set[str]:
    """Of `run` itself: each has a value."""
    return {
        f"--{each.name}"
        for each in signature(run).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    }


async def _ended(command: tuple[str, ...], variables: Mapping[str, str]) -> int:
    """The exit code, for a shell."""
    forwarding = _Forwarding()
    try:
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **variables})
    except OSError as error:
        print(f"kafkalite: cannot run {command[0]} ({error.strerror})", file=sys.stderr)
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
    forwarding.begin(process)
    code = await process.wait()
    return code if code >= 0 else _SIGNALLED - code


class _Forwarding:
    """What is sent to this process is meant for the command. What comes before it has begun waits.

    By the event loop: of a plain handler the wait for a process knows nothing when the signal comes
    just before it blocks, or to another thread.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._early: list[int] = []
        loop = asyncio.get_running_loop()
        for name in _FORWARDED:
            number = getattr(signal, name, None)
            if number is not None:
                with suppress(NotImplementedError):  # On Windows consoles tell both.
                    loop.add_signal_handler(number, self._on_signal, number)

    def begin(self, process: Process) -> None:
        """The command runs."""
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _on_signal(self, number: int) -> None:
        if signal.Signals(number).name in _FROM_TERMINAL and _is_in_foreground():
            return
        if self._process is None:
            self._early.append(number)
        else:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)


def _is_in_foreground() -> bool:
    """Whether this process and the command have a terminal's attention."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False
