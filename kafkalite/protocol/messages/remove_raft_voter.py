# Made by tools/generate_messages.py, digest 5ec360e053071829; do not edit.
"""RemoveRaftVoter, API key 81: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, string, uuid
from kafkalite.protocol.schema import Request, Response
from kafkalite.types import Uuid


class RemoveRaftVoterRequest(
    Request,
    api_key=81,
    versions="0",
    flexible="0+",
    listeners="controller broker",
):
    cluster_id: str | None = string("0+", nullable="0+")
    voter_id: int = int32("0+")
    voter_directory_id: Uuid = uuid("0+")


class RemoveRaftVoterResponse(Response, api_key=81, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+", ignorable=True)
