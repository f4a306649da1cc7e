"""How far the reading of a file is, on standard error."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

_RECORDS_A_LOOK = 1_000


@contextmanager
def progress_of(file: BinaryIO) -> Iterator[Callable[[], None]]:
    """Call what this gives after each record. A bar is shown when standard error is a terminal, and
    the file one whose size is known."""
    total = _size_bytes(file)
    if total is None:
        yield lambda: None
        return
    records = 0
    with bytes_done(total) as tell:

        def advanced() -> None:
            nonlocal records
            records += 1
            if records % _RECORDS_A_LOOK == 0:
                tell(file.tell())

        yield advanced


@contextmanager
def bytes_done(total: int) -> Iterator[Callable[[int], None]]:
    """Call what this gives with the number of bytes that are done. A bar is shown when standard
    error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def _size_bytes(file: BinaryIO) -> int | None:
    """None: a pipe, a terminal or the like."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
