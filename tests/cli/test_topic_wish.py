"""Topics as options and as an image's variable name them."""

from __future__ import annotations

import pytest

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.topic_wish import first_topics


def test_options_alone() -> None:
    assert first_topics((), {}) == ({}, [])
    assert first_topics(("a:3", "b"), {"KAFKA_CREATE_TOPICS": ""}) == (
        {None: {"a": 3, "b": -1}},
        [],
    )


def test_a_variable() -> None:
    text = "a:1:1,b:3:1:compact,\n  c:2:1:delete, d, e:4:1:compact,"
    assert first_topics((), {"KAFKA_CREATE_TOPICS": text}) == (
        {None: {"a": 1, "d": -1}, "compact": {"b": 3, "e": 4}, "delete": {"c": 2}},
        [],
    )
    others = {"KAFKA_CREATE_TOPICS": "a:1:1\nb:2", "KAFKA_CREATE_TOPICS_SEPARATOR": "\n"}
    assert first_topics((), others) == ({None: {"a": 1, "b": 2}}, [])


def test_options_are_stronger() -> None:
    topics, notes = first_topics(("a:5",), {"KAFKA_CREATE_TOPICS": "a:1:1:compact,b:2:1"})
    assert topics == {None: {"a": 5, "b": 2}}
    assert notes == ["info: --topic a is stronger than KAFKA_CREATE_TOPICS"]


def test_replicas_that_one_broker_cannot_have_are_told() -> None:
    topics, (note,) = first_topics((), {"KAFKA_CREATE_TOPICS": "a:1:3"})
    assert topics == {None: {"a": 1}}
    assert note.startswith("warning: KAFKA_CREATE_TOPICS: a has 1 replica and not 3")


@pytest.mark.parametrize(
    "entry", [":1", "a:", "a:0", "a:x", "a:1:", "a:1:1:shrink", "a:1:1:compact:", "a:2147483648"]
)
def test_what_is_no_topic(entry: str) -> None:
    with pytest.raises(WrongUseError, match=r"KAFKA_CREATE_TOPICS: .*NAME:PARTITIONS:REPLICAS"):
        first_topics((), {"KAFKA_CREATE_TOPICS": f"ok:1:1,{entry}"})


def test_a_topic_that_is_named_twice() -> None:
    with pytest.raises(WrongUseError, match="a is named twice"):
        first_topics((), {"KAFKA_CREATE_TOPICS": "a:1:1,a:2:1:compact"})
