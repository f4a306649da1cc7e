"""A broker from start to stop, over again, and after what should not happen."""

from __future__ import annotations

import json
import logging

import pytest

from kafkalite.errors import ErrorCode, InvariantError
from kafkalite.log.checkpoints import HIGH_WATERMARKS, format_partition_metadata, read_offsets
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN, LOCK
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.replica_manager import PER_TURN, RETRY_MS
from kafkalite.server.replica_moves import ReplicaMoves
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId, TopicPartition, Uuid
from tests.log.refusing_disk import RefusingRenames
from tests.server.cluster_of_two import two_brokers
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE, Running, crashed, make, served, simulated, start


async def produce_as(running: Running, producer_id: int, sequence: int) -> tuple[int, int]:
    """Code and offset of one record of an idempotent producer to `t`."""
    records = batch(b"x", producer_id=producer_id, sequence=sequence)
    client = await running.client()
    response = await client.ask(produce("t", {0: records}), PRODUCE, ProduceResponse)
    answer = produced(response)[0]
    return answer.error_code, answer.base_offset


# Restarts.


@pytest.mark.parametrize("ends_well", [True, False])
@simulated
async def test_topics_ids_records_settings_and_producers_are_there_after_a_restart(
    simulation: Simulation, *, ends_well: bool
) -> None:
    files = MemoryFiles()
    async with (start if ends_well else crashed)(simulation, files) as running:
        cluster_id = running.broker.cluster_id
        image = await running.create("t", 2, configs={"max.message.bytes": "500"})
        await running.produce("t", b"other", partition=1)
        client = await running.client()
        request = InitProducerIdRequest(transactional_id=None)
        producer_id = (await client.ask(request, 4, InitProducerIdResponse)).producer_id
        assert await produce_as(running, producer_id, 0) == (ErrorCode.NONE, 0)
    for _ in range(2):
        async with start(simulation, files) as running:
            assert running.broker.cluster_id == cluster_id
            assert running.topic("t").id == image.id
            assert await running.read("t") == [b"x"]
            assert await running.read("t", partition=1) == [b"other"]
            again = await produce_as(running, producer_id, 0)
            assert again == (ErrorCode.NONE, 0), "a repeated batch is known"
            gap = await produce_as(running, producer_id, 7)
            assert gap[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            client = await running.client()
            response = await client.ask(
                produce("t", {0: batch(bytes(600))}), PRODUCE, ProduceResponse
            )
            assert produced(response)[0].error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("ends_well", [True, False])
@simulated
async def test_a_restart_raises_the_epoch_of_a_leader_by_two(
    simulation: Simulation, *, ends_well: bool
) -> None:
    """As in the real Kafka: nobody leads in between."""
    files, seen = MemoryFiles(), []
    for run in range(3):
        async with (start if ends_well else crashed)(simulation, files) as running:
            if run == 0:
                await running.create("t")
            seen.append(running.topic("t").partitions[0].leader_epoch)
            assert await running.produce("t", b"x") == run
    assert [epoch - seen[0] for epoch in seen] == [0, 2, 4]


@simulated
async def test_a_loss_of_power_keeps_what_a_clean_stop_has_synced(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    async with start(simulation, files) as running:
        await running.create("t")
        await running.produce("t", b"synced")
    async with crashed(simulation, files) as running:
        await running.produce("t", b"in the page cache")
        assert await running.read("t") == [b"synced", b"in the page cache"]
    files.crash()
    async with start(simulation, files) as running:
        assert await running.read("t") == [b"synced"]
        assert await running.produce("t", b"after") == 1


@simulated
async def test_half_a_batch_that_a_loss_of_power_leaves_is_cut(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFiles(models_crashes=True)
    async with start(simulation, files) as running:
        await running.create("t")
        await running.produce("t", b"synced")
    async with crashed(simulation, files) as running:
        await running.produce("t", bytes(100))
    name = f"t-0/{0:020d}.log"
    synced, whole = len(batch(b"synced")), files.size(name)
    files.crash(kept=lambda path, unsynced: unsynced // 2)
    lost = files.size(name) - synced
    assert 0 < lost < whole - synced
    with caplog.at_level(logging.WARNING):
        async with start(simulation, files) as running:
            assert await running.read("t") == [b"synced"]
    assert (
        f"t-0: {name} lost {lost} bytes from byte {synced} on: "
        f"a batch of {whole - synced} bytes where {lost} are left"
    ) in caplog.messages, "what was cut is told, and why"


# The folder.


@simulated
async def test_a_clean_stop_is_on_record_until_the_next_start(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        epoch = running.broker.image.brokers[running.broker._config.node_id].epoch
        assert not files.exists(CLEAN_SHUTDOWN)
    record = json.loads(files.open_read(CLEAN_SHUTDOWN).read(0, 1000))
    assert record == {"version": 0, "brokerEpoch": epoch}
    async with crashed(simulation, files):
        assert not files.exists(CLEAN_SHUTDOWN)
    assert not files.exists(CLEAN_SHUTDOWN), "a crash leaves no such mark"


@simulated
async def test_a_folder_that_the_metadata_does_not_know_is_set_aside(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("kept")
        await running.produce("kept", b"x")
    files.make_folder("stray-0")
    files.make_folder("kept-5")
    async with start(simulation, files) as running:
        names = files.list("")
        assert await running.read("kept") == [b"x"]
        assert not {"stray-0", "kept-5"} & set(names)
        aside = sorted(name.partition(".")[0] for name in names if name.endswith("-stray"))
        assert aside == ["kept-5", "stray-0"]
        await running.create("stray")
        assert await running.produce("stray", b"new") == 0
    assert "set aside" in caplog.text


@simulated
async def test_a_folder_of_an_older_topic_of_the_same_name_is_set_aside(
    simulation: Simulation,
) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t")
        await running.produce("t", b"somebody else's")
    files.replace("t-0/partition.metadata", format_partition_metadata(Uuid(bytes(range(16)))))
    async with start(simulation, files) as running:
        assert await running.read("t") == []
        assert await running.produce("t", b"new") == 0
        assert [name for name in files.list("") if name.endswith("-stray")]


@simulated
async def test_a_folder_of_an_older_topic_that_the_disk_keeps_for_a_while(
    simulation: Simulation,
) -> None:
    """The new one is offline as long as that."""
    files = RefusingRenames()
    async with start(simulation, files) as running:
        await running.create("t")
        await running.produce("t", b"somebody else's")
    files.replace("t-0/partition.metadata", format_partition_metadata(Uuid(bytes(range(16)))))
    files.left = 0
    async with start(simulation, files) as running:
        client = await running.client()
        refused = await client.ask(produce("t", {0: batch(b"new")}), PRODUCE, ProduceResponse)
        assert files.has_refused
        assert produced(refused)[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        await running.wait_ms(RETRY_MS)
        assert await running.produce("t", b"new") == 0
        assert [name for name in files.list("") if name.endswith("-stray")]


@served()
async def test_the_folders_of_a_deleted_topic_are_removed(running: Running) -> None:
    await running.create("t", 3)
    await running.create("kept")
    await running.delete("t")
    await running.wait_ms()
    folders = [name for name in running.files.list("") if "-" in name and name[0] in "tk"]
    assert folders == ["kept-0"]


@simulated
async def test_folders_whose_removal_a_crash_interrupted_are_removed_by_the_next_start(
    simulation: Simulation,
) -> None:
    files = MemoryFiles()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartitionFolders, "remove_later", lambda self, folder: None)
        async with crashed(simulation, files) as running:
            await running.create("t", 2)
            await running.delete("t")
    assert sum(name.endswith("-delete") for name in files.list("")) == 2
    async with start(simulation, files) as running:
        await running.wait_ms()
        assert not [name for name in files.list("") if name.endswith("-delete")]
        assert running.broker.image.topics == {}


@simulated
async def test_a_folder_that_cannot_be_removed_does_no_harm(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    class Stubborn(MemoryFiles):
        def remove_folder(self, path: str) -> None:
            if path.startswith("t-0"):
                raise OSError("busy")
            super().remove_folder(path)

    async with start(simulation, Stubborn()) as running:
        await running.create("t", 2)
        await running.delete("t")
        await running.wait_ms()
        left = [name for name in running.files.list("") if name.endswith("-delete")]
        assert [name.partition(".")[0] for name in left] == ["t-0"]
        await running.create("t")
        assert await running.produce("t", b"x") == 0
    assert "cannot be removed" in caplog.text


# Disks that refuse.


class Unreadable(MemoryFiles):
    """Does not tell what lies in one folder."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        self.is_broken = False

    def list(self, path: str) -> list[str]:
        if self.is_broken and path == self.folder:
            raise OSError(5, "input/output error", path)
        return super().list(path)


@simulated
async def test_a_partition_that_cannot_be_opened_is_refused_and_the_others_are_served(
    simulation: Simulation,
) -> None:
    files = Unreadable("bad-0")
    async with start(simulation, files) as running:
        for topic in ("bad", "good"):
            await running.create(topic)
            await running.produce(topic, b"x")
    files.is_broken = True
    async with start(simulation, files) as running:
        client = await running.client()
        assert await running.read("good") == [b"x"]
        response = await client.ask(fetch("bad", {0: 0}), FETCH, FetchResponse)
        assert fetched(response)[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        appended = await client.ask(produce("bad", {0: batch(b"y")}), PRODUCE, ProduceResponse)
        assert produced(appended)[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    files.is_broken = False
    async with start(simulation, files) as running:
        assert await running.read("bad") == [b"x"]


@simulated
async def test_a_topic_whose_partition_could_not_be_opened_can_be_deleted(
    simulation: Simulation,
) -> None:
    files = Unreadable("bad-0")
    async with start(simulation, files) as running:
        await running.create("bad")
    files.is_broken = True
    async with start(simulation, files) as running:
        assert (await running.delete("bad")).error_code == ErrorCode.NONE
        assert running.broker.image.topics == {}


# Starts that fail, and stops.


@simulated
async def test_a_start_that_finds_its_port_taken_frees_the_folder(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation) as running:
        with pytest.raises(OSError, match="taken"):
            await make(simulation, files).__aenter__()
        await running.create("t")
    async with start(simulation, files) as running:
        await running.create("t")


@simulated
async def test_who_is_killed_while_it_opens_its_logs_opens_no_more(simulation: Simulation) -> None:
    files, count = MemoryFiles(), 3 * PER_TURN
    async with start(simulation, files) as running:
        await running.create("t", count)
    killed = make(simulation, files)
    await killed.__aenter__()
    await killed.kill()
    await simulation.sleep(1000)
    assert not killed._storage.directory.logs


@simulated
async def test_a_start_that_fails_late_leaves_the_folder_alone(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t", 3 * PER_TURN)
    failed = make(simulation, files)
    with monkeypatch.context() as patch:
        patch.setattr(ReplicaMoves, "resume", lambda moves: failed.fail(InvariantError("broken")))
        with pytest.raises(InvariantError):
            await failed.__aenter__()
    await simulation.sleep(1000)
    assert not failed._storage.directory.logs


@simulated
async def test_a_folder_has_one_broker_at_a_time(simulation: Simulation) -> None:
    async with start(simulation) as running:
        with pytest.raises(LogDirectoryError, match=LOCK):
            await make(simulation, running.files).__aenter__()
        await running.create("t")
        assert await running.produce("t", b"x") == 0, "the first one goes on"


@simulated
async def test_a_folder_of_another_node_is_refused_and_stays_free(simulation: Simulation) -> None:
    files: Files = MemoryFiles()
    async with start(simulation, files):
        pass
    with pytest.raises(LogDirectoryError, match="belongs to node 1"):
        await make(simulation, files, settings={"node.id": "2"}).__aenter__()
    async with start(simulation, files):
        pass


@simulated
async def test_a_stop_answers_parked_fetches_and_hangs_up(simulation: Simulation) -> None:
    async with start(simulation) as running:
        await running.create("t")
        await running.produce("t", b"x")
        client = await running.connect("reader")
        request = fetch("t", {0: 0}, max_wait_ms=600_000, min_bytes=1 << 20)
        answer = client.send(request, FETCH, FetchResponse)
        await running.wait_ms()
        assert not answer.done()
        before_ms = simulation.clock.now_ms()
    assert simulation.clock.now_ms() - before_ms < 100, "nobody keeps the stop waiting"
    await client.wait_closed()
    assert values(fetched(answer.result())[0]) == [b"x"]


@simulated
async def test_nobody_connects_after_a_stop(simulation: Simulation) -> None:
    async with start(simulation) as running:
        await running.client()
    with pytest.raises(ConnectionRefusedError):
        await running.connect("late")


@simulated
async def test_a_start_that_finds_its_second_port_taken_lets_go_of_the_first(
    simulation: Simulation,
) -> None:
    files = MemoryFiles()
    node = simulation.network.node("broker")
    taken = node.listen("", 9093, lambda peer: None)
    settings = {
        "listeners": "ONE://localhost:9092,TWO://localhost:9093",
        "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
    }
    with pytest.raises(OSError, match="9093"):
        await make(simulation, files, settings=settings).__aenter__()
    taken.close()
    async with start(simulation, files, settings=settings) as running:
        assert [address.port for address in running.broker.addresses] == [9092, 9093]
        await running.create("t")


@simulated
async def test_a_broker_that_the_controller_never_took_in_stops_all_the_same(
    simulation: Simulation,
) -> None:
    """The controller is another one, and silent."""
    store = MemoryStore("cluster", simulation.clock)
    store.open_session(BrokerId(2), lambda event: None).run_for_controller()
    files = MemoryFiles()
    async with start(simulation, files, store=store) as running:
        assert running.broker.image.brokers == {}
        client = await running.client()
        request = InitProducerIdRequest(transactional_id=None)
        response = await client.ask(request, 4, InitProducerIdResponse)
        assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    record = json.loads(files.open_read(CLEAN_SHUTDOWN).read(0, 1000))
    assert record["brokerEpoch"] == -1


# What the metadata changes while the broker runs.


@simulated
async def test_new_settings_of_a_topic_hold_from_the_next_append_on(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2], [1, 2])
        for index in range(2):
            other.change("t", index, isr=[1])
        request = produce("t", {0: batch(bytes(600)), 1: batch(bytes(600))})
        client = await running.client()
        for value, code in (
            (None, ErrorCode.NONE),
            ("500", ErrorCode.MESSAGE_TOO_LARGE),
            (None, ErrorCode.NONE),
        ):
            other.configure("t", "max.message.bytes", value)
            response = await client.ask(request, PRODUCE, ProduceResponse)
            assert [answer.error_code for answer in produced(response)] == [code, code]


@simulated
async def test_partitions_that_are_added_are_usable_at_once(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1])
        await running.produce("t", b"x")
        other.add_partition("t", 1)
        assert await running.produce("t", b"y", partition=1) == 0
        assert await running.read("t") == [b"x"]


@simulated
async def test_a_partition_that_comes_back_is_led_in_its_new_epoch_with_its_records(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        other.change("t", isr=[1])
        await running.produce("t", b"x")
        other.change("t", isr=[1, 2], leader=2)
        other.change("t", isr=[1], leader=1)
        assert running.partition("t").leading.leader_epoch == 2
        assert await running.read("t") == [b"x"]
        assert await running.produce("t", b"y") == 1


@simulated
async def test_the_high_watermark_does_not_fall_with_a_new_epoch_nor_over_a_restart(
    simulation: Simulation,
) -> None:
    """The other replica is in sync and tells nothing, so what was committed must be known here."""
    files = MemoryFiles()
    async with two_brokers(simulation, files) as (running, other):
        other.create("t", [1, 2])
        other.change("t", isr=[1])
        await running.produce("t", b"x")
        other.change("t", isr=[1, 2])
        for leader in (2, 1, 1):
            other.change("t", leader=leader)
        assert running.partition("t").leading.leader_epoch == 3
        assert await running.read("t") == [b"x"]
        other.change("t", leader=2)
    assert read_offsets(files, HIGH_WATERMARKS) == {TopicPartition("t", 0): 1}
