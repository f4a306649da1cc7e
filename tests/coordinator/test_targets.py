"""Target assignments, and what they are made of."""

from __future__ import annotations

from kafkalite.config import keys
from kafkalite.coordinator.groups.consumer.state import ConsumerGroup, Member, ResolvedRegex
from kafkalite.coordinator.groups.consumer.targets import (
    ASSIGNORS,
    make_targets,
    metadata_hash,
    preferred_assignor,
)
from kafkalite.types import TimestampMs
from tests.coordinator.sample_consumers import id_of, image_of

IMAGE = image_of({"t": 2, "u": 1})


def test_the_hash_is_of_topics_that_are_there() -> None:
    assert metadata_hash(["none"], IMAGE) == metadata_hash([], IMAGE) == 0
    both = metadata_hash(["t", "u"], IMAGE)
    assert both == metadata_hash(["u", "none", "t"], IMAGE) != 0
    assert both != metadata_hash(["t"], IMAGE)
    assert both != metadata_hash(["t", "u"], image_of({"t": 3, "u": 1}))


def test_there_is_an_assignor_for_each_name_that_the_setting_takes() -> None:
    assert tuple(ASSIGNORS) == keys.ASSIGNORS


def test_the_assignor_that_most_ask_for() -> None:
    assert preferred_assignor({"uniform": 1, "range": 2}, "uniform") == "range"
    assert preferred_assignor({}, "uniform") == "uniform"


def test_names_and_regular_expressions_count_together() -> None:
    regexes = {"u.*": ResolvedRegex(frozenset({"u"}), 0, TimestampMs(0))}
    members = {"a": Member("a", topics=("t", "none")), "b": Member("b", regex="u.*")}
    assert make_targets(ConsumerGroup("g"), members, regexes, {}, IMAGE, "uniform") == {
        "a": {id_of("t"): (0, 1)},
        "b": {id_of("u"): (0,)},
    }


def test_who_has_something_keeps_it() -> None:
    members = {name: Member(name, topics=("t",)) for name in ("a", "b")}
    group = ConsumerGroup("g", members={"a": members["a"]})
    before = {"a": {id_of("t"): (1,)}}
    made = make_targets(group, members, {}, before, IMAGE, "uniform")
    assert made == {"a": {id_of("t"): (1,)}, "b": {id_of("t"): (0,)}}


def test_members_that_read_nothing_have_nothing() -> None:
    group, members = ConsumerGroup("g"), {"a": Member("a")}
    for assignor in ("range", "uniform"):
        assert make_targets(group, members, {}, {}, IMAGE, assignor) == {"a": {}}
