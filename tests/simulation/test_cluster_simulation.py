"""A cluster of three brokers, its clients and what can befall them, once for each seed.

make simulate SEEDS=1000            seeds 1 to 1000, here and of the single broker
python -m tests.simulation.cluster_scenario 42      the trace of one
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.simulation.cluster_scenario import simulate
from tests.simulation.seed_runs import seeds, trace_of_a_process

PROGRAM = Path(__file__).with_name("cluster_scenario.py")
FEW = 6
"""Seeds that between them meet every fault."""

FAULTS = [
    r"is killed",
    r"loses power",
    r"stops",
    r"the session of broker \d expires",
    r"lives, and loses its session",
    r"is cut off from \['broker",
    r"is cut off from \d+ clients",
    r"is deposed",
    r"the disk of broker \d refuses",
    r"will die at a change of its disk",
    r"the clock of broker \d is set",
    r"refused$",
    r"> broker-\d:9092 reset",
    r"broker-\d:9092 > .* reset",  # An answer is lost, of a request that was carried out.
    r"broker-\d:\d{5} > broker-\d:9092 opened",
    r"has no answer",
    r"\d+ records stand twice",  # They were sent again, although they were there.
]
"""As the trace tells them."""


@cache
def trace_of(seed: int) -> str:
    return "\n".join(simulate(seed).lines)


@pytest.mark.parametrize("seed", seeds())
def test_a_cluster_keeps_its_promises(seed: int) -> None:
    try:
        if seed <= FEW:
            trace_of(seed)
        else:
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
    missed = FAULTS
    for seed in range(1, FEW + 1):
        missed = [fault for fault in missed if not re.search(fault, trace_of(seed), re.MULTILINE)]
    assert not missed
