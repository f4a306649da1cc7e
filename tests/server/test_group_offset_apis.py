"""OffsetCommit, OffsetFetch and OffsetDelete over a whole broker, at every version."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkalite.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkalite.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kafkalite.testing.simulation import Simulation
from kafkalite.types import Uuid
from tests.server.cluster_of_two import two_brokers
from tests.server.group_requests import COMMIT, commit, commit_request, committed, find
from tests.server.running import Running, crashed, served, simulated, start

UNKNOWN_ID = Uuid(bytes(15) + b"\x63")
NOTHING = -1


async def fetch_groups(
    running: Running, version: int, *groups: OffsetFetchRequestGroup
) -> list[OffsetFetchResponseGroup]:
    request = OffsetFetchRequest(groups=list(groups))
    response = await (await running.client()).ask(request, version, OffsetFetchResponse)
    return response.groups


def seen(group: OffsetFetchResponseGroup) -> list[tuple[str | Uuid, int, int, int]]:
    """Topic, partition, offset and code of each."""
    return [
        (topic.name or topic.topic_id, each.partition_index, each.committed_offset, each.error_code)
        for topic in group.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", range(2, 10))
@served()
async def test_what_is_committed_at_any_version_is_fetched_at_any(
    running: Running, version: int
) -> None:
    await running.create("topic", 3)
    await find(running)
    client = await running.client()
    request = commit_request("topic", 7, partition=1)
    request.topics[0].partitions[0].committed_metadata = "about it"
    request.topics[0].partitions[0].committed_leader_epoch = 4
    response = await client.ask(request, version, OffsetCommitResponse)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
    for fetch_version in range(1, 8):
        asked = OffsetFetchRequestTopic(name="topic", partition_indexes=[1, 2, 77])
        fetch = OffsetFetchRequest(group_id="group", topics=[asked])
        answer = await client.ask(fetch, fetch_version, OffsetFetchResponse)
        (topic,) = answer.topics
        assert [each.committed_offset for each in topic.partitions] == [7, NOTHING, NOTHING]
        assert topic.partitions[0].metadata == "about it"
        if fetch_version >= 5:
            assert topic.partitions[0].committed_leader_epoch == (4 if version >= 6 else -1)


@pytest.mark.parametrize("version", [8, 9])
@served()
async def test_several_groups_at_once_and_all_that_one_has(running: Running, version: int) -> None:
    await running.create("topic", 2)
    await running.create("other")
    await find(running)
    await commit(running, "topic", 5, partition=1)
    await commit(running, "other", 6)
    await commit(running, "topic", 8, group="second")
    wanted = OffsetFetchRequestTopics(name="topic", partition_indexes=[0])
    answers = await fetch_groups(
        running,
        version,
        OffsetFetchRequestGroup(group_id="group", topics=None),
        OffsetFetchRequestGroup(group_id="second", topics=[wanted]),
        OffsetFetchRequestGroup(group_id="third", topics=[wanted]),
        OffsetFetchRequestGroup(group_id="group", topics=[]),
    )
    assert [answer.group_id for answer in answers] == ["group", "second", "third", "group"]
    assert seen(answers[0]) == [("topic", 1, 5, 0), ("other", 0, 6, 0)]
    assert seen(answers[1]) == [("topic", 0, 8, 0)]
    assert seen(answers[2]) == [("topic", 0, NOTHING, 0)]
    assert seen(answers[3]) == []
    assert await fetch_groups(running, version) == []


@pytest.mark.parametrize("version", range(2, 8))
@served()
async def test_null_topics_are_all_from_version_2_on(running: Running, version: int) -> None:
    await running.create("topic")
    await find(running)
    await commit(running, "topic", 5)
    request = OffsetFetchRequest(group_id="group", topics=None)
    answer = await (await running.client()).ask(request, version, OffsetFetchResponse)
    assert [(t.name, p.committed_offset) for t in answer.topics for p in t.partitions] == [
        ("topic", 5)
    ]


@served()
async def test_topic_ids_from_version_10_on(running: Running) -> None:
    topic = await running.create("topic", 2)
    await find(running)
    partition = OffsetCommitRequestPartition(partition_index=1, committed_offset=3)
    beyond = OffsetCommitRequestPartition(partition_index=9, committed_offset=3)
    request = OffsetCommitRequest(
        group_id="group",
        topics=[
            OffsetCommitRequestTopic(topic_id=topic.id, partitions=[partition, beyond]),
            OffsetCommitRequestTopic(topic_id=UNKNOWN_ID, partitions=[partition]),
        ],
    )
    response = await (await running.client()).ask(request, 10, OffsetCommitResponse)
    codes = [
        (t.topic_id, p.partition_index, p.error_code) for t in response.topics for p in t.partitions
    ]
    assert codes == [
        (topic.id, 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (topic.id, 1, ErrorCode.NONE),
        (UNKNOWN_ID, 1, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert await committed(running, "topic", partition=1) == 3
    wanted = [
        OffsetFetchRequestTopics(topic_id=UNKNOWN_ID, partition_indexes=[0]),
        OffsetFetchRequestTopics(topic_id=topic.id, partition_indexes=[0, 1]),
    ]
    some, everything = await fetch_groups(
        running,
        10,
        OffsetFetchRequestGroup(group_id="group", topics=wanted),
        OffsetFetchRequestGroup(group_id="group", topics=None),
    )
    assert seen(some) == [
        (topic.id, 0, NOTHING, 0),
        (topic.id, 1, 3, 0),
        (UNKNOWN_ID, 0, NOTHING, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert seen(everything) == [(topic.id, 1, 3, 0)]


@served()
async def test_what_does_not_exist_is_refused_at_its_place_and_stands_first(
    running: Running,
) -> None:
    await running.create("topic")
    await find(running)
    good = OffsetCommitRequestPartition(committed_offset=3)
    bad = OffsetCommitRequestPartition(partition_index=5, committed_offset=3)
    request = OffsetCommitRequest(
        group_id="group",
        topics=[
            OffsetCommitRequestTopic(name="topic", partitions=[good]),
            OffsetCommitRequestTopic(name="absent", partitions=[good]),
            OffsetCommitRequestTopic(name="topic", partitions=[bad]),
        ],
    )
    client = await running.client()
    response = await client.ask(request, COMMIT, OffsetCommitResponse)
    codes = [
        (t.name, p.partition_index, p.error_code) for t in response.topics for p in t.partitions
    ]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [("absent", 0, unknown), ("topic", 5, unknown), ("topic", 0, 0)]
    assert await committed(running, "topic") == 3
    request.group_id = "no such group"
    request.generation_id_or_member_epoch = 5
    request.topics = request.topics[1:]
    response = await client.ask(request, COMMIT, OffsetCommitResponse)
    assert len(response.topics) == 2, "the group is not asked"
    nothing = await client.ask(OffsetCommitRequest(group_id="group"), COMMIT, OffsetCommitResponse)
    assert nothing.topics == []


@pytest.mark.parametrize(
    ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
@served()
async def test_a_refusal_of_the_whole_stands_at_every_partition(
    running: Running, version: int, code: ErrorCode
) -> None:
    await running.create("topic")
    await find(running)
    request = commit_request("topic", 3)
    request.generation_id_or_member_epoch, request.member_id = 3, "m"
    response = await (await running.client()).ask(request, version, OffsetCommitResponse)
    assert response.topics[0].partitions[0].error_code == code


@served(offset_metadata_max_bytes="5")
async def test_long_metadata_is_refused(running: Running) -> None:
    await running.create("topic")
    await find(running)
    request = commit_request("topic", 3)
    request.topics[0].partitions[0].committed_metadata = "longer"
    response = await (await running.client()).ask(request, COMMIT, OffsetCommitResponse)
    assert response.topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE


@served()
async def test_without_a_coordinator_every_version_says_so_in_its_way(running: Running) -> None:
    await running.create("topic")
    assert await commit(running, "topic", 3) == ErrorCode.NOT_COORDINATOR
    client = await running.client()
    asked = OffsetFetchRequestTopic(name="topic", partition_indexes=[0])
    request = OffsetFetchRequest(group_id="group", topics=[asked])
    first = await client.ask(request, 1, OffsetFetchResponse)
    (partition,) = first.topics[0].partitions
    assert (partition.committed_offset, partition.error_code) == (
        NOTHING,
        ErrorCode.NOT_COORDINATOR,
    )
    second = await client.ask(request, 2, OffsetFetchResponse)
    assert (second.error_code, second.topics) == (ErrorCode.NOT_COORDINATOR, [])
    group = OffsetFetchRequestGroup(group_id="group", topics=None)
    (later,) = await fetch_groups(running, 8, group)
    assert (later.error_code, later.topics) == (ErrorCode.NOT_COORDINATOR, [])


@served()
async def test_offsets_go_with_their_topic(running: Running) -> None:
    topic = await running.create("topic")
    await running.create("kept")
    await find(running)
    await commit(running, "topic", 5)
    await commit(running, "kept", 6)
    await running.delete("topic")
    assert await committed(running, "topic") == NOTHING
    await running.create("topic")
    assert running.topic("topic").id != topic.id
    assert (await committed(running, "topic"), await committed(running, "kept")) == (NOTHING, 6)


@simulated
async def test_offsets_go_with_a_topic_that_is_deleted_as_soon_as_the_broker_is_there(
    simulation: Simulation,
) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("topic")
        await find(running)
        await commit(running, "topic", 5)
    async with start(simulation, files) as running:  # Its coordinators are not made yet.
        await running.delete("topic")
        await running.create("topic")
        assert await committed(running, "topic") == NOTHING


@simulated
async def test_commits_survive_a_stop_and_a_crash(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("topic")
        await find(running)
        await commit(running, "topic", 5)
    async with crashed(simulation, files) as running:
        assert await committed(running, "topic") == 5
        await commit(running, "topic", 8)
    async with start(simulation, files) as running:
        assert await committed(running, "topic") == 8


@served()
async def test_some_offsets_are_deleted(running: Running) -> None:
    await running.create("topic", 3)
    await find(running)
    await commit(running, "topic", 5)
    await commit(running, "topic", 6, partition=1)
    request = OffsetDeleteRequest(
        group_id="group",
        topics=[
            OffsetDeleteRequestTopic(
                name="topic",
                partitions=[OffsetDeleteRequestPartition(partition_index=n) for n in (0, 2, 9)],
            ),
            OffsetDeleteRequestTopic(name="no", partitions=[OffsetDeleteRequestPartition()]),
        ],
    )
    client = await running.client()
    response = await client.ask(request, 0, OffsetDeleteResponse)
    codes = [
        (t.name, p.partition_index, p.error_code) for t in response.topics for p in t.partitions
    ]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert response.error_code == ErrorCode.NONE
    assert codes == [("topic", 9, unknown), ("topic", 0, 0), ("topic", 2, 0), ("no", 0, unknown)]
    assert await committed(running, "topic") == NOTHING
    assert await committed(running, "topic", partition=1) == 6


@pytest.mark.parametrize(
    ("group", "code"),
    [("", ErrorCode.INVALID_GROUP_ID), ("nobody", ErrorCode.GROUP_ID_NOT_FOUND)],
)
@served()
async def test_offsets_of_no_group_are_not_deleted(
    running: Running, group: str, code: ErrorCode
) -> None:
    await find(running)
    request = OffsetDeleteRequest(group_id=group)
    response = await (await running.client()).ask(request, 0, OffsetDeleteResponse)
    assert (response.error_code, response.topics) == (code, [])


@simulated
async def test_what_is_not_committed_in_time_is_to_be_asked_again(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("__consumer_offsets", [1, 2])
        other.create("topic", [1, 2])
        client = await running.client()
        answer = client.send(commit_request("topic", 5), COMMIT, OffsetCommitResponse)
        await running.wait_ms(4_900)
        assert not answer.done(), "the other replica has not fetched it"
        code = (await answer).topics[0].partitions[0].error_code
        assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        listing = client.send(ListGroupsRequest(), 5, ListGroupsResponse)
        await running.wait_ms(4_900)
        assert not listing.done()
        assert (await listing).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        other.change("__consumer_offsets", isr=[1])
        assert await commit(running, "topic", 6) == ErrorCode.NONE
        assert await committed(running, "topic") == 6


@simulated
async def test_what_is_committed_late_is_answered_then(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("__consumer_offsets", [1, 2])
        other.create("topic", [1, 2])
        client = await running.client()
        answer = client.send(commit_request("topic", 5), COMMIT, OffsetCommitResponse)
        listing = client.send(ListGroupsRequest(), 5, ListGroupsResponse)
        await running.wait_ms(100)
        other.change("__consumer_offsets", isr=[1])
        assert (await answer).topics[0].partitions[0].error_code == ErrorCode.NONE
        assert [group.group_id for group in (await listing).groups] == ["group"]
