"""What a command answers: a table for people, or JSON for machines, of the same rows.

The names of JSON's fields are stable; docs/command-line.md lists them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from kafkalite.cli.errors import CommandError
from kafkalite.cli.printable import printable
from kafkalite.cli.refusals import Refusal

if TYPE_CHECKING:
    from rich.console import Console

_WIDE = 1 << 16
_GAP = 3
_READABLE = 20
"""What a terminal shows of a text in one line at the least, where it cannot show all of it."""
_ALIGNED = 40
"""A longer cell moves those behind it: else one would be padding in every row."""
_ALIGNED_NAME = 64
"""The same of the first column, which names: Kafka's settings have up to 59 characters."""

Row = Mapping[str, object]
"""By the name of its field in JSON."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    heading: str
    field: str
    is_number: bool = False
    style: str = ""
    """Of rich."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output:
    """How to answer."""

    json: bool = False
    """print JSON, for machines"""

    def rows(self, columns: Sequence[Column], rows: Sequence[Row], *, none: str) -> None:
        """A table, or an array of all that the rows have. `none` says to people that there are
        none."""
        if self.json:
            print_json(rows)
        elif rows:
            print_table(columns, rows)
        else:
            print(none, file=sys.stderr)

    def results(self, results: Sequence[Result]) -> None:
        """What came of each thing: a line, or an object of an array. `CommandError` when something
        was refused."""
        if self.json:
            print_json([result.document() for result in results])
        else:
            for result in results:
                if result.refusal is None:
                    print(printable(result.line))
        refused = [f"{each.name}: {each.refusal}" for each in results if each.refusal is not None]
        if refused:
            raise CommandError(*map(printable, refused))


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one thing that was to be done."""

    name: str
    row: Row
    line: str
    """For people, when it was done."""
    refusal: Refusal | None = None

    def document(self) -> Row:
        """In JSON: `error` is null when it was done."""
        error = None if self.refusal is None else self.refusal.document()
        return {**self.row, "error": error}


def print_json(document: object) -> None:
    """One document, on one line."""
    print(json.dumps(document, ensure_ascii=False))


def console() -> Console:
    """Standard output. Without a terminal, or with NO_COLOR, nothing but text; without a terminal
    lines are as long as they are."""
    from rich.console import Console

    width = None if _is_terminal() else _WIDE
    return Console(width=width, markup=False, emoji=False, highlight=False)


def _is_terminal() -> bool:
    """Of standard output; None: whoever started this closed it."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_heading(name: str, about: str) -> None:
    """Above a table."""
    from rich.text import Text

    console().print(Text.assemble((printable(name), "bold"), "  ", (printable(about), "dim")))


def counted(number: int, noun: str) -> str:
    """Such as `1 partition`, `3 partitions`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_table(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Aligned, without lines around anything. On a terminal what does not fit is folded, but for
    the first column, which names, and numbers; elsewhere nothing is."""
    cells = [[cell(row.get(column.field)) for column in columns] for row in rows]
    lines = _drawn(columns, cells) if _is_terminal() else _aligned(columns, cells)
    for line in lines:
        print(line.rstrip())


def _drawn(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[str]:
    """With colours, as wide as the terminal, if what is not to be folded lets it."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    screen = console()
    widths = [
        max(map(cell_len, (column.heading, *(row[place] for row in cells))))
        for place, column in enumerate(columns)
    ]
    excess = sum(widths) + _GAP * (len(widths) - 1) - screen.width
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    for place, column in enumerate(columns):
        width = widths[place]
        if place and not column.is_number and excess > 0:
            width = min(width, max(width - excess, _READABLE))
            excess -= widths[place] - width
        table.add_column(
            column.heading,
            justify="right" if column.is_number else "left",
            style=column.style,
            overflow="fold",
            width=width,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    screen.width = _WIDE  # The columns have their widths; it is not to cut what sticks out.
    with screen.capture() as drawn:
        screen.print(table)
    return drawn.get().splitlines()


def _aligned(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[str]:
    from rich.cells import cell_len

    table = [[column.heading for column in columns], *cells]
    widths: list[int] = []
    for texts in zip(*table, strict=True):
        limit = _ALIGNED if widths else _ALIGNED_NAME
        widths.append(max((cell_len(text) for text in texts if cell_len(text) <= limit), default=0))
    lines = []
    for row in table:
        line = []
        for column, text, width in zip(columns, row, widths, strict=True):
            padding = " " * (width - cell_len(text))
            line.append(padding + text if column.is_number else text + padding)
        lines.append((" " * _GAP).join(line))
    return lines


def cell(value: object) -> str:
    """For people; what is not known or not there is a dash."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(cell, value)) or "-"
    return printable(str(value))
