"""The command `kafkalite` on a disk that fails: a program to be run as the process of a broker.

    python failing_disk.py FOLDER serve --data d

While there is a file `FOLDER.fails`, what it names (as `write EIO`; `sync` and `read` likewise) of
each file in that folder ends with that error: the disk can be asked, and does not do it.
"""

from __future__ import annotations

import errno
import os
import runpy
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

COMMAND = (sys.executable, str(Path(__file__).resolve()))
CALLS = {"write": ("write",), "sync": ("fsync", "fdatasync"), "read": ("pread", "read")}
"""What of `os` each of them stops. The descriptor is the first argument."""


def flag_of(folder: Path) -> Path:
    """The file that makes it fail."""
    return folder.with_name(f"{folder.name}.fails")


def fail(folder: Path) -> None:
    """Have the disk at `folder` fail as its flag says, from now on."""
    paths: dict[int, str] = {}
    real_open = os.open

    def opening(path: str, flags: int, mode: int = 0o777) -> int:
        fd = real_open(path, flags, mode)
        paths[fd] = os.path.abspath(path)
        return fd

    def failing(call: Callable[P, T], kind: str) -> Callable[P, T]:
        @wraps(call)
        def replaced(*args: P.args, **kwargs: P.kwargs) -> T:
            (fd, *_) = args
            path = paths.get(fd) if isinstance(fd, int) else None
            if path is not None and path.startswith(f"{folder}{os.sep}"):
                flag = flag_of(folder)
                text = flag.read_text() if flag.exists() else ""
                failing_kind, _, name = text.partition(" ")
                if failing_kind == kind:
                    number = getattr(errno, name)
                    raise OSError(number, os.strerror(number), path)
            return call(*args, **kwargs)

        return replaced

    os.open = opening  # type: ignore[assignment]  # As the product calls it.
    for kind, names in CALLS.items():
        for name in names:
            if hasattr(os, name):
                setattr(os, name, failing(getattr(os, name), kind))


if __name__ == "__main__":
    sys.path.pop(0)  # This folder, whose modules are not for the broker.
    fail(Path(sys.argv.pop(1)).resolve())
    sys.argv[0] = "kafkalite"
    runpy.run_module("kafkalite", run_name="__main__", alter_sys=True)
