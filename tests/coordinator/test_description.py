"""What tools are told about consumer groups."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.events import (
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
)
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_consumers import ConsumerStage, id_of
from tests.coordinator.sample_groups import GROUP


def part(topic: str, *partitions: int) -> DescribedPartitions:
    return DescribedPartitions(id_of(topic), topic, partitions)


def test_a_group_in_the_midst_of_it() -> None:
    stage = ConsumerStage(t=2, u=1)
    stage.join_as("a", ["t", "u"], instance="i")
    stage.join_as("b")
    told = stage.describe_consumers()
    assert told._replace(members=()) == DescribedConsumerGroup(
        GROUP,
        "Reconciling",
        3,
        3,
        "uniform",
        last_rebalance="b joins",
        last_rebalance_ms=stage.now,
    )
    members = {member.member_id: member for member in told.members}
    assert members["a"] == DescribedConsumer(
        "a",
        "i",
        None,
        2,
        "c",
        "/127.0.0.1",
        ("t", "u"),
        "",
        (part("t", 0, 1), part("u", 0)),
        (part("t", 0), part("u", 0)),
    )
    assert members["b"].assigned == ()
    assert members["b"].target == (part("t", 1),)


def test_what_is_being_given_up_is_told_behind_the_rest() -> None:
    stage = ConsumerStage(t=2, u=1)
    stage.join_as("a", ["t", "u"])
    stage.beat(stage.event("a", 2, topics=["t"]))
    stage.join_as("b")
    assert stage.group.members["a"].revoking
    held = {member.member_id: member.assigned for member in stage.describe_consumers().members}
    assert held == {"a": (part("t", 0, 1), part("u", 0)), "b": ()}


def test_topics_that_are_gone_are_left_out() -> None:
    stage = ConsumerStage(t=2)
    stage.join_as("a")
    stage.set_topics({})
    assert stage.describe_consumers().members[0].assigned == ()


def test_no_group() -> None:
    assert ConsumerStage().describe_consumers() == DescribedConsumerGroup(
        GROUP, code=ErrorCode.GROUP_ID_NOT_FOUND, message="Group g not found."
    )
