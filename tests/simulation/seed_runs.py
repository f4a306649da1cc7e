"""Runs of a scenario by its seed: which seeds there are, and one in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

DEFAULT_SEEDS = 50


def seeds(failed_once: Sequence[int] = (), *, default: int = DEFAULT_SEEDS) -> list[int]:
    """As the environment has it; see the Makefile. Without a word there, so many as `default` says.
    `failed_once`: beyond those."""
    one = os.environ.get("SIMULATION_SEED")
    if one:
        return [int(one)]
    first = range(1, int(os.environ.get("SIMULATION_SEEDS") or default) + 1)
    return [*first, *(seed for seed in failed_once if seed not in first)]


def trace_of_a_process(program: Path, seed: int, hash_seed: int) -> str:
    """What `program`, which is in this folder, prints of that seed."""
    return subprocess.run(
        [sys.executable, program, str(seed)],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(program.parents[2])},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
