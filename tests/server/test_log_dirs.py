"""Several log folders: where partitions go, and what happens when one fails. As asked of the real
broker, whose folder was removed while it ran."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from errno import EIO, EMFILE, ENOSPC, EROFS

import pytest

from kafkalite.coordinator.partitioner import partition_for
from kafkalite.errors import ErrorCode
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN
from kafkalite.log.directory_set import LogFolderFailedError, Place
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.metadata.store import CommitResult
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server import replica_manager
from kafkalite.server.directory_reports import DirectoryReports
from kafkalite.stores.losses import LostTopicsError
from kafkalite.testing.simulation import Simulation
from tests.log.refusing_disk import RefusingDisk
from tests.server.group_requests import commit, committed, find
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, Running, make, simulated
from tests.server.transactions import TransactionalProducer

STORAGE = int(ErrorCode.KAFKA_STORAGE_ERROR)
NOT_COORDINATOR = int(ErrorCode.NOT_COORDINATOR)
COORDINATOR_NOT_AVAILABLE = int(ErrorCode.COORDINATOR_NOT_AVAILABLE)
NOT_LEADER = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class Disks:
    """Three of them, a to c; the broker has its metadata log on a."""

    def __init__(self) -> None:
        self.a, self.b, self.c = RefusingDisk(), RefusingDisk(), RefusingDisk()

    def places(self) -> list[Place]:
        return [Place("/b", self.b), Place("/c", self.c)]

    def homes(self, topic: str) -> dict[str, list[int]]:
        """Which partitions of a topic each disk has a folder of."""
        found: dict[str, list[int]] = {}
        for name, disk in (("a", self.a), ("b", self.b), ("c", self.c)):
            folders = [folder.rpartition("-") for folder in disk.list("")]
            found[name] = [int(index) for start, _, index in folders if start == topic]
        return found


@asynccontextmanager
async def serving(
    simulation: Simulation, disks: Disks, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Running]:
    broker = make(simulation, disks.a, more_places=disks.places(), settings=settings)
    async with broker:
        yield Running(simulation, broker, disks.a)


async def code(running: Running, topic: str, partition: int) -> int:
    request = produce(topic, {partition: batch(b"x")}, acks=1)
    answer = await (await running.client()).ask(request, PRODUCE, ProduceResponse)
    return produced(answer)[0].error_code


async def codes(running: Running, topic: str, count: int) -> list[int]:
    return [await code(running, topic, index) for index in range(count)]


async def described(running: Running) -> dict[str, tuple[int, dict[str, list[int]]]]:
    """By folder: its error, and the partitions in it."""
    request = DescribeLogDirsRequest(topics=None)
    answer = await (await running.client()).ask(request, 5, DescribeLogDirsResponse)
    assert answer.error_code == ErrorCode.NONE
    return {
        result.log_dir: (
            result.error_code,
            {
                topic.name: [partition.partition_index for partition in topic.partitions]
                for topic in result.topics
            },
        )
        for result in answer.results
    }


async def led(running: Running, topic: str) -> list[tuple[int, int, int, list[int]]]:
    """Of each partition its error, leader, leader epoch, and offline replicas."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    answer = await (await running.client()).ask(request, 9, MetadataResponse)
    return [
        (each.error_code, each.leader_id, each.leader_epoch, each.offline_replicas)
        for each in answer.topics[0].partitions
    ]


