"""What Kafka's own `PartitionChangeBuilder` made of hundreds of cases
(`compat_tests/record_partition_changes.py` says how a line reads)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.controller.partition_change import (
    Candidates,
    Election,
    Rules,
    Target,
    partition_change,
)
from kafkalite.metadata.image import TopicImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import BrokerId, Uuid
from tests.controller.sample_cluster import uuid
from tests.controller.sample_partitions import change, partition

GOLDEN = Path(__file__).with_name("partition-changes.txt").read_text().splitlines()


def folder(broker: int) -> Uuid:
    return uuid(100 + broker)


def numbers(words: str) -> tuple[BrokerId, ...]:
    return () if words == "-" else tuple(BrokerId(int(each)) for each in words.split(","))


def kafkas(answer: str) -> PartitionChangeRecord | None:
    if answer == "nothing":
        return None
    names = (
        "isr leader replicas removing_replicas adding_replicas leader_recovery_state directories"
        " eligible_leader_replicas last_known_elr"
    )
    fields: dict[str, object] = {}
    for name, words in zip(names.split(), answer.split(" "), strict=True):
        if name in ("leader", "leader_recovery_state"):
            fields[name] = int(words)
        elif words != "same":
            ids = numbers(words)
            is_folder = name == "directories"
            fields[name] = [folder(id - 100) for id in ids] if is_folder else list(ids)
    return change(**fields)


def without_who_lacks(
    case: str, found: PartitionChangeRecord | None
) -> PartitionChangeRecord | None:
    """The differences: a replica that the change takes away is not eligible after it, and nobody is
    beside those in sync if they are enough."""
    words = case.split(" ")
    answer = change() if found is None else found
    now = numbers(words[6])
    replicas = numbers(words[0]) if answer.replicas is None else answer.replicas
    isr = numbers(words[1]) if answer.isr is None else answer.isr
    told = now if answer.eligible_leader_replicas is None else answer.eligible_leader_replicas
    is_enough = words[16] != "-" and len(isr) >= int(words[16])
    kept = [] if is_enough else [id for id in told if id in replicas]
    answer.eligible_leader_replicas = None if kept == list(now) else kept
    return None if answer == change() else answer


def ours(case: str) -> PartitionChangeRecord | None:
    words = case.split(" ")
    replicas, isr, (leader,), adding, removing, (state,), eligible, last = map(numbers, words[:8])
    before = partition(
        replicas,
        isr,
        leader,
        directories=tuple(map(folder, replicas)),
        adding_replicas=adding,
        removing_replicas=removing,
        leader_recovery_state=state,
        eligible_leader_replicas=eligible,
        last_known_elr=last,
    )
    to_be, in_sync, to_add, to_remove, (recovery,), stopped = map(numbers, words[8:14])
    target = Target(to_be, in_sync, to_add, to_remove, recovery, *stopped)
    return partition_change(
        TopicImage("t", uuid(1), (before,)),
        0,
        target,
        Candidates(dict.fromkeys(numbers(words[14]), ())),
        rules=Rules(Election[words[15]], None if words[16] == "-" else int(words[16])),
        directory_for=folder,
    )


@pytest.mark.parametrize("first", range(0, len(GOLDEN), 100))
def test_partitions_become_what_kafka_makes_of_them(first: int) -> None:
    for line in GOLDEN[first : first + 100]:
        case, _, answer = line.partition(" = ")
        assert ours(case) == without_who_lacks(case, kafkas(answer)), line
