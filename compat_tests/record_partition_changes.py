"""Ask Kafka's own `PartitionChangeBuilder` what becomes of partitions: the answers that
`tests/controller/test_golden_changes.py` holds ours against.

    python -m compat_tests.record_partition_changes

A line is a case and its answer: of the partition the replicas, in-sync ones, leader, those being
added, those being removed, recovery state, eligible and last known ones; of what it is to be the
replicas, in-sync ones, those being added, those being removed, recovery state, and who has stopped
uncleanly; then who may lead, the kind of election, and `min.insync.replicas` (`-`: none are
eligible). The answer has the fields of the record, `same` for those that stay.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from random import Random  # noqa: TID251  # seeded.

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "tests" / "controller" / "partition-changes.txt"
CASES = 800
_BROKERS = (1, 2, 3, 4, 17, 33)
"""Some that Java's hash sets do not have in the order of their numbers."""


def case(chance: Random) -> str:
    """One that may be: those in sync and those eligible are replicas, and not the same."""
    replicas = chance.sample(_BROKERS, chance.randint(1, 4))
    isr = some(chance, replicas)
    others = [id for id in replicas if id not in isr]
    eligible = some(chance, others) if chance.random() < 0.5 else []
    leader = chance.choice([*isr, -1] if chance.random() < 0.3 else isr or [-1])
    last = some(chance, replicas)[:2] if leader == -1 and chance.random() < 0.7 else []
    removing = [id for id in replicas if chance.random() < 0.1]
    adding = [id for id in replicas if id not in removing and chance.random() < 0.1]
    wanted, to_add, to_remove = replicas, adding, removing
    if chance.random() < 0.15:  # A reassignment begins.
        target = chance.sample(_BROKERS, chance.randint(1, 3))
        to_remove = [id for id in replicas if id not in target]
        to_add = [id for id in target if id not in replicas]
        wanted = [*target, *to_remove]
    to_be = list(isr)
    if chance.random() < 0.7:
        to_be = [id for id in isr if chance.random() < 0.6]
        to_be += [id for id in wanted if id not in to_be and chance.random() < 0.15]
    recovering = int(chance.random() < 0.15)
    stopped = chance.choice(replicas) if chance.random() < 0.2 else None
    if stopped in to_be:
        to_be.remove(stopped)
    may_lead = [id for id in _BROKERS if chance.random() < 0.6 and id != stopped]
    words = [
        *map(told, (replicas, isr, [leader], adding, removing, [recovering], eligible, last)),
        *map(told, (wanted, to_be, to_add, to_remove)),
        told([recovering and chance.randint(0, 1)]),
        told([] if stopped is None else [stopped]),
        told(may_lead),
        chance.choice(["ONLINE", "ONLINE", "PREFERRED", "UNCLEAN"]),
        chance.choice(["-", "1", "2", "2", "2", "3"]),
    ]
    return " ".join(words)


def some(chance: Random, ids: list[int]) -> list[int]:
    return chance.sample(ids, chance.randint(0, len(ids)))


def told(ids: list[int]) -> str:
    return ",".join(map(str, ids)) or "-"


def answers(cases: list[str]) -> list[str]:
    """Kafka's, one for each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases"
        file.write_text("".join(f"{each}\n" for each in cases))
        java = ["java", str(HERE / "PartitionChanges.java"), str(file)]
        asked = subprocess.run(
            [HERE / "oracle" / "kafka", *java], capture_output=True, text=True, check=True
        )
    return asked.stdout.splitlines()


if __name__ == "__main__":
    chance = Random(966)
    cases = list(dict.fromkeys(case(chance) for _ in range(CASES)))
    GOLDEN.write_text(
        "".join(f"{case} = {made}\n" for case, made in zip(cases, answers(cases), strict=True))
    )
