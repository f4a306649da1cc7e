"""Replicas move between log folders while they are used (AlterReplicaLogDirs). Codes as the real
broker answered them."""

from __future__ import annotations

from errno import EIO, ENOSPC

import pytest

from kafkalite.errors import ErrorCode, InvariantError
from kafkalite.log.log_cuts import delete_records
from kafkalite.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafkalite.server import replica_moves
from kafkalite.server.replica_moves import ReplicaMoves
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId, Offset
from tests.server.group_requests import commit, committed, find
from tests.server.running import Running, simulated
from tests.server.test_log_dirs import Disks, serving
from tests.server.transactions import TransactionalProducer

PLACES = {"a": "memory", "b": "/b", "c": "/c"}


async def alter(
    running: Running, *wanted: tuple[str, str, list[int]]
) -> dict[tuple[str, int], str]:
    """The names of the codes."""
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=indexes)]
            )
            for path, topic, indexes in wanted
        ]
    )
    answer = await (await running.client()).ask(request, 2, AlterReplicaLogDirsResponse)
    return {
        (topic.topic_name, each.partition_index): ErrorCode(each.error_code).name
        for topic in answer.results
        for each in topic.partitions
    }


async def futures(running: Running) -> dict[str, list[tuple[str, int, int, int]]]:
    """By folder, what is on its way to it: topic, partition, size, lag."""
    request = DescribeLogDirsRequest(topics=None)
    answer = await (await running.client()).ask(request, 4, DescribeLogDirsResponse)
    return {
        result.log_dir: [
            (topic.name, each.partition_index, each.partition_size, each.offset_lag)
            for topic in result.topics
            for each in topic.partitions
            if each.is_future_key
        ]
        for result in answer.results
    }


def home(disks: Disks, topic: str) -> str:
    """The one disk that has the folder of its partition 0."""
    (found,) = (name for name, held in disks.homes(topic).items() if held == [0])
    return found


def other(name: str) -> str:
    return "b" if name != "b" else "c"


async def read_all(running: Running, topic: str) -> list[bytes]:
    """A fetch reads one segment at most."""
    found: list[bytes] = []
    while values := await running.read(topic, offset=len(found)):
        found += values
    return found


def folders(disks: Disks, suffix: str) -> list[str]:
    return [
        name
        for disk in (disks.a, disks.b, disks.c)
        for name in disk.list("")
        if name.endswith(suffix)
    ]


def assigned(running: Running, topic: str) -> object:
    return running.topic(topic).partitions[0].directory_of(BrokerId(1))


async def arrive(running: Running, disks: Disks, topic: str, where: str) -> None:
    for _ in range(200):
        if disks.homes(topic)[where] == [0] and not folders(disks, "-future"):
            return
        await running.wait_ms()
    pytest.fail(f"{topic} is in {disks.homes(topic)}")


