"""ListGroups, DescribeGroups and DeleteGroups over a whole broker, at every version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import JournalRecord
from kafkalite.coordinator.partitioner import partition_for
from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkalite.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafkalite.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkalite.server import turns
from kafkalite.server.coordinator_driver import CoordinatorDriver
from kafkalite.server.group_coordinators import GroupCoordinators
from kafkalite.testing.simulation import Simulation
from tests.server.group_requests import commit, committed, find, heartbeat, stable_member
from tests.server.others_turns import order_of, pieces_in_a_row
from tests.server.running import Running, served, simulated, start

ALL_OPERATIONS = 3400
NOT_ASKED = -(1 << 31)


async def listed(
    running: Running,
    version: int = 5,
    *,
    states: tuple[str, ...] = (),
    types: tuple[str, ...] = (),
) -> list[tuple[str, str, str, str]]:
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    response = await (await running.client()).ask(request, version, ListGroupsResponse)
    assert response.error_code == ErrorCode.NONE
    return sorted(
        (each.group_id, each.protocol_type, each.group_state, each.group_type)
        for each in response.groups
    )


async def described(
    running: Running, *groups: str, version: int = 6, operations: bool = False
) -> list[DescribedGroup]:
    request = DescribeGroupsRequest(groups=list(groups), include_authorized_operations=operations)
    response = await (await running.client()).ask(request, version, DescribeGroupsResponse)
    return response.groups


async def deleted(running: Running, *groups: str, version: int = 3) -> list[tuple[str, int]]:
    request = DeleteGroupsRequest(groups_names=list(groups))
    response = await (await running.client()).ask(request, version, DeleteGroupsResponse)
    return [(each.group_id, each.error_code) for each in response.results]


@served()
async def test_many_groups_are_described_in_several_turns_and_others_have_theirs(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await find(running)
    member = await stable_member(running, "g")
    order: list[str] = []
    many, one = await running.connect("many"), await running.connect("one")
    names = ["g", *(f"absent-{number}" for number in range(9))]
    monkeypatch.setattr(turns, "TURN_COST", 100)
    slow = many.send(DescribeGroupsRequest(groups=names), 6, DescribeGroupsResponse)
    slow.add_done_callback(lambda _: order.append("many"))
    quick = one.send(ListGroupsRequest(), 5, ListGroupsResponse)
    quick.add_done_callback(lambda _: order.append("one"))
    await running.wait_ms()
    assert order == ["one", "many"]
    states = {each.group_id: each.group_state for each in slow.result().groups}
    assert states.pop("g") == "Stable"
    assert states == dict.fromkeys(names[1:], "Dead")
    assert await heartbeat(running, member, "g") == ErrorCode.NONE


@served()
async def test_without_the_topic_there_are_no_groups(running: Running) -> None:
    assert await listed(running) == []
    (group,) = await described(running, "group")
    assert group.error_code == ErrorCode.NOT_COORDINATOR
    assert await deleted(running, "group") == [("group", ErrorCode.NOT_COORDINATOR)]


@pytest.mark.parametrize("version", range(6))
@served()
async def test_groups_of_all_partitions_are_listed(running: Running, version: int) -> None:
    await running.create("topic")
    await find(running)
    await stable_member(running)
    await commit(running, "topic", 5, group="simple")
    stable = ("Stable" if version >= 4 else "", "classic" if version >= 5 else "")
    empty = ("Empty" if version >= 4 else "", "classic" if version >= 5 else "")
    assert await listed(running, version) == [
        ("group", "consumer", *stable),
        ("simple", "", *empty),
    ]


@served()
async def test_filters(running: Running) -> None:
    await running.create("topic")
    await find(running)
    await stable_member(running)
    await commit(running, "topic", 5, group="simple")

    async def names(states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
        return [each[0] for each in await listed(running, states=states, types=types)]

    assert await names(("stable",)) == ["group"]
    assert await names(("Stable", "Empty")) == ["group", "simple"]
    assert await names(("Nonsense",)) == []
    assert await names((), ("Classic",)) == ["group", "simple"]
    assert await names((), ("consumer",)) == []


@pytest.mark.parametrize("version", range(7))
@served()
async def test_a_stable_group_is_described(running: Running, version: int) -> None:
    await find(running)
    joined = await stable_member(running)
    asks = version >= 3
    (group,) = await described(running, "group", version=version, operations=asks)
    assert (group.error_code, group.error_message) == (ErrorCode.NONE, None)
    assert (group.group_id, group.group_state) == ("group", "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    assert group.authorized_operations == (ALL_OPERATIONS if asks else NOT_ASKED)
    (member,) = group.members
    assert (member.member_id, member.client_id) == (joined.member_id, "client")
    assert member.client_host.startswith("/")
    assert bytes(member.member_metadata) == b"about me"
    assert bytes(member.member_assignment) == b"for about me"


@served()
async def test_what_does_not_exist_is_dead_or_not_found(running: Running) -> None:
    await find(running)
    (old,) = await described(running, "nobody", version=5, operations=True)
    assert (old.error_code, old.group_state) == (ErrorCode.NONE, "Dead")
    assert old.authorized_operations == ALL_OPERATIONS
    (new,) = await described(running, "nobody", version=6, operations=True)
    assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert new.error_message == "Group nobody not found."
    assert new.authorized_operations == NOT_ASKED
    assert await described(running) == []


@served()
async def test_many_groups_come_by_their_partitions_and_repeats_too(running: Running) -> None:
    await find(running)
    asked = ["b", "a", "", "b", "c"]
    found = [group.group_id for group in await described(running, *asked)]
    assert found == sorted(asked, key=lambda name: partition_for(name, 50))


@pytest.mark.parametrize("version", range(4))
@served()
async def test_a_group_without_members_is_deleted_with_its_offsets(
    running: Running, version: int
) -> None:
    await running.create("topic")
    await find(running)
    joined = await stable_member(running)
    await commit(running, "topic", 5, group="simple")
    results = await deleted(running, "simple", "group", "nobody", "simple", version=version)
    assert sorted(results) == [
        ("group", ErrorCode.NON_EMPTY_GROUP),
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
        ("simple", ErrorCode.NONE),
    ]
    assert await committed(running, "topic", group="simple") == -1
    assert [each[0] for each in await listed(running)] == ["group"]
    assert await heartbeat(running, joined) == ErrorCode.NONE


@simulated
async def test_while_a_partition_is_loaded_groups_are_not_listed(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("topic")
        await find(running)
        await commit(running, "topic", 5)
        await commit(running, "topic", 6)
    turns: list[Callable[[], None]] = []

    def hold(
        driver: CoordinatorDriver[Event, JournalRecord], at_ms: int, callback: Callable[[], None]
    ) -> None:
        turns.append(callback)

    monkeypatch.setattr(CoordinatorDriver, "_again_at", hold)
    settings = {"offsets.load.buffer.size": "1"}
    async with start(simulation, files, settings=settings) as running:
        client = await running.client()
        response = await client.ask(ListGroupsRequest(), 5, ListGroupsResponse)
        assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert response.groups == []
        assert await committed(running, "topic") == -100 - ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        while turns:
            turns.pop()()
        assert [each[0] for each in await listed(running)] == ["group"]
        assert await committed(running, "topic") == 6


@pytest.mark.parametrize("how", ["gone", "late"])
@served()
async def test_all_groups_are_deleted_whoever_still_waits(
    running: Running, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The real Kafka carries the whole request out, too."""
    await running.create("topic")
    await find(running)
    names = [f"g-{number}" for number in range(9)]
    for name in names:
        await commit(running, "topic", 5, group=name)
    client = await running.connect(how)
    ask = GroupCoordinators.ask

    def ask_and_hang_up(*args: Any) -> None:  # `Any`: passed on as they come.
        if how == "gone":
            client.close()
        ask(*args)

    services = running.broker._services
    late = services.config._replace(offsets_commit_timeout_ms=0)
    with monkeypatch.context() as patch:
        patch.setattr(GroupCoordinators, "ask", ask_and_hang_up)
        if how == "late":
            patch.setattr(services, "config", late)
        with order_of(GroupCoordinators, "ask", turn_cost=100) as order:
            answer = client.send(DeleteGroupsRequest(groups_names=names), 2, DeleteGroupsResponse)
            await running.wait_ms(5)
    assert order.count("piece") == 9
    assert pieces_in_a_row(order) == 2
    if how == "gone":
        assert isinstance(answer.exception(), ConnectionError)
    else:
        codes = {each.error_code for each in answer.result().results}
        assert codes == {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert await listed(running) == []
