"""`KEY=VALUE` and `NAME:PARTITIONS`."""

from __future__ import annotations

import pytest

from kafkalite.cli.assignments import parse_assignments
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.topic_wish import parse_topics


def test_values_may_be_empty_and_have_any_sign() -> None:
    assert parse_assignments(["a=1", " b =x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize("text", ["a", "=1", " =1", ""])
def test_an_assignment_has_a_key(text: str) -> None:
    with pytest.raises(WrongUseError, match="expected KEY=VALUE"):
        parse_assignments([text])


def test_a_key_is_set_once() -> None:
    with pytest.raises(WrongUseError, match="a is set twice"):
        parse_assignments(["a=1", "a=2"])


def test_topics_keep_their_order_and_may_leave_partitions_to_the_broker() -> None:
    assert list(parse_topics(["b:3", "a"]).items()) == [("b", 3), ("a", -1)]
    assert parse_topics(["a", "b:2"], partitions=5) == {"a": 5, "b": 2}


@pytest.mark.parametrize(
    "text", ["", ":3", "a:", "a:0", "a:x", "a:-1", "a:1:2", "a:٣", "a:2147483648"]
)
def test_a_topic_has_a_name_and_a_number_of_partitions(text: str) -> None:
    with pytest.raises(WrongUseError, match="expected NAME or NAME:PARTITIONS"):
        parse_topics([text])


def test_a_topic_is_named_once() -> None:
    with pytest.raises(WrongUseError, match="a is named twice"):
        parse_topics(["a", "a:2"])
