"""What one request makes of its group: large groups, topics that come, regular expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

import pytest

from kafkalite.coordinator.groups.consumer import turn
from kafkalite.coordinator.groups.consumer.patterns import resolve
from kafkalite.coordinator.groups.consumer.state import Member, ResolvedRegex
from kafkalite.coordinator.groups.consumer.targets import metadata_hash
from kafkalite.coordinator.groups.consumer.turn import MANY_MEMBERS
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs
from tests.coordinator.sample_consumers import ConsumerStage, id_of, image_of


def test_a_large_group_is_not_assigned_with_every_member_that_joins() -> None:
    stage = ConsumerStage(t=1)
    for number in range(MANY_MEMBERS + 2):
        stage.join_as(f"m{number}")
    assert (stage.group.epoch, stage.group.assignment_epoch) == (103, 101)
    stage.advance(MANY_MEMBERS + 1)
    stage.go_on("m0")
    assert stage.group.assignment_epoch == 101
    stage.advance(1)
    stage.go_on("m0")
    assert stage.group.assignment_epoch == 103


def test_a_huge_group_waits_no_longer_than_kafkas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MANY_MEMBERS", 1)
    monkeypatch.setattr(turn, "_LONGEST_MS", 3)
    stage = ConsumerStage(t=1)
    for number in range(6):
        stage.join_as(f"m{number}")
    before = stage.group.assignment_epoch
    stage.advance(2)
    stage.go_on("m0")
    assert stage.group.assignment_epoch == before
    stage.advance(1)
    stage.go_on("m0")
    assert stage.group.assignment_epoch == stage.group.epoch


class Uncounted(dict[str, Member]):
    """Members that nobody goes through."""

    def _refuse(self) -> NoReturn:
        raise AssertionError("all members were looked at")

    __iter__ = keys = values = items = copy = _refuse


def test_one_request_in_a_large_group_looks_at_no_other_member() -> None:
    stage = ConsumerStage(t=1, u=1)
    for number in range(MANY_MEMBERS + 2):
        stage.join_as(f"m{number}", instance=f"i{number}")
    stage.group.members = Uncounted(stage.group.members)
    stage.join_as("new", assignor="range")
    stage.join_as("other", ["u"], regex="t")
    stage.go_on("m1", instance="i1")
    stage.beat(stage.event("m1", -2, instance="i1"))
    stage.join_as("back", instance="i1", assignor="uniform")
    stage.beat(stage.event("m2", -1))
    assert stage.group.epoch == MANY_MEMBERS + 7
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups


def test_a_regular_expression_is_held_against_topics_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def told(
        regexes: Iterable[str], image: MetadataImage, now: TimestampMs
    ) -> Mapping[str, ResolvedRegex]:
        asked.append(list(regexes))
        return resolve(asked[-1], image, now)

    monkeypatch.setattr(turn, "resolve", told)
    stage = ConsumerStage(t1=1, u=1)
    stage.join_as("a", None, regex="t.*")
    stage.join_as("b", None, regex="t.*")
    stage.join_as("c", None, regex="u")
    assert asked == [["t.*"], ["u"]]
    stage.set_topics({"t1": 1, "t2": 1, "u": 1})
    stage.go_on("a")
    stage.go_on("b")
    assert asked[2:] == [["t.*", "u"]]
    assert stage.group.regexes["t.*"].topics == {"t1", "t2"}


def test_the_hash_is_of_what_is_read_now() -> None:
    stage = ConsumerStage(t=1, u=1)

    def read(*names: str) -> int:
        return metadata_hash(names, image_of(stage.counts))

    stage.join_as("a", ["t"])
    stage.join_as("b", ["t"])
    assert stage.group.metadata_hash == read("t")
    stage.join_as("c", None, regex="u|v")
    assert stage.group.metadata_hash == read("t", "u")
    stage.set_topics({"t": 2, "u": 1, "v": 1})
    stage.join_as("d", ["t"])
    assert stage.group.metadata_hash == read("t", "u", "v")
    stage.go_on("c", regex="t")
    assert stage.group.metadata_hash == read("t")
    stage.set_topics({"t": 3})
    stage.join_as("e", ["t"])
    assert stage.group.metadata_hash == read("t")


def test_a_regular_expression_and_topics_that_come() -> None:
    stage = ConsumerStage(t1=1, x=1)
    joined = stage.join_as("a", None, regex="t.*")
    assert joined.assigned == {id_of("t1"): (0,)}
    assert "RegularExpression" in stage.written
    before = len(stage.log)
    stage.set_topics({"t1": 1, "x": 1, "y": 1})
    assert stage.go_on("a").assigned is None
    assert len(stage.log) == before
    stage.set_topics({"t1": 1, "t2": 1, "x": 1})
    assert stage.go_on("a").assigned == {id_of("t1"): (0,), id_of("t2"): (0,)}
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups


def test_a_regular_expression_lives_as_long_as_someone_subscribes_by_it() -> None:
    stage = ConsumerStage(t1=2, u=1)
    stage.join_as("a", None, regex="t.*")
    stage.join_as("b", ["u"], regex="t.*")
    stage.settle("a", "b")
    assert list(stage.group.regexes) == ["t.*"]
    stage.go_on("a", regex="")
    assert list(stage.group.regexes) == ["t.*"]
    stage.go_on("b", regex="u")
    assert list(stage.group.regexes) == ["u"]
    stage.settle("a", "b")
    assert stage.owned() == {"a": {}, "b": {"u": (0,)}}
    stage.beat(stage.event("b", -1))
    assert stage.group.regexes == {}


def test_a_wrong_regular_expression_joins_nothing() -> None:
    stage = ConsumerStage()
    refused = stage.why(stage.event("a", 0, regex="(", owned={}, rebalance_ms=1))
    assert refused.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert stage.core.recorded.consumer_groups == {}


def test_topics_that_a_regular_expression_matches_no_more() -> None:
    stage = ConsumerStage(t1=1, t2=1)
    stage.join_as("a", None, regex="t.*")
    told = stage.beat(stage.event("a", 2, regex="t2"))
    assert (told.member_epoch, told.assigned) == (2, {id_of("t2"): (0,)})
    assert stage.beat(stage.event("a", 2, owned={"t2": [0]})).member_epoch == 3
