from __future__ import annotations

from typing import get_args

from kafkalite.controller.replica_events import AlteredPartition, ReplicaBody, ReplicaEvent
from kafkalite.errors import ErrorCode
from tests.controller.sample_cluster import uuid


def test_someone_waits_for_each_answer() -> None:
    for event in get_args(ReplicaEvent):
        assert event._fields[0] == "token"
        assert "token" not in event._field_defaults
    assert len(get_args(ReplicaBody)) == len(get_args(ReplicaEvent))


def test_what_is_left_out_is_not_told() -> None:
    refused = AlteredPartition(uuid(1), 0, ErrorCode.INVALID_UPDATE_VERSION)
    assert (refused.leader, refused.leader_epoch, refused.partition_epoch) == (-1, -1, -1)