@simulated
async def test_a_replica_moves_with_all_that_it_has(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", configs={"internal.segment.bytes": "300"})
        sent = [b"%d" % number for number in range(20)]
        for value in sent:
            await running.produce("t", value)
        start = home(disks, "t")
        target = other(start)
        before = assigned(running, "t")
        assert await alter(running, (PLACES[target], "t", [0])) == {("t", 0): "NONE"}
        await arrive(running, disks, "t", target)
        assert home(disks, "t") == target
        assert await read_all(running, "t") == sent
        await running.produce("t", b"more")
        await running.wait_ms(100)
        assert folders(disks, "-delete") == []
        assert assigned(running, "t") != before, "the controller knows"
    async with serving(simulation, disks) as running:
        assert home(disks, "t") == target
        assert await read_all(running, "t") == [*sent, b"more"]


@simulated
async def test_it_is_used_while_it_moves(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        sent = [b"%d" % number for number in range(10)]
        for value in sent[:5]:
            await running.produce("t", value)
        target = other(home(disks, "t"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaMoves, "_step", lambda self, move: running.wait_ms())
            await alter(running, (PLACES[target], "t", [0]))
            for value in sent[5:]:
                await running.produce("t", value)
            found = await futures(running)
            assert found[PLACES[target]] == [("t", 0, 0, 10)]
            assert sum(map(len, found.values())) == 1
        await arrive(running, disks, "t", target)
        assert await read_all(running, "t") == sent
        assert not any((await futures(running)).values())


@simulated
async def test_records_that_are_deleted_stay_deleted(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"a", b"b", b"c")
        await running.produce("t", b"d")
        partition = running.broker._services.replicas.find("t", 0)
        delete_records(partition.log, Offset(1))
        target = other(home(disks, "t"))
        await alter(running, (PLACES[target], "t", [0]))
        await arrive(running, disks, "t", target)
        assert (partition.log.log_start_offset, partition.log.end_offset) == (1, 4)
    async with serving(simulation, disks) as running:
        log = running.broker._services.replicas.find("t", 0).log
        assert (log.log_start_offset, log.end_offset) == (1, 4)


@simulated
async def test_what_is_refused(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        for path, topic, index, code in (
            ("/nowhere", "t", 0, "LOG_DIR_NOT_FOUND"),
            ("/b/", "t", 0, "LOG_DIR_NOT_FOUND"),
            ("", "t", 0, "LOG_DIR_NOT_FOUND"),
            ("/nowhere", "nope", 0, "LOG_DIR_NOT_FOUND"),
            ("/b", "nope", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
            ("/b", "t", 7, "UNKNOWN_TOPIC_OR_PARTITION"),
            ("/nowhere", "t" * 214, 0, "INVALID_TOPIC_EXCEPTION"),
            ("/nowhere", "t" * 213, 0, "LOG_DIR_NOT_FOUND"),
            ("/b", "__cluster_metadata", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        ):
            assert await alter(running, (path, topic, [index])) == {(topic, index): code}
        running.broker._storage.directories.cordon(["/c"])
        assert await alter(running, ("/c", "nope", [0])) == {
            ("nope", 0): "INVALID_REPLICA_ASSIGNMENT"
        }
        running.broker._storage.directories.cordon([])
        disks.c.error = EIO
        for index in range(3):
            await alter(running, ("/c", "t", [index]))
        await running.wait_ms(100)
        assert "KAFKA_STORAGE_ERROR" in (await alter(running, ("/c", "t", [0]))).values()


@simulated
async def test_of_two_folders_the_last_counts(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        start = home(disks, "t")
        target = other(start)
        wanted = [(PLACES[target], "t", [0]), (PLACES[start], "t", [0])]
        assert await alter(running, *wanted) == {("t", 0): "NONE"}
        await running.wait_ms(100)
        assert home(disks, "t") == start
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaMoves, "_step", lambda self, move: running.wait_ms())
            await alter(running, wanted[0])
            await alter(running, wanted[1])
            assert not any((await futures(running)).values()), "it stays after all"
        await running.wait_ms(100)
        assert (home(disks, "t"), folders(disks, "-future")) == (start, [])


@simulated
async def test_the_next_start_moves_on(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        target = other(home(disks, "t"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaMoves, "_arrive", lambda self, move: running.wait_ms())
            await alter(running, (PLACES[target], "t", [0]))
            for _ in range(100):
                if folders(disks, "-future"):
                    break
                await running.wait_ms()
            assert len(folders(disks, "-future")) == 1
            (move,) = running.broker._services.moves.under_way
            copied = move.log.segments[0].file
    assert move.log.segments[0].file is not copied, "a stop has let go of it"
    async with serving(simulation, disks) as running:
        await arrive(running, disks, "t", target)
        assert await read_all(running, "t") == [b"x"]


@pytest.mark.parametrize("records", [[], [b"x"]])
@simulated
async def test_what_was_asked_for_and_had_not_begun_is_not_forgotten(
    simulation: Simulation, records: list[bytes]
) -> None:
    """Not by a death, and not by another one before all is in place again; as the real broker."""
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        for value in records:
            await running.produce("t", value)
        await running.wait_ms(100)
        target = other(home(disks, "t"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaMoves, "_step", lambda self, move: running.wait_ms())
            assert await alter(running, (PLACES[target], "t", [0])) == {("t", 0): "NONE"}
            await running.broker.kill()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplicaMoves, "resume", lambda self: None)
        async with serving(simulation, disks) as running:
            await running.broker.kill()
    async with serving(simulation, disks) as running:
        await arrive(running, disks, "t", target)
        assert await read_all(running, "t") == records
        await running.wait_ms(100)
        assert folders(disks, "-delete") == []


@simulated
async def test_a_disk_that_refuses_leaves_the_replica_where_it_was(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        start = home(disks, "t")
        target = other(start)
        disk = getattr(disks, target)
        disk.error, disk.may_read = EIO, True
        await alter(running, (PLACES[target], "t", [0]))
        await running.wait_ms(100)
        assert home(disks, "t") == start
        assert await read_all(running, "t") == [b"x"]


@simulated
async def test_a_full_disk_that_a_request_meets_is_told_of(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """Or else nobody knows why it was answered so. What a copy under way meets is no word on
    requests."""
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        target = other(home(disks, "t"))
        disk = getattr(disks, target)
        wanted = (PLACES[target], "t", [0])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReplicaMoves, "_step", lambda self, move: running.wait_ms())
            await alter(running, wanted)
            disk.error = ENOSPC
        await running.wait_ms(100)
        said = f"the disk of {PLACES[target]} refuses (No space left on device): requests get "
        assert not running.broker._services.moves.under_way
        assert not any(said in each for each in caplog.messages)
        for _ in range(2):
            assert await alter(running, wanted) == {("t", 0): "KAFKA_STORAGE_ERROR"}
        assert len([each for each in caplog.messages if said in each]) == 1
        disk.error = None


@simulated
async def test_a_coordinator_whose_records_move_goes_on(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await find(running)
        assert await commit(running, "t", 7) == 0
        count = len(running.topic("__consumer_offsets").partitions)
        await alter(running, ("/b", "__consumer_offsets", list(range(count))))
        for _ in range(1000):
            if len(disks.homes("__consumer_offsets")["b"]) == count:
                break
            await running.wait_ms()
        assert [len(held) for held in disks.homes("__consumer_offsets").values()] == [0, count, 0]
        assert await committed(running, "t") == 7
        assert await commit(running, "t", 8) == 0
    async with serving(simulation, disks) as running:
        await find(running)
        assert await committed(running, "t") == 8


@pytest.mark.parametrize("commits", [True, False])
@simulated
async def test_a_transaction_goes_on(simulation: Simulation, commits: bool) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        producer = await TransactionalProducer.begin(running)
        await producer.write("t", b"before")
        target = other(home(disks, "t"))
        await alter(running, (PLACES[target], "t", [0]))
        await arrive(running, disks, "t", target)
        partition = running.broker._services.replicas.find("t", 0)
        assert (partition.last_stable_offset, partition.high_watermark) == (0, 1)
        assert await producer.send("t", b"after") is ErrorCode.NONE
        assert await producer.end(commits=commits) is ErrorCode.NONE
        await running.wait_ms(100)
        assert (partition.last_stable_offset, partition.high_watermark) == (3, 3)
        aborted = [each.first_offset for each in partition.log.segments[0].aborted.all]
        assert aborted == ([] if commits else [0])


@simulated
async def test_a_topic_that_is_deleted_takes_its_copy_along(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        target = other(home(disks, "t"))
        await alter(running, (PLACES[target], "t", [0]))
        await running.delete("t")
        await running.wait_ms(200)
        assert folders(disks, "-future") == folders(disks, "-delete") == []
        assert not any(disks.homes("t").values())


@simulated
async def test_what_must_hold_of_a_copy_and_does_not_ends_the_broker(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = InvariantError("this was not read")

    def break_off(*_: object, **__: object) -> int:
        raise broken

    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        start = home(disks, "t")
        with monkeypatch.context() as patch:
            patch.setattr(replica_moves, "append_as_follower", break_off)
            await alter(running, (PLACES[other(start)], "t", [0]))
            await running.wait_ms(100)
        assert running.broker.failure is broken
    async with serving(simulation, disks) as running:
        assert await read_all(running, "t") == [b"x"]
        await arrive(running, disks, "t", other(start))


@simulated
async def test_a_broker_that_fails_leaves_the_rest_of_a_copy_to_the_next_start(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t")
        await running.produce("t", b"x")
        target = other(home(disks, "t"))
        with monkeypatch.context() as patch:
            patch.setattr(ReplicaMoves, "_arrive", lambda self, move: running.wait_ms())
            await alter(running, (PLACES[target], "t", [0]))
            await running.wait_ms(10)
            running.broker.fail(InvariantError("elsewhere"))
            await running.broker.kill()
    async with serving(simulation, disks) as running:
        await arrive(running, disks, "t", target)
