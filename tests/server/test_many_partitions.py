"""Topics of many partitions: nobody waits for all of them, and whoever asks for one has it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.new_folders import FolderPlan
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server import replica_manager
from kafkalite.server.replica_manager import PER_TURN, ReplicaManager
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TopicPartition
from tests.server.cluster_of_two import two_brokers
from tests.server.others_turns import order_of, pieces_in_a_row
from tests.server.requests import batch, fetch, fetched, produce, produced
from tests.server.running import (
    PRODUCE,
    Running,
    crashed,
    served,
    simulated,
    start,
)

MANY = 3 * PER_TURN + 5


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many logs are opened or set aside in each turn."""
    turns: list[int] = []
    go_on, opened, set_aside = (
        ReplicaManager._go_on,
        LogDirectory.open_partition,
        LogDirectory._set_aside,
    )

    def turn(self: ReplicaManager, *, makes_folders: bool = False) -> None:
        turns.append(0)
        go_on(self, makes_folders=makes_folders)

    # `Any`: of either, passed on as it comes.
    def count(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **options: Any) -> Any:
            turns[-1] += 1
            return call(*args, **options)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", turn)
        patch.setattr(LogDirectory, "open_partition", count(opened))
        patch.setattr(LogDirectory, "_set_aside", count(set_aside))
        yield turns


def no_disk(plan: FolderPlan, files: Files) -> None:
    raise OSError(28, "No space left on device")


def folders_of(running: Running, topic: str) -> list[str]:
    return [name for name in running.files.list("") if name.startswith(f"{topic}-")]


@served()
async def test_they_are_made_and_dropped_a_few_at_a_time(running: Running) -> None:
    with counted() as turns:
        await running.create("t", MANY)
        await running.wait_ms(MANY)
        assert (max(turns), sum(turns)) == (PER_TURN, MANY)
        turns.clear()
        await running.delete("t")
        await running.wait_ms(MANY)
        assert (max(turns), sum(turns)) == (PER_TURN, MANY)


@served()
async def test_each_can_be_used_as_soon_as_the_answer_is_there(running: Running) -> None:
    client = await running.client()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
        patch.setattr(FolderPlan, "build", no_disk)
        image = await running.create("t", MANY)
        assert await running.read("t", partition=MANY - 1) == []
        read = await client.ask(fetch(image.id, {MANY - 2: 0}), 13, FetchResponse)
        assert fetched(read)[0].error_code == ErrorCode.NONE
        assert folders_of(running, "t") == [], "what has no records needs no folder yet"
        assert await running.produce("t", b"x", partition=MANY - 1) == 0
        assert await running.read("t", partition=MANY - 1) == [b"x"]
        appended = await client.ask(produce("t", {MANY: batch(b"x")}), PRODUCE, ProduceResponse)
        assert produced(appended)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@served()
async def test_a_moment_later_each_has_its_folder(running: Running) -> None:
    await running.create("t", MANY)
    await running.wait_ms(MANY)
    assert sorted(folders_of(running, "t")) == sorted(f"t-{n}" for n in range(MANY))
    for index in range(MANY):
        assert running.files.list(f"t-{index}") == [
            f"{0:020}.log",
            "leader-epoch-checkpoint",
            "partition.metadata",
        ]
        log = running.partition("t", index).log
        epochs = running.files.open_read(f"t-{index}/leader-epoch-checkpoint")
        assert epochs.read(0, 100) == log.epochs.content() == b"0\n1\n0 0\n"
    assert await running.produce("t", b"x", partition=MANY - 1) == 0


@served()
async def test_the_folders_of_a_few_are_there_with_the_answer(running: Running) -> None:
    await running.create("t", PER_TURN)
    assert len(folders_of(running, "t")) == PER_TURN


@served()
async def test_one_that_is_deleted_and_made_again_at_once_begins_anew(running: Running) -> None:
    await running.create("t", MANY)
    for index in (0, MANY - 1):
        await running.produce("t", b"old", partition=index)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
        await running.delete("t")
        await running.create("t", MANY)
        await running.delete("t")
        await running.create("t", MANY)
        for index in (0, MANY - 1):
            assert await running.read("t", partition=index) == []
            assert await running.produce("t", b"new", partition=index) == 0
            assert await running.read("t", partition=index) == [b"new"]
    await running.create("other")  # Which has the turns go on.
    await running.wait_ms(MANY)
    assert sorted(folders_of(running, "t")) == sorted(f"t-{n}" for n in range(MANY))
    assert await running.read("t", partition=MANY - 1) == [b"new"]


