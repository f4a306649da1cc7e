"""A cluster of three brokers, its clients and what can befall them, once for each seed.

make simulate SEEDS=1000            seeds 1 to 1000, here and of the single broker
python -m tests.simulation.cluster_scenario 42      the trace of one
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.cluster_scenario import simulate
from tests.simulation.seed_runs import seeds, trace_of_a_process

PROGRAM = Path(__file__).with_name("cluster_scenario.py")


@pytest.mark.parametrize("seed", seeds())
def test_a_cluster_keeps_its_promises(seed: int) -> None:
    try:
        simulate(seed)
    except BaseException as error:
        error.add_note(f"The same again: make simulate SEED={seed}")
        raise


def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    one, same = (
        trace_of_a_process(PROGRAM, 5, hash_seed=1),
        trace_of_a_process(PROGRAM, 5, hash_seed=2),
    )
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
