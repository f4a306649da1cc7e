"""What the real broker answered to bad requests (`tests/data/errors.json`), asked of our
controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalite.controller.events import (
    NewTopic,
    PartitionAssignment,
    RefusedTopic,
    TopicToDelete,
)
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_request_header
from kafkalite.protocol.messages.create_topics import CreateTopicsRequest
from kafkalite.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import Cluster

ERRORS = Path(__file__).parent.parent / "data" / "errors.json"


def cases(*prefixes: str) -> list[Any]:  # Any: JSON.
    found = [c for c in json.loads(ERRORS.read_text()) if c["case"].startswith(prefixes)]
    assert found
    return [pytest.param(case, id=case["case"]) for case in found]


def cluster() -> Cluster:
    """As `make/errors.py` sets it up."""
    made = Cluster(1)
    made.create(NewTopic("good"), NewTopic("dot.ted"))
    return made


def expected(case: dict[str, Any]) -> list[tuple[int, str]]:  # Any: JSON.
    return [(error["code"], error["message"]) for error in case["errors"]]


@pytest.mark.parametrize("case", cases("create-"))
def test_create_topics(case: dict[str, Any]) -> None:  # Any: JSON.
    frame = bytes.fromhex(case["request_hex"])
    header, position = read_request_header(frame, 4)
    request = decode(CreateTopicsRequest, header.request_api_version, frame, position)
    answers = cluster().create(
        *(
            NewTopic(
                topic.name,
                topic.num_partitions,
                topic.replication_factor,
                tuple(
                    PartitionAssignment(a.partition_index, tuple(map(BrokerId, a.broker_ids)))
                    for a in topic.assignments
                ),
                tuple((config.name, config.value) for config in topic.configs),
            )
            for topic in request.topics
        )
    )
    refused = [(a.code.value, a.message) for a in answers if isinstance(a, RefusedTopic)]
    assert refused == expected(case)


@pytest.mark.parametrize("case", cases("delete-unknown-topic", "delete-unknown-id"))
def test_delete_topics(case: dict[str, Any]) -> None:  # Any: JSON.
    frame = bytes.fromhex(case["request_hex"])
    header, position = read_request_header(frame, 4)
    request = decode(DeleteTopicsRequest, header.request_api_version, frame, position)
    answer = cluster().delete(*(TopicToDelete(t.name, t.topic_id) for t in request.topics))
    refused = [(t.code.value, t.message) for t in answer.topics]
    assert refused == expected(case)