@simulated
async def test_a_new_partition_goes_to_the_folder_with_the_fewest(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("one")
        await running.create("seven", 7)
        await running.create("two", 2)
        assert await codes(running, "seven", 7) == [0] * 7
        assert [len(found) for found in disks.homes("seven").values()] == [2, 3, 2]
        everything = await described(running)
        assert {error for error, _ in everything.values()} == {0}
        sizes = [sum(map(len, topics.values())) for _, topics in everything.values()]
        assert (list(everything), sizes) == (["memory", "/b", "/c"], [4, 3, 3])
        assert await running.read("seven", partition=3) == [b"x"]


@simulated
async def test_strays_do_not_count(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks):
        pass
    for index in range(5):
        disks.a.make_folder(f"gone-{index}")
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
        assert [len(held) for held in disks.homes("t").values()] == [1, 1, 1]


@simulated
async def test_the_metadata_knows_each_replicas_folder(simulation: Simulation) -> None:
    async with serving(simulation, Disks()) as running:
        await running.create("t", 3)
        await running.wait_ms()
        known = [partition.directories for partition in running.topic("t").partitions]
        directories = running.broker._storage.directories
        assert known == [(id,) for id in directories.ids]
        assert len(set(known)) == 3
        assert running.topic("t").partitions[0].leader_epoch == 0


@simulated
async def test_all_is_found_again_after_a_restart(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 5)
        assert await codes(running, "t", 5) == [0] * 5
        before = disks.homes("t")
    for disk in (disks.a, disks.b, disks.c):
        assert disk.exists(CLEAN_SHUTDOWN)
    async with serving(simulation, disks) as running:
        for index in range(5):
            assert await running.read("t", partition=index) == [b"x"]
            assert running.partition("t", index).log.cuts == ()
        assert disks.homes("t") == before
        assert running.topic("t").partitions[0].leader_recovery_state == 0, "nothing was lost"


@pytest.mark.parametrize("error", [EIO, EROFS])
@simulated
async def test_a_folder_that_fails_takes_its_partitions_along(
    simulation: Simulation, caplog: pytest.LogCaptureFixture, error: int
) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 6)
        assert await codes(running, "t", 6) == [0] * 6
        assert disks.homes("t")["b"] == [1, 4]
        disks.b.error = error
        assert await codes(running, "t", 6) == [0, STORAGE, 0, 0, STORAGE, 0]
        assert await codes(running, "t", 6) == [0, STORAGE, 0, 0, STORAGE, 0]
        leaders = await led(running, "t")
        assert leaders[0] == (0, 1, 0, [])
        assert leaders[1][:3] == (int(ErrorCode.LEADER_NOT_AVAILABLE), -1, 1)
        assert await described(running) == {
            "memory": (0, {"t": [0, 3]}),
            "/c": (0, {"t": [2, 5]}),
            "/b": (STORAGE, {}),
        }
        errors = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
        assert errors == [
            "the log folder /b has failed, and 2 partitions are offline: "
            f"[Errno {error}] error {error}"
        ]
        await running.create("later", 4)
        assert await codes(running, "later", 4) == [0] * 4
        await running.delete("t")
        await running.create("t", 6)
        assert await codes(running, "t", 6) == [0] * 6


