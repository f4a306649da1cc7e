"""Versions that only Java's own clients know: what they sent to the real Kafka 4.4.0, and its
answers, byte for byte. (kafka-python's schemas, which `test_wire_replay.py` decodes with, end
before.)"""

from __future__ import annotations

import pytest

from compat_tests.golden import Fields, Golden, rows

GROUP, ABSENT = "gclassic", "no-such-group"
"""Whom the recorded requests delete: a group that has committed, and one that there is not."""
RECORDED = [
    row
    for row in rows("wire.jsonl")
    if (row["api"], row["version"]) in {("DeleteGroups", 3), ("UnregisterBroker", 0)}
]
DELETE_GROUPS = [row for row in RECORDED if row["api"] == "DeleteGroups"]
(UNREGISTER_NOBODY,) = (row for row in RECORDED if row["api"] == "UnregisterBroker")


@pytest.fixture
def golden(bootstrap: str, topic: str) -> Golden:
    golden = Golden(bootstrap)
    golden.await_coordinators()
    golden.fresh_topics({topic: {}})
    partition = {
        "partition_index": 0,
        "committed_offset": 1,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    committed = golden.call(
        "OffsetCommit",
        8,
        {
            "group_id": GROUP,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": topic, "partitions": [partition]}],
        },
    )
    assert not golden.errors(committed)
    return golden


def test_both_are_recorded() -> None:
    assert [GROUP in str(bytes.fromhex(row["request_hex"])) for row in DELETE_GROUPS] == [
        True,
        False,
    ]


@pytest.mark.parametrize("row", DELETE_GROUPS, ids=lambda row: row["step"])
def test_delete_groups_is_answered_as_by_kafka(golden: Golden, row: Fields) -> None:
    request, wanted = bytes.fromhex(row["request_hex"]), bytes.fromhex(row["response_hex"])
    assert golden.ask(request) == ("response", wanted)


def test_a_broker_that_there_is_not_is_unregistered_as_by_kafka(golden: Golden) -> None:
    request = bytes.fromhex(UNREGISTER_NOBODY["request_hex"])
    wanted = bytes.fromhex(UNREGISTER_NOBODY["response_hex"])
    assert golden.ask(request) == ("response", wanted)
