"""A cluster of three brokers, its clients and what can befall them, once for each seed.

make simulate SEEDS=1000            seeds 1 to 1000, here and of the single broker
python -m tests.simulation.cluster_scenario 42      the trace of one
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.cluster_scenario import simulate

PROGRAM = Path(__file__).with_name("cluster_scenario.py")
DEFAULT_SEEDS = 50


def seeds() -> list[int]:
    """As the environment has it; see the Makefile."""
    one = os.environ.get("SIMULATION_SEED")
    if one:
        return [int(one)]
    return [*range(1, int(os.environ.get("SIMULATION_SEEDS") or DEFAULT_SEEDS) + 1)]


@pytest.mark.parametrize("seed", seeds())
def test_a_cluster_keeps_its_promises(seed: int) -> None:
    try:
        simulate(seed)
    except BaseException as error:
        error.add_note(f"The same again: make simulate SEED={seed}")
        raise


def trace_of_a_process(seed: int, hash_seed: int) -> str:
    return subprocess.run(
        [sys.executable, PROGRAM, str(seed)],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(PROGRAM.parents[2])},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    one, same = trace_of_a_process(5, hash_seed=1), trace_of_a_process(5, hash_seed=2)
    assert one == same
    assert len(one.splitlines()) > 500


def test_between_them_the_seeds_meet_every_fault() -> None:
    missed = {
        "is killed",
        "loses power",
        "stops",
        "expires",
        "is cut off",
        "is deposed",
        "reset",
        "refused",
    }
    for seed in range(1, 9):
        trace = "\n".join(simulate(seed).lines)
        missed -= {fault for fault in missed if fault in trace}
    assert not missed
