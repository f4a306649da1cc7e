"""What the compatibility page tells, gathered from where it has its home: code and golden data.

Differences stand in the code, as a paragraph that begins with `Kafka differs:` in a docstring, a
comment or a table's text. Cases that are answered otherwise on purpose stand in the tests that put
them to both brokers. Nothing is imported from those tests: their tables are read as text.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import tokenize
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kafkalite"
GOLDEN = ROOT / "tests" / "data"
ERROR_CASES = ROOT / "compat_tests" / "test_error_cases.py"

MARK = "Kafka differs:"
VIEWS = PACKAGE / "config" / "views.py"
GENERATED = PACKAGE / "protocol" / "messages"


class Difference(NamedTuple):
    """One paragraph that says how Kafka differs."""

    path: str
    """From the package on: `server/listener.py`."""
    about: str
    """The entry of a table, such as a setting's name; empty for a module, class or function."""
    text: str
    """What comes after the mark, in one line."""


class Case(NamedTuple):
    """A recorded request that kafkalite answers otherwise on purpose."""

    name: str
    reason: str


def golden(name: str) -> Any:  # The shapes differ from file to file: see tests/data/README.md.
    """A golden file, `.json` or `.jsonl`."""
    text = (GOLDEN / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


# Differences.


def differences() -> list[Difference]:
    """All of the package's, by module, in the order in which they stand there."""
    found: list[Difference] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(GENERATED):
            continue
        name = path.relative_to(PACKAGE).as_posix()
        found += differences_in(path.read_text(encoding="utf-8"), name)
    return found


def differences_in(source: str, name: str) -> list[Difference]:
    """Those of one module, which is called `name`."""
    if MARK not in source:
        return []
    at_lines = [*_in_strings(source), *_in_comments(source)]
    at_lines.sort(key=itemgetter(0))
    return [Difference(name, about, text) for _, about, text in at_lines]


def _in_strings(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, what it is about, and text of each difference in a string."""
    tree = ast.parse(source)
    owners = {
        id(argument): call
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for argument in call.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MARK in node.value:
            call = owners.get(id(node))
            first = call.args[0] if call is not None else None
            about = first.value if isinstance(first, ast.Constant) else ""
            for text in paragraphs(node.value):
                yield node.lineno, str(about), text


def _in_comments(source: str) -> Iterator[tuple[int, str, str]]:
    """As `_in_strings`; comments on successive lines are one text."""
    block: list[str] = []
    last_line = -1
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for token in (token for token in tokens if token.type == tokenize.COMMENT):
        line = token.start[0]
        if line != last_line + 1:
            yield from ((last_line, "", text) for text in paragraphs("\n".join(block)))
            block = []
        block.append(token.string.lstrip("#").strip())
        last_line = line
    yield from ((last_line, "", text) for text in paragraphs("\n".join(block)))


def paragraphs(text: str) -> Iterator[str]:
    """What follows each mark, to the end of its paragraph."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        for piece in paragraph.split(MARK)[1:]:
            words = " ".join(piece.split())
            yield words[:1].upper() + words[1:]


# The tests that put recorded requests to both brokers.


@cache
def table(path: Path, name: str) -> Any:  # A literal of any type.
    """The literal that a module assigns to `name`."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == [name]:
            return ast.literal_eval(node.value)
    raise LookupError(f"{path.name} has no {name}")


def cases_that_differ() -> list[Case]:
    """The recorded bad requests that kafkalite answers otherwise."""
    return [Case(*entry) for entry in table(ERROR_CASES, "DIFFERS").items()]


# Settings.


def unread(fields: tuple[str, ...]) -> list[str]:
    """Those of a view's fields that no code acts on. Views are called `config` wherever they are
    read; in their own file their methods read them."""
    read: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(GENERATED):
            continue
        owners = {"self"} if path == VIEWS else {"config", "_config", "topic_defaults"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                owner = ast.unparse(node.value).rpartition(".")[2]
                if owner in owners:
                    read.add(node.attr)
    return [field for field in fields if field not in read]
