"""Segments go by themselves while a broker runs, in virtual time: seven days take no time."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.server.retention_checks import PER_TURN
from kafkalite.testing.simulation import Simulation, run
from tests.server.requests import fetch, fetched, list_offsets
from tests.server.running import FETCH, Running, served, simulated, start

CHECK_MS = 300_000
FIRST_CHECK_MS = 30_000
DAY_MS = 86_400_000
EARLIEST = -2
RARELY = dict.fromkeys(
    (
        "log.cleaner.backoff.ms",
        "replica.high.watermark.checkpoint.interval.ms",
        "replica.lag.time.max.ms",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    ),
    str(DAY_MS),
)
"""What else a broker does every few seconds, which in seven days is much."""
ONE_A_SEGMENT = {"internal.segment.bytes": "100"}


async def earliest(running: Running, topic: str = "t") -> int:
    client = await running.client()
    answer = await client.ask(list_offsets(topic, (0, EARLIEST)), 7, ListOffsetsResponse)
    return answer.topics[0].partitions[0].offset


async def alter(running: Running, name: str, *, resource_type: int = 2, **configs: str) -> None:
    resource = AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[
            AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value)
            for key, value in configs.items()
        ],
    )
    answer = await (await running.client()).ask(
        IncrementalAlterConfigsRequest(resources=[resource]), 1, IncrementalAlterConfigsResponse
    )
    assert answer.responses[0].error_code == ErrorCode.NONE


def append_keyed(running: Running, key: bytes) -> None:
    now = running.simulation.clock.now_ms()
    running.partition("t").append(memoryview(build_batch([Record(key, b"", (), now)])), 1, now)


def deleted_files(running: Running, folder: str = "t-0") -> list[str]:
    return [name for name in running.files.list(folder) if name.endswith(".deleted")]


def test_records_are_gone_after_seven_days() -> None:
    async def main(simulation: Simulation) -> None:
        settings = {"connections.max.idle.ms": "-1", **RARELY}
        async with start(simulation, settings=settings) as running:
            await running.create("t")
            assert await running.produce("t", b"old") == 0
            await running.wait_ms(7 * DAY_MS - CHECK_MS)
            assert await running.read("t") == [b"old"]
            await running.wait_ms(2 * CHECK_MS)
            assert await earliest(running) == 1
            response = await (await running.client()).ask(fetch("t", {0: 0}), FETCH, FetchResponse)
            assert fetched(response)[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert await running.produce("t", b"new") == 1
            assert await running.read("t", 1) == [b"new"]

    run(main, seed=1, limit_ms=8 * DAY_MS)


@served()
async def test_the_first_look_is_half_a_minute_after_the_start(running: Running) -> None:
    await running.create("t", configs={**ONE_A_SEGMENT, "retention.bytes": "1"})
    await running.produce("t", b"0")
    await running.produce("t", b"1")
    await running.wait_ms(FIRST_CHECK_MS - 10)
    assert await earliest(running) == 0
    await running.wait_ms(20)
    assert await earliest(running) == 1


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_a_setting_that_changes_acts_at_the_next_look(running: Running) -> None:
    await running.create("t", configs=ONE_A_SEGMENT)
    for _ in range(3):
        await running.produce("t", b"x")
    await running.wait_ms(5_000)
    assert await earliest(running) == 0
    await alter(running, "t", retention_ms="4000")
    await running.wait_ms(1_001)
    assert await earliest(running) == 3


@served(log_retention_ms="2000", log_retention_hours="1", log_retention_check_interval_ms="1000")
async def test_topics_that_set_nothing_have_the_brokers_limit(running: Running) -> None:
    await running.create("t")
    await running.create("kept", configs={"retention.ms": "-1"})
    for topic in ("t", "kept"):
        await running.produce(topic, b"x")
    await running.wait_ms(FIRST_CHECK_MS + 1_000)
    assert (await earliest(running), await earliest(running, "kept")) == (1, 0)


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_so_does_a_brokers_setting_that_changes(running: Running) -> None:
    await running.create("t")
    await running.produce("t", b"x")
    await running.wait_ms(5_000)
    assert await earliest(running) == 0
    await alter(running, "", resource_type=4, log_retention_ms="4000")
    await running.wait_ms(1_001)
    assert await earliest(running) == 1


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_files_are_renamed_and_stay_for_their_delay(running: Running) -> None:
    await running.create(
        "t", configs={**ONE_A_SEGMENT, "retention.bytes": "1", "file.delete.delay.ms": "5000"}
    )
    await running.produce("t", b"0")
    await running.produce("t", b"1")
    await running.wait_ms(1_001)
    assert deleted_files(running) == [
        f"{0:020d}.index.deleted",
        f"{0:020d}.log.deleted",
        f"{0:020d}.timeindex.deleted",
    ]
    await running.wait_ms(4_900)
    assert deleted_files(running)
    await running.wait_ms(200)
    assert not deleted_files(running)


@simulated
async def test_files_whose_delay_a_stop_cut_short_are_removed_by_the_next_start(
    simulation: Simulation,
) -> None:
    files = MemoryFiles()
    settings = {"log.initial.task.delay.ms": "0", "log.retention.check.interval.ms": "1000"}
    async with start(simulation, files, settings=settings) as running:
        await running.create("t", configs={**ONE_A_SEGMENT, "retention.bytes": "1"})
        for _ in range(2):
            await running.produce("t", b"x")
        await running.wait_ms(1_001)
        assert deleted_files(running)
    async with start(simulation, files, settings=settings) as running:
        await running.wait_ms(1)
        assert not deleted_files(running)
        assert await running.read("t", 1) == [b"x"]


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_a_topic_that_is_deleted_takes_its_old_files_along(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    await running.create("t", configs={**ONE_A_SEGMENT, "retention.bytes": "1"})
    for _ in range(2):
        await running.produce("t", b"x")
    await running.wait_ms(1_001)
    assert deleted_files(running)
    await running.delete("t")
    await running.wait_ms(61_000)
    assert not [name for name in running.files.list("") if name.startswith("t-0")]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_so_does_one_that_is_made_again_at_once(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    configs = {**ONE_A_SEGMENT, "retention.bytes": "1", "file.delete.delay.ms": "10000"}
    for _ in range(2):
        await running.create("t", configs=configs)
        for _ in range(2):
            await running.produce("t", b"x")
        await running.wait_ms(2_001)
        assert deleted_files(running)
        await running.delete("t")
    await running.create("t", configs=configs)
    await running.wait_ms(11_000)
    assert await earliest(running) == 0
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


@served(log_initial_task_delay_ms="0", log_retention_check_interval_ms="1000")
async def test_many_partitions_are_looked_at_over_many_turns(running: Running) -> None:
    many = 3 * PER_TURN
    await running.create("t", many, configs={**ONE_A_SEGMENT, "retention.bytes": "1"})
    for index in range(many):
        for _ in range(2):
            await running.produce("t", b"x", partition=index)
    await running.wait_ms(1_001)
    starts = {running.partition("t", index).log.log_start_offset for index in range(many)}
    assert starts == {1}


@pytest.mark.parametrize(
    ("policy", "start"), [("delete", 0), ("compact,delete", 2), ("compact", 0)]
)
@served(log_cleaner_backoff_ms="1000")
async def test_what_is_compacted_is_looked_at_as_often_as_by_the_cleaner(
    running: Running, policy: str, start: int
) -> None:
    configs = {**ONE_A_SEGMENT, "cleanup.policy": policy, "retention.ms": "500"}
    await running.create("t", configs=configs)
    for key in (b"0", b"1"):
        append_keyed(running, key)
    await running.wait_ms(2_001)
    assert await earliest(running) == start


@served(log_cleaner_enable="false", log_cleaner_backoff_ms="1000")
async def test_without_a_cleaner_nobody_looks_at_what_is_compacted(running: Running) -> None:
    """As in Kafka."""
    configs = {"cleanup.policy": "compact,delete", "retention.ms": "1"}
    await running.create("t", configs=configs)
    append_keyed(running, b"key")
    await running.wait_ms(600_000)
    assert await earliest(running) == 0
