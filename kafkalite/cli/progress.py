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
    total = _size_bytes(file) if sys.stderr.isatty() else None
    if total is None:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    records = 0
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def advanced() -> None:
            nonlocal records
            records += 1
            if records % _RECORDS_A_LOOK == 0:
                bar.update(task, completed=file.tell())

        yield advanced


def _size_bytes(file: BinaryIO) -> int | None:
    """None: a pipe, a terminal or the like."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
