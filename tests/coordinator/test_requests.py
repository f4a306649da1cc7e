"""What a heartbeat must look like, in the real Kafka's words."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat
from kafkalite.coordinator.groups.consumer.requests import check_heartbeat
from kafkalite.coordinator.groups.settings import ConsumerSettings
from kafkalite.errors import ErrorCode, KafkaError
from tests.coordinator.sample_consumers import id_of

JOIN = ConsumerHeartbeat(
    None, "g", "m", 0, None, None, 30_000, ("t",), None, None, {}, "c", "/h", "drawn"
)
GO_ON = JOIN._replace(member_epoch=1, rebalance_timeout_ms=-1, topics=None, owned=None)


@pytest.mark.parametrize(
    "event",
    [
        JOIN,
        JOIN._replace(topics=None, regex=""),
        JOIN._replace(member_id="", must_bring_id=False),
        JOIN._replace(assignor="range", instance_id="i", rack_id="r"),
        GO_ON,
        GO_ON._replace(member_epoch=-1),
        GO_ON._replace(member_epoch=-2, instance_id="i"),
    ],
)
def test_what_is_taken(event: ConsumerHeartbeat) -> None:
    check_heartbeat(event, ConsumerSettings())


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (JOIN._replace(member_id=""), "MemberId can't be empty."),
        (JOIN._replace(member_id=" \t"), "MemberId can't be empty."),
        (GO_ON._replace(member_id="", must_bring_id=False), "MemberId can't be empty."),
        (
            GO_ON._replace(member_id="", member_epoch=-1, must_bring_id=False),
            "MemberId can't be empty.",
        ),
        (JOIN._replace(group_id=""), "GroupId can't be empty."),
        (JOIN._replace(instance_id=""), "InstanceId can't be empty."),
        (JOIN._replace(rack_id=""), "RackId can't be empty."),
        (
            JOIN._replace(rebalance_timeout_ms=-1),
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (JOIN._replace(owned=None), "TopicPartitions must be empty when (re-)joining."),
        (
            JOIN._replace(owned={id_of("t"): frozenset({0})}),
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            JOIN._replace(topics=None),
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining.",
        ),
        (GO_ON._replace(member_epoch=-2), "InstanceId can't be null."),
        (GO_ON._replace(member_epoch=-3), "MemberEpoch is invalid."),
    ],
)
def test_what_is_refused(event: ConsumerHeartbeat, message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_heartbeat(event, ConsumerSettings())
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, message)


def test_an_assignor_that_is_not_there() -> None:
    with pytest.raises(KafkaError) as refused:
        check_heartbeat(JOIN._replace(assignor="sticky"), ConsumerSettings())
    assert refused.value.code is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert refused.value.message == (
        "ServerAssignor sticky is not supported. Supported assignors: uniform, range."
    )