@simulated
async def test_a_folder_that_fails_is_noticed_by_reading_too(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
        disks.b.error = EIO
        with pytest.raises(AssertionError):
            await running.read("t", partition=1)
        assert (await described(running))["/b"] == (STORAGE, {})


@simulated
async def test_after_a_restart_without_a_folder_the_others_go_on(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
    disks.b.error = EIO
    for _ in range(2):
        async with serving(simulation, disks) as running:
            assert await codes(running, "t", 3) == [0, NOT_LEADER, 0]
            assert (await led(running, "t"))[1][1] == -1
            assert (await described(running))["/b"] == (STORAGE, {})
    disks.b.error = None
    async with serving(simulation, disks) as running:
        assert await codes(running, "t", 3) == [0, 0, 0]
        assert await running.read("t", partition=1) == [b"x", b"x"]


@simulated
async def test_the_broker_ends_with_the_folder_of_its_metadata(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        disks.a.error = EIO
        with pytest.raises(ConnectionError):
            await code(running, "t", 0)
        failure = running.broker.failure
        assert isinstance(failure, LogFolderFailedError)
        assert str(failure).startswith("the log folder memory, which has the metadata log, has")
        disks.a.error = None


@pytest.mark.parametrize("error", [ENOSPC, EMFILE])
@simulated
async def test_an_error_that_passes_refuses_and_no_more(
    simulation: Simulation, caplog: pytest.LogCaptureFixture, error: int
) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
        disks.b.error, disks.b.may_read = error, True
        for _ in range(3):
            assert await codes(running, "t", 3) == [0, STORAGE, 0]
            assert await running.read("t", partition=1) == [b"x"]
        disks.b.error = None
        assert await codes(running, "t", 3) == [0] * 3
        assert await running.read("t", partition=1) == [b"x", b"x"]
        told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
        assert told == [
            f"the disk of /b refuses ({os.strerror(error)}): requests get KAFKA_STORAGE_ERROR "
            "until that is over",
            "the disk of /b takes records again",
        ]


@simulated
async def test_a_partition_in_two_folders_is_none(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 1)
        assert await code(running, "t", 0) == 0
    disks.c.make_folder("t-0")
    with pytest.raises(LogDirectoryError, match="t-0 is in two log folders, memory and /c"):
        async with serving(simulation, disks):
            pass
    assert disks.a.exists(CLEAN_SHUTDOWN), "as it was found"


@simulated
async def test_a_folder_that_is_in_the_settings_no_more_is_as_one_that_failed(
    simulation: Simulation,
) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
    async with make(simulation, disks.a) as broker:
        running = Running(simulation, broker, disks.a)
        assert await codes(running, "t", 3) == [0, NOT_LEADER, NOT_LEADER]
        assert disks.homes("t") == {"a": [0], "b": [1], "c": [2]}
    async with serving(simulation, disks) as running:
        assert await codes(running, "t", 3) == [0] * 3


@simulated
async def test_a_folder_that_fails_takes_its_groups_along(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 1)
        await find(running)
        await running.wait_ms(50)  # Until each has its folder.
        homes = {
            index: name
            for name, held in disks.homes("__consumer_offsets").items()
            for index in held
        }
        groups = {f"g{number}": homes[partition_for(f"g{number}", 50)] for number in range(20)}
        group, home = next((group, home) for group, home in groups.items() if home != "a")
        assert await commit(running, "t", 5, group=group) == 0
        disk: RefusingDisk = getattr(disks, home)
        disk.error = EIO
        codes = [await commit(running, "t", 6, group=group) for _ in range(3)]
        assert set(codes) <= {NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE}, codes
        assert (await described(running))[f"/{home}"] == (STORAGE, {})
        assert await code(running, "t", 0) == 0
        disk.error = None
    async with serving(simulation, disks) as running:
        await find(running, group)
        assert await committed(running, "t", group=group) == 5


@simulated
async def test_a_folder_in_which_no_marker_can_be_written_fails(simulation: Simulation) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        producer = await TransactionalProducer.begin(running)
        index = partition_for(producer.id, 50)
        (home,) = (n for n, held in disks.homes("__transaction_state").items() if index in held)
        await running.create("t", 3)
        at, name = next(
            (held[0], name)
            for name, held in disks.homes("t").items()
            if held and name not in ("a", home)
        )
        await producer.write("t", b"x", partition=at)
        disk: RefusingDisk = getattr(disks, name)
        disk.error = EIO
        assert await producer.end(commits=True) is ErrorCode.NONE
        await running.wait_ms(100)
        assert (await led(running, "t"))[at][1] == -1, "nobody leads it"
        disk.error = None


@simulated
async def test_what_was_in_a_folder_that_is_new_and_empty_now_stays_offline(
    simulation: Simulation,
) -> None:
    """A disk that was not mounted, perhaps: it is not for us to begin anew there."""
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
    lost, disks.b = disks.b, RefusingDisk()
    async with serving(simulation, disks) as running:
        assert await codes(running, "t", 3) == [0, NOT_LEADER, 0]
        await running.create("u", 3)
        assert await codes(running, "u", 3) == [0] * 3
        assert disks.homes("t")["b"] == []
    disks.b = lost
    async with serving(simulation, disks) as running:
        assert await running.read("t", partition=1) == [b"x"]


@simulated
async def test_records_in_any_folder_whose_topic_is_lost_are_not_set_aside(
    simulation: Simulation,
) -> None:
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
    disks.a.remove_folder("__cluster_metadata-0")
    disks.a.remove_folder("t-0")
    for disk in (disks.a, disks.b, disks.c):
        disk.remove(CLEAN_SHUTDOWN)
    with pytest.raises(LostTopicsError, match="/b/t-1, /c/t-2"):
        async with serving(simulation, disks):
            pass
    assert disks.homes("t") == {"a": [], "b": [1], "c": [2]}


@simulated
async def test_what_is_deleted_while_its_folder_is_away_goes_once_that_is_back(
    simulation: Simulation,
) -> None:
    """After a crash too, and though the metadata has grown by enough for a snapshot."""
    settings = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    disks = Disks()
    async with serving(simulation, disks, settings) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
        disks.b.error = EIO
        assert await code(running, "t", 1) == STORAGE
        await running.delete("t")
        for number in range(20):
            await running.create(f"u{number}", 2)
        await running.wait_ms(10_000)
    disks.b.error = None
    assert disks.homes("t") == {"a": [], "b": [1], "c": []}
    disks.a.remove(CLEAN_SHUTDOWN)
    async with serving(simulation, disks, settings):
        assert disks.homes("t") == {"a": [], "b": [], "c": []}


@simulated
async def test_a_crash_of_one_folder_is_one_of_the_broker(simulation: Simulation) -> None:
    """What was in it may have lost records: clients tell by the leader epoch."""
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
    disks.b.remove(CLEAN_SHUTDOWN)
    async with serving(simulation, disks) as running:
        assert [each.leader_epoch for each in running.topic("t").partitions] == [2, 2, 2]


class ChainingWorkers(InlineWorkers):
    """Notes how many chains it was given to take side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.chains: list[int] = []

    def side_by_side(self, chains: Sequence[Iterable[None]]) -> Iterator[None]:
        self.chains.append(len(chains))
        return super().side_by_side(chains)


@simulated
async def test_after_a_crash_folders_are_checked_side_by_side(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_manager, "LARGE_BYTES", 1)
    disks, workers = Disks(), ChainingWorkers()
    async with serving(simulation, disks) as running:
        await running.create("t", 5)
        assert await codes(running, "t", 5) == [0] * 5
    torn = disks.b.open(f"t-1/{0:020d}.log")
    torn.truncate(torn.size - 1)
    for disk in (disks.a, disks.b):
        disk.remove(CLEAN_SHUTDOWN)
    broker = make(simulation, disks.a, more_places=disks.places(), workers=workers)
    async with broker:
        running = Running(simulation, broker, disks.a)
        assert workers.chains == [2], "of the third one the stop was clean"
        assert [await running.read("t", partition=index) for index in range(5)] == [
            [b"x"],
            [],
            [b"x"],
            [b"x"],
            [b"x"],
        ]
        assert [len(running.partition("t", index).log.cuts) for index in range(3)] == [0, 1, 0]


@simulated
async def test_what_has_failed_before_the_metadata_knew_its_folder_is_not_made_anew(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DirectoryReports, "_report_later", lambda self, wait_ms: None)
    disks = Disks()
    async with serving(simulation, disks) as running:
        await running.create("t", 3)
        assert await codes(running, "t", 3) == [0] * 3
        disks.b.error = EIO
        assert await codes(running, "t", 3) == [0, STORAGE, 0]
        record = PartitionChangeRecord(partition_id=1, topic_id=running.topic("t").id, leader=1)
        results: list[CommitResult] = []
        session = running.broker._session
        assert session is not None
        session.commit(running.broker.image.epoch, (record,), results.append)
        assert running.topic("t").partitions[1].leader_epoch == 1
        assert await codes(running, "t", 3) == [0, STORAGE, 0]
        disks.b.error = None
        assert disks.homes("t") == {"a": [0], "b": [1], "c": [2]}
