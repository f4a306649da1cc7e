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
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    records = 0
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=status.st_size)

        def advanced() -> None:
            nonlocal records
            records += 1
            if records % _RECORDS_A_LOOK == 0:
                bar.update(task, completed=file.tell())

        yield advanced
