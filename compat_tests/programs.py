"""The programs in other languages that put their libraries through `language_cases.py`: what it
takes to build them, and the building.

Each language's folder has its lock file, which names exactly what is installed; it comes from the
language's ordinary registry the first time, and what is built stays in folders that git ignores.

    python -m compat_tests.programs    # build all; prints their marks, as `pytest -m` takes them

What cannot be built on this machine is named, and left out; where CI=true, it is a failure.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
GO = HERE / "go"
NODE = HERE / "node"
RUST = HERE / "rust"
BUILD_S = 900
"""How long one build may take on a machine that does much else; 10 to 60 s on an idle one."""

Command = tuple[str, ...]


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command)} in {folder}:\n{(done.stdout + done.stderr)[-4_000:]}"
        )


def build_go() -> Command:
    _run(GO, "go", "build", "-o", "build/clients", ".")
    return (str(GO / "build" / "clients"),)


def build_node() -> Command:
    installed = NODE / "node_modules" / ".package-lock.json"
    wanted = (NODE / "package.json", NODE / "package-lock.json")
    changed = max(file.stat().st_mtime for file in wanted)
    if not installed.exists() or installed.stat().st_mtime < changed:
        _run(NODE, "npm", "ci", "--no-progress")
        installed.touch()
    # @platformatic/kafka wants a newer Node than distributions have: on Linux, npm brings one.
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "")
    brought = NODE / "node_modules" / f"node-linux-{machine}" / "bin" / "node"
    return (str(brought) if brought.exists() else "node", str(NODE / "main.js"))


def build_rust() -> Command:
    _run(RUST, "cargo", "build", "--locked", "--quiet")
    return (str(RUST / "target" / "debug" / "clients"),)


def build_kcat() -> Command:
    """Nothing to build: it is a package of the system."""
    return ("kcat",)


class Language(NamedTuple):
    """Named as its mark is."""

    name: str
    tools: Sequence[str]
    """What must be on PATH."""
    remedy: str
    build: Callable[[], Command]
    """Builds what is not built yet; gives the command that runs it. `RuntimeError`, with what the
    compiler said."""

    def missing(self) -> list[str]:
        return [tool for tool in self.tools if shutil.which(tool) is None]


LANGUAGES = {
    language.name: language
    for language in (
        Language("go", ("go", "cc"), "Go 1.26 or newer and a C compiler", build_go),
        Language("node", ("node", "npm"), "Node.js and npm", build_node),
        Language("rust", ("cargo", "cc", "make"), "Rust, make and a C compiler", build_rust),
        Language("kcat", ("kcat",), "the package kcat", build_kcat),
    )
}


@cache
def program(name: str) -> Command:
    """The command that runs the language's program, which is built if need be.

    `RuntimeError` names what is not on PATH.
    """
    language = LANGUAGES[name]
    missing = language.missing()
    if missing:
        raise RuntimeError(f"not on PATH: {', '.join(missing)} ({language.remedy})")
    return language.build()


def main() -> int:
    present = []
    for language in LANGUAGES.values():
        missing = language.missing()
        if missing:
            what = f"not on PATH: {', '.join(missing)} ({language.remedy})"
            print(f"clients in {language.name}: left out, {what}", file=sys.stderr)
        else:
            present.append(language)
    with ThreadPoolExecutor() as pool:  # where one downloads or links, the next compiles.
        builds = [pool.submit(language.build) for language in present]
    for language, build in zip(present, builds, strict=True):
        error = build.exception()
        if error is not None:
            print(f"clients in {language.name}: {error}", file=sys.stderr)
            return 1
    print(" or ".join(language.name for language in present))
    return int(os.environ.get("CI") == "true" and len(present) < len(LANGUAGES))


if __name__ == "__main__":
    sys.exit(main())
