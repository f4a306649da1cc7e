from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.administration_events import (
    DeletedGroup,
    DeleteGroups,
    DescribedGroup,
    DescribedMember,
    GroupsDeleted,
    GroupsListed,
    ListedGroup,
    ListGroups,
)
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_groups import GROUP, RANGE, Stage


def listed(stage: Stage, *, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
    reply = stage.ask(ListGroups(stage.token(), states, types))
    assert isinstance(reply, GroupsListed)
    return [group.group_id for group in reply.groups]


def three_groups() -> Stage:
    """g is stable, s a simple consumer's, r is rebalancing."""
    stage = Stage()
    stage.stable("a")
    stage.feed(stage.commit_event()._replace(group_id="s"))
    stage.join(stage.join_event(group="r"))
    return stage


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        ((), (), ["g", "r"]),
        (("stable",), (), ["g"]),
        ((" STABLE ", "completingrebalance"), (), ["g", "r"]),
        (("Empty", "Dead", ""), (), []),
        ((), ("Classic", "nope"), ["g", "r"]),
        ((), (" classic ",), []),
        ((), ("consumer",), []),
        (("Stable",), ("consumer",), []),
    ],
)
def test_filters(states: tuple[str, ...], types: tuple[str, ...], expected: list[str]) -> None:
    """Kafka's answers: states may have spaces around, types not."""
    assert listed(three_groups(), states=states, types=types) == expected


def test_listing_says_what_they_are() -> None:
    stage = Stage()
    stage.stable("a", type="connect")
    reply = stage.ask(ListGroups("t"))
    assert reply == GroupsListed((ListedGroup(GROUP, "connect", "Stable", "classic"),))


def test_a_group_that_is_not_there_is_dead() -> None:
    assert Stage().describe("absent") == DescribedGroup(
        "absent",
        "Dead",
        code=ErrorCode.GROUP_ID_NOT_FOUND,
        message="Group absent not found.",
    )


def test_a_stable_group_tells_all() -> None:
    stage = Stage()
    (a,) = stage.stable("a", metadata=b"m")
    given = b"for " + a.encode()
    assert stage.describe() == DescribedGroup(
        GROUP,
        "Stable",
        "consumer",
        "range",
        (DescribedMember(a, None, "a", "/127.0.0.1", b"m", given),),
    )
    stage.feed(stage.join_event())
    assert stage.describe() == DescribedGroup(
        GROUP,
        "PreparingRebalance",
        "consumer",
        "",
        (
            DescribedMember(a, None, "a", "/127.0.0.1", b"", given),
            DescribedMember("c-2", None, "c", "/127.0.0.1", b"", b""),
        ),
    )
    stage.join(stage.join_event(a, RANGE))
    assert [member.assignment for member in stage.describe().members] == [given, b""]


def test_a_simple_consumers_group_has_no_type() -> None:
    stage = Stage()
    stage.commit("t", 5)
    assert stage.describe() == DescribedGroup(GROUP, "Empty")


def deleted(stage: Stage, *group_ids: str) -> tuple[DeletedGroup, ...]:
    reply = stage.ask(DeleteGroups(stage.token(), group_ids))
    assert isinstance(reply, GroupsDeleted)
    return reply.groups


def test_only_empty_groups_can_be_deleted() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    assert deleted(stage, GROUP, "absent", GROUP) == (
        DeletedGroup(GROUP, ErrorCode.NON_EMPTY_GROUP),
        DeletedGroup("absent", ErrorCode.GROUP_ID_NOT_FOUND),
    )
    stage.leave(a)
    assert deleted(stage, GROUP) == (DeletedGroup(GROUP, ErrorCode.NONE),)
    assert deleted(stage, GROUP) == (DeletedGroup(GROUP, ErrorCode.GROUP_ID_NOT_FOUND),)


def test_a_group_that_is_made_again_knows_nothing_of_the_old_one() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.leave(a)
    deleted(stage, GROUP)
    assert stage.join(stage.join_event(type="connect")).generation == 1
    assert stage.fetched() == {}
