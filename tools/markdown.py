"""Pieces of the generated pages, as lines of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Its lines, and the empty one behind it."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        assert len(row) == len(head), row
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def paragraph(text: str) -> Iterator[str]:
    """One line, as long as it is, and the empty one behind it."""
    yield text.strip()
    yield ""


def version_range(first: int, last: int) -> str:
    """Both inclusive: `3 to 13`, or the only one."""
    return str(first) if first == last else f"{first} to {last}"
