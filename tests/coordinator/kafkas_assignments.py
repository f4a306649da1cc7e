"""What Kafka's own assignors gave: `assignments.jsonl`, the output of `Assignments.java`, run by
`compat_tests/oracle/kafka java`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkalite.coordinator.groups.assignors.subject import Partitions, Subject, Subscriber
from kafkalite.coordinator.java_maps import hash_map_order
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.types import Uuid


class Assigned(NamedTuple):
    """One assignment of Kafka's."""

    subject: Subject
    made: dict[str, Partitions]


def assigned_by(assignor: str, wanted: Callable[[Subject], bool]) -> list[Assigned]:
    """Those of that assignor, of subjects that are wanted."""
    lines = (Path(__file__).parent / "assignments.jsonl").read_text().splitlines()
    found: list[Assigned] = []
    before: dict[str, Partitions] = {}
    for row in map(json.loads, lines):
        each = _assigned(row, before if row["step"] else {})
        before = each.made
        if row["assignor"] == assignor and wanted(each.subject):
            found.append(each)
    return found


def cases(assigned: list[Assigned]) -> pytest.MarkDecorator:
    """A test for each."""
    return pytest.mark.parametrize("kafkas", assigned, ids=map(str, range(len(assigned))))


def _assigned(row: Any, before: dict[str, Partitions]) -> Assigned:  # Any: JSON.
    members = {member["id"]: member for member in row["members"]}
    ordered = [members[member_id] for member_id in hash_map_order(members, java_hash)]
    subscribers = (
        Subscriber(
            member["id"],
            member["instance"],
            tuple(map(_uuid, member["topics"])),
            before.get(member["id"], {}),
        )
        for member in ordered
    )
    counts = {_uuid(topic): count for topic, count in row["counts"].items()}
    made = {member_id: _partitions(parts) for member_id, parts in row["made"].items()}
    return Assigned(Subject(tuple(subscribers), counts), made)


def _uuid(text: str) -> Uuid:
    return Uuid(bytes.fromhex(text))


def _partitions(parts: dict[str, list[int]]) -> Partitions:
    return {_uuid(topic): tuple(indexes) for topic, indexes in parts.items()}
