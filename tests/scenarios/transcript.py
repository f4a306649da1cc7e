"""Transcripts: what one core says to one command after the other, as text that people read.

    # A comment stands before the command that it is about.
    create orders partitions=2
    ----
    record Topic name=orders topic_id=#1
    reply ...

    next command
    ----

A command is one line; after `----` stands what came of it, up to an empty line. A core's runner is
a function from a command to those lines.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path

from kafkalite.core import CancelTimer, Outcome, Reply, Send, SetTimer
from kafkalite.protocol.schema import Struct

RULE = "----"


@dataclass(frozen=True)
class Command:
    """One line: words without `=` in order, the others by name."""

    line: str

    @property
    def verb(self) -> str:
        return self.line.split()[0]

    @property
    def words(self) -> list[str]:
        return [word for word in self.line.split()[1:] if "=" not in word]

    @property
    def options(self) -> dict[str, str]:
        pairs = (word.partition("=") for word in self.line.split() if "=" in word)
        return {name: value for name, _, value in pairs}


Runner = Callable[[Command], Iterable[str]]


def play(text: str, run: Runner) -> str:
    """The transcript with what `run` says in place of what it said before."""
    out: list[str] = []
    for block in text.strip("\n").split("\n\n"):
        head = block.split(f"\n{RULE}", 1)[0].splitlines()
        *comments, line = head
        assert all(comment.startswith("#") for comment in comments), f"two commands in:\n{block}"
        if line.startswith("#"):
            out.append("\n".join(head))
        else:
            out.append("\n".join([*head, RULE, *run(Command(line))]))
    return "\n\n".join(out) + "\n"


def check(path: Path, run: Runner, *, rewrite: bool) -> None:
    """Play the transcript at `path`; it must come out as it is, or is rewritten."""
    before = path.read_text(encoding="utf-8")
    after = play(before, run)
    if rewrite:
        path.write_text(after, encoding="utf-8")
    else:
        assert after == before, f"run with --rewrite and review the diff of {path.name}"


def told(outcome: Outcome[object, object]) -> list[str]:
    """An outcome, one line for each thing in it."""
    lines = [f"record {shown(record)}" for record in outcome.records]
    lines += [line for reply in outcome.replies for line in _reply_lines(reply)]
    lines += [_send_line(send) for send in outcome.sends]
    lines += [_timer_line(timer) for timer in outcome.timers]
    return lines


def shown(value: object) -> str:
    """A value as short text: fields that have their default are left out."""
    match value:
        case Enum():
            return value.name
        case bytes():
            return _short_bytes(value)
        case _ if hasattr(value, "_fields"):
            pairs = [(key, getattr(value, key)) for key in value._fields if key != "token"]
            name = type(value).__name__
        case list() | tuple():
            return "[" + " ".join(map(shown, value)) + "]"
        case Struct():
            default = type(value)()
            names = [field.name for field in type(value).__schema__.fields]
            pairs = [
                (n, getattr(value, n)) for n in names if getattr(value, n) != getattr(default, n)
            ]
            name = type(value).__schema__.name.removesuffix("Record")
        case _ if is_dataclass(value) and not isinstance(value, type):
            pairs = [(f.name, getattr(value, f.name)) for f in fields(value) if f.name != "token"]
            name = type(value).__name__
        case _:
            return str(value)
    return " ".join([name, *(f"{key}={shown(item)}" for key, item in pairs)])


def _short_bytes(value: bytes) -> str:
    number = int.from_bytes(value)
    return f"#{number}" if len(value) == 16 and number < 1 << 32 else value.hex()


def _reply_lines(reply: Reply) -> list[str]:
    """A reply about several things, on a line for each of them."""
    body = reply.body
    if isinstance(body, tuple) and len(body) == 1:
        (only,) = body
        if isinstance(only, tuple):
            return [f"reply {shown(item)}" for item in only] or ["reply nothing"]
    return [f"reply {shown(body)}"]


def _send_line(send: Send) -> str:
    return f"send to={send.to} {shown(send.request)}"


def _timer_line(timer: SetTimer[object] | CancelTimer) -> str:
    key: Hashable = timer.key
    if isinstance(timer, CancelTimer):
        return f"cancel {shown(key)}"
    return f"timer {shown(key)} at={timer.at_ms} {shown(timer.event)}"
