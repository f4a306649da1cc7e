"""Requests that kafka-python does not know, as it treats its own."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from kafkalite.cli.consumer_groups import describe_consumer_groups
from kafkalite.cli.wire_request import WireRequest, newest_version
from kafkalite.errors import ErrorCode
from kafkalite.protocol.codec import encode
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

REQUEST = ConsumerGroupDescribeRequest(group_ids=["g"])
KEY = 69


def admin_of(versions: dict[int, tuple[int, int]]) -> KafkaAdminClient:
    """One that is connected to a broker with these."""
    data = SimpleNamespace(api_versions=versions)
    # It has no more than what is looked at.
    return cast(
        "KafkaAdminClient", SimpleNamespace(_manager=SimpleNamespace(broker_version_data=data))
    )


def test_a_request_and_its_answer() -> None:
    wire = WireRequest(REQUEST, 1, ConsumerGroupDescribeResponse)
    wire.with_header(correlation_id=7, client_id="me")
    parts = request_frame(REQUEST, 1, correlation_id=7, client_id="me")
    assert wire.encode(framed=True, header=True) == b"".join(map(bytes, parts))  # type: ignore[arg-type]  # Bytes all.
    assert wire.expect_response()
    assert (wire.header.api_key, wire.header.api_version) == (KEY, 1)
    told = ConsumerGroupDescribeResponse(groups=[DescribedGroup(group_id="g")])
    buffer = BytesIO((7).to_bytes(4) + b"\0" + encode(told, 1) + b"what comes behind it")
    answers = wire.header.get_response_class()
    assert answers.parse_header(buffer).correlation_id == 7
    assert answers.decode(buffer).message == told


@pytest.mark.parametrize(
    ("versions", "newest"),
    [({}, None), ({KEY: (0, 0)}, 0), ({KEY: (0, 9)}, 1), ({KEY: (5, 9)}, None)],
)
def test_the_newest_version_that_both_know(
    versions: dict[int, tuple[int, int]], newest: int | None
) -> None:
    assert newest_version(admin_of(versions), ConsumerGroupDescribeRequest) == newest


def test_an_older_broker_is_not_asked() -> None:
    described = describe_consumer_groups(admin_of({}), ["g"])
    assert described["g"].error_code == ErrorCode.UNSUPPORTED_VERSION
