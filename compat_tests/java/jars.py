"""Kafka's jars, of several versions, and our own programs with them: Maven brings the jars into its
own repository, once, and compiles the programs.

python -m compat_tests.java.jars    # now, rather than in the first test that wants them
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal, get_args

HERE = Path(__file__).parent
Module = Literal["tools", "clients-4.4", "clients-3.9", "clients-2.8", "streams"]
SOURCES: dict[Module, Path] = {"clients-2.8": HERE / "clients", "streams": HERE / "streams"}
"""Of our own programs. What is compiled with the oldest clients runs with all."""


@cache
def class_path(module: Module) -> str:
    """Of a module of `pom.xml`, with all that it needs."""
    written = HERE / module / "target" / "classpath.txt"
    if not _is_good(written, module):
        _ask_maven()
    return written.read_text()


def programs(module: Module) -> Path:
    """The folder of the classes that were compiled with this module, one of `SOURCES`."""
    class_path(module)
    return HERE / module / "target" / "classes"


def _is_good(written: Path, module: Module) -> bool:
    read = [HERE / "pom.xml", HERE / module / "pom.xml"]
    if module in SOURCES:
        read += SOURCES[module].glob("*.java")
    if not written.exists() or written.stat().st_mtime < max(p.stat().st_mtime for p in read):
        return False
    return all(Path(jar).exists() for jar in written.read_text().split(os.pathsep))


def _ask_maven() -> None:
    """All modules at once, since most of the time goes into Maven's start."""
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "compile", "dependency:build-classpath"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]


if __name__ == "__main__":
    for _module in get_args(Module):
        class_path(_module)