@served()
async def test_log_dirs_tell_of_all(running: Running) -> None:
    client = await running.client()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
        await running.create("t", MANY)
        response = await client.ask(DescribeLogDirsRequest(topics=None), 4, DescribeLogDirsResponse)
        (topic,) = response.results[0].topics
        assert [each.partition_index for each in topic.partitions] == list(range(MANY))


@simulated
async def test_settings_reach_one_that_moves_at_the_same_time(simulation: Simulation) -> None:
    async with two_brokers(simulation, MemoryFiles()) as (running, other):
        other.create("t", [1, 2])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
            other.change("t", 0, isr=[1])
            other.configure("t", "max.message.bytes", "1234")
            assert running.partition("t").config.max_message_bytes == 1234


# Over a stop.


async def with_records(simulation: Simulation, files: MemoryFiles) -> None:
    async with start(simulation, files) as running:
        await running.create("t", MANY)
        for index in range(MANY):
            await running.produce("t", b"%d" % index, partition=index)
        await running.client()


@pytest.mark.parametrize("is_clean", [True, False])
@simulated
async def test_a_start_opens_them_when_they_are_asked_for(
    simulation: Simulation, is_clean: bool
) -> None:
    files = MemoryFiles()
    await with_records(simulation, files)
    if not is_clean:
        async with crashed(simulation, files) as running:
            await running.produce("t", b"more", partition=MANY - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
        async with start(simulation, files) as running:
            assert running.broker._storage.directory.logs == {}
            more = [] if is_clean else [b"more"]
            assert await running.read("t", partition=MANY - 1) == [b"%d" % (MANY - 1), *more]
    async with start(simulation, files) as running:
        directory = running.broker._storage.directory
        assert directory.claimed.was_clean is is_clean, "what a crash left is not checked yet"
        key = TopicPartition("t", 7)
        assert directory.checkpoints.high_watermarks[key] == 1, "of those not opened as well"
        assert await running.read("t", partition=7) == [b"7"]
        await running.wait_ms(MANY)
        assert len(directory.logs) == MANY
    async with start(simulation, files) as running:
        assert running.broker._storage.directory.claimed.was_clean


@pytest.mark.parametrize("is_clean", [True, False])
@simulated
async def test_what_takes_long_to_check_after_a_crash_is_checked_before_anybody_asks(
    simulation: Simulation, is_clean: bool
) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t", 2)
        await running.produce("t", bytes(1000), partition=1)
    if not is_clean:
        async with crashed(simulation, files):
            pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
        patch.setattr(replica_manager, "LARGE_BYTES", 1000)
        async with start(simulation, files) as running:
            opened = list(running.broker._storage.directory.logs)
            assert opened == ([] if is_clean else [TopicPartition("t", 1)])


@simulated
async def test_a_stop_amid_a_deletion_leaves_no_name(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t", MANY)
        await running.wait_ms(MANY)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
            await running.delete("t")
            assert len(folders_of(running, "t")) == MANY
    assert not [name for name in files.list("") if name in {f"t-{n}" for n in range(MANY)}]


@simulated
async def test_a_crash_amid_a_deletion_is_made_up_for_by_the_next_start(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFiles()
    with pytest.MonkeyPatch.context() as patch:
        async with crashed(simulation, files) as running:
            await running.create("t", 3)
            patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
            await running.delete("t")
            await running.create("t", 1)
    assert files.list("t-2")
    with caplog.at_level(logging.WARNING):
        async with start(simulation, files) as running:
            assert await running.produce("t", b"x") == 0
            await running.wait_ms(MANY)
            assert folders_of(running, "t") == ["t-0"]
    assert caplog.messages == []


@served()
async def test_their_sizes_are_told_in_several_turns_and_others_have_theirs(
    running: Running,
) -> None:
    many = await running.connect("many")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaManager, "_go_on", lambda self, makes_folders=False: None)
        await running.create("gone", MANY)
        await running.create("t", MANY)
        with order_of(LogDirectory, "open_partition", turn_cost=2_000) as order:
            answer = many.send(DescribeLogDirsRequest(topics=None), 4, DescribeLogDirsResponse)
            deleted = await running.delete("gone")
            await running.wait_ms(100)
        assert deleted.error_code == ErrorCode.NONE
        assert MANY < order.count("piece") < 2 * MANY
        assert pieces_in_a_row(order) <= 4
        (topic,) = answer.result().results[0].topics
        assert (topic.name, len(topic.partitions)) == ("t", MANY)
