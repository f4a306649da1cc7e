"""Requests that name topics by id, and one that names none: the same on kafkalite and on the real
Kafka."""

from __future__ import annotations

from uuid import UUID

import pytest

from compat_tests.golden import Golden

UNKNOWN_TOPIC, UNKNOWN_ID = 3, 100
NO_ID = UUID(int=0)

by_name_and_by_id = pytest.mark.parametrize(
    ("version", "code"), [(12, UNKNOWN_TOPIC), (13, UNKNOWN_ID)]
)


@by_name_and_by_id
def test_produce(bootstrap: str, version: int, code: int) -> None:
    golden = Golden(bootstrap)
    partition = {"index": 0, "records": golden.script["batch"]()}
    topic = {"name": "", "topic_id": NO_ID, "partition_data": [partition]}
    asked = {"transactional_id": None, "acks": -1, "timeout_ms": 1_000, "topic_data": [topic]}
    (answer,) = golden.call("Produce", version, asked)["responses"]
    assert answer["partition_responses"][0]["error_code"] == code


@by_name_and_by_id
def test_fetch(bootstrap: str, version: int, code: int) -> None:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
    asked = {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 1,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": "", "topic_id": NO_ID, "partitions": [partition]}],
    }
    (answer,) = Golden(bootstrap).call("Fetch", version, asked)["responses"]
    assert answer["partitions"][0]["error_code"] == code
