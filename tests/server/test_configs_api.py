"""Settings while a broker runs: what they do, how long they last. What DescribeConfigs and the two
AlterConfigs answer is in `test_admin_answers.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config.described_keys import broker_keys
from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages import alter_configs, incremental_alter_configs
from kafkalite.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kafkalite.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kafkalite.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server import turns
from kafkalite.testing.simulation import Simulation
from tests.config.described import OTHER_DEFAULT
from tests.server.cluster_of_two import two_brokers
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, Running, served, simulated, start

TOPIC, BROKER = 2, 4
STATIC = 4
SET, DELETE = 0, 1


def edit(topic: str, key: str, value: str | None) -> IncrementalAlterConfigsRequest:
    """Set a topic's setting; None deletes it."""
    operation = DELETE if value is None else SET
    config = incremental_alter_configs.AlterableConfig(
        name=key, config_operation=operation, value=value
    )
    return IncrementalAlterConfigsRequest(
        resources=[
            incremental_alter_configs.AlterConfigsResource(
                resource_type=TOPIC, resource_name=topic, configs=[config]
            )
        ]
    )


async def alter(running: Running, topic: str, key: str, value: str | None) -> None:
    client = await running.client()
    answer = await client.ask(edit(topic, key, value), 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


async def describe(
    running: Running,
    type: int,
    name: str,
    *keys: str,
    documentation: bool = False,
    synonyms: bool = False,
) -> dict[str, DescribeConfigsResourceResult]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=type, resource_name=name, configuration_keys=list(keys) or None
            )
        ],
        include_documentation=documentation,
        include_synonyms=synonyms,
    )
    answer = await (await running.client()).ask(request, 4, DescribeConfigsResponse)
    assert answer.results[0].error_code == ErrorCode.NONE, answer
    return {config.name: config for config in answer.results[0].configs}


async def produce_size(running: Running, size: int) -> int:
    """The error of a batch of so many bytes, and a little more."""
    client = await running.client()
    request = produce("t", {0: batch(bytes(size))})
    (answer,) = produced(await client.ask(request, PRODUCE, ProduceResponse))
    return answer.error_code


@served()
async def test_an_open_partition_follows_at_once(running: Running) -> None:
    await running.create("t")
    assert await produce_size(running, 300) == ErrorCode.NONE
    await alter(running, "t", "max.message.bytes", "200")
    assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE
    await alter(running, "t", "max.message.bytes", None)
    assert await produce_size(running, 300) == ErrorCode.NONE


@served()
async def test_replacing_all_settings_takes_the_others_back(running: Running) -> None:
    await running.create("t", configs={"max.message.bytes": "200"})
    resource = alter_configs.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="t",
        configs=[alter_configs.AlterableConfig(name="flush.ms", value="7")],
    )
    client = await running.client()
    request = AlterConfigsRequest(resources=[resource])
    assert (await client.ask(request, 2, AlterConfigsResponse)).responses[0].error_code == 0
    assert await produce_size(running, 300) == ErrorCode.NONE


@simulated
async def test_settings_survive_a_restart(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t")
        await alter(running, "t", "max.message.bytes", "200")
    async with start(simulation, files) as running:
        shown = (await describe(running, TOPIC, "t"))["max.message.bytes"]
        assert (shown.value, shown.config_source) == ("200", 1)
        assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE


@served()
async def test_a_topic_made_again_has_none_of_the_old_ones_settings(running: Running) -> None:
    await running.create("t", configs={"max.message.bytes": "200"})
    await running.delete("t")
    await running.create("t")
    shown = (await describe(running, TOPIC, "t"))["max.message.bytes"]
    assert (shown.value, shown.config_source) == ("1048588", 5)
    assert await produce_size(running, 300) == ErrorCode.NONE


@served(message_max_bytes="200", log_retention_hours="3")
async def test_a_broker_s_own_settings_are_shown_and_act(running: Running) -> None:
    await running.create("t")
    topic = await describe(running, TOPIC, "t")
    assert (topic["max.message.bytes"].value, topic["max.message.bytes"].config_source) == (
        "200",
        4,
    )
    assert topic["retention.ms"].value == "10800000"
    broker = await describe(running, BROKER, "1")
    assert broker["message.max.bytes"].value == "200"
    assert broker["broker.id"].value == broker["node.id"].value == "1"
    assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE


# Any: JSON.
DESCRIBED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "configs.json").read_text()
)["broker"]
SET_HERE = {
    row["name"].replace(".", "_"): row["value"]
    for row in DESCRIBED
    if row["name"].startswith(("offsets.", "transaction.", "share.", "group.initial."))
    and row["config_source"] == STATIC
}
"""What the broker that was described had in its properties, and may be set anywhere."""
NOT_COMPARED = {
    "super.users": "set, and no key of a broker's",
    **dict.fromkeys(
        (
            "advertised.listeners",
            "authorizer.class.name",
            "broker.id",
            "controller.listener.names",
            "controller.quorum.bootstrap.servers",
            "inter.broker.listener.name",
            "listener.security.protocol.map",
            "listeners",
            "log.dirs",
            "node.id",
            "process.roles",
        ),
        "where that broker was",
    ),
    **OTHER_DEFAULT,
}


@served(**SET_HERE)
async def test_a_fresh_broker_is_described_as_kafka_describes_its_own(running: Running) -> None:
    described = await describe(running, BROKER, "1", synonyms=True)
    ours = {
        name: {
            "name": config.name,
            "value": config.value,
            "config_type": config.config_type,
            "config_source": config.config_source,
            "read_only": config.read_only,
            "is_sensitive": config.is_sensitive,
            "synonyms": [
                {"name": layer.name, "value": layer.value, "source": layer.source}
                for layer in config.synonyms
            ],
        }
        for name, config in described.items()
        if not name.startswith("kafkalite.") and name not in NOT_COMPARED
    }
    assert len(ours) > 320
    assert ours == {row["name"]: row for row in DESCRIBED if row["name"] not in NOT_COMPARED}


@served()
async def test_each_setting_of_a_broker_is_documented_when_asked(running: Running) -> None:
    documented = await describe(running, BROKER, "1", documentation=True)
    assert {name: config.documentation for name, config in documented.items()} == {
        name: key.doc for name, key in broker_keys().items()
    }
    silent = await describe(running, BROKER, "1", "log.dirs")
    assert silent["log.dirs"].documentation is None


@simulated
async def test_min_in_sync_of_the_first_start_s_file_is_kept_in_the_metadata(
    simulation: Simulation,
) -> None:
    """As Kafka does it, for its eligible leader replicas: a later file does not change it."""
    files = MemoryFiles()
    async with start(simulation, files, settings={"min.insync.replicas": "2"}) as running:
        await running.create("t")
        shown = (await describe(running, TOPIC, "t"))["min.insync.replicas"]
        assert (shown.value, shown.config_source) == ("2", 3)
    async with start(simulation, files) as running:
        shown = (await describe(running, BROKER, "1"))["min.insync.replicas"]
        assert (shown.value, shown.config_source) == ("2", 3)
        assert await produce_size(running, 1) == ErrorCode.NONE, "one replica needs no second"


@served()
async def test_topics_follow_a_broker_whose_defaults_are_altered(running: Running) -> None:
    await running.create("t")
    client = await running.client()
    for name, value, expected in (
        ("", "200", ErrorCode.MESSAGE_TOO_LARGE),
        ("1", "2000", ErrorCode.NONE),
        ("1", None, ErrorCode.MESSAGE_TOO_LARGE),
        ("", None, ErrorCode.NONE),
    ):
        request = edit(name, "message.max.bytes", value)
        request.resources[0].resource_type = BROKER
        answer = await client.ask(request, 1, IncrementalAlterConfigsResponse)
        assert answer.responses[0].error_code == ErrorCode.NONE
        assert await produce_size(running, 300) == expected
        shown = await describe(running, BROKER, name or "1", "message.max.bytes")
        assert shown["message.max.bytes"].value == (value or ("200" if name == "1" else "1048588"))


async def alter_brokers(running: Running, name: str, key: str, value: str | None) -> None:
    request = edit(name, key, value)
    request.resources[0].resource_type = BROKER
    client = await running.client()
    answer = await client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


@pytest.mark.parametrize("name", ["", "1"])
@simulated
async def test_connections_are_held_to_what_the_broker_is_told_while_it_runs(
    simulation: Simulation, name: str
) -> None:
    """And after a restart."""
    files = MemoryFiles()

    async def takes(running: Running) -> bool:
        """Whether it takes a third connection."""
        client = await running.connect("third")
        try:
            await client.ask(MetadataRequest(), 1, MetadataResponse)
        except ConnectionError:
            return False
        return True

    async with start(simulation, files) as running:
        await running.connect("second")
        await alter_brokers(running, name, "max.connections", "2")
        assert not await takes(running)
    async with start(simulation, files) as running:
        await running.client()
        await running.connect("second")
        assert not await takes(running)
        await alter_brokers(running, name, "max.connections", None)
        assert await takes(running)


@served()
async def test_silent_producers_are_forgotten_when_the_broker_is_told(running: Running) -> None:
    await running.create("t")
    await alter_brokers(running, "1", "producer.id.expiration.ms", "5000")
    await running.create("u")
    for topic in ("t", "u"):
        assert running.partition(topic).log.producers.expiration_ms == 5000


@served()
async def test_settings_of_brokers_that_make_no_sense_together_are_refused(
    running: Running,
) -> None:
    """And those after it are followed."""
    await running.create("t")
    client = await running.client()
    request = edit("1", "max.connections.per.ip", "0")
    request.resources[0].resource_type = BROKER
    answer = await client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == ErrorCode.INVALID_REQUEST
    await alter_brokers(running, "", "message.max.bytes", "200")
    assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE


@simulated
async def test_settings_of_brokers_that_the_metadata_has_act_and_are_shown(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """As a Kafka may have left them."""

    def setting(name: str, key: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=BROKER, resource_name=name, name=key, value=value)

    async with two_brokers(simulation) as (running, other):
        other.create("t", [1])
        other._commit(setting("", "message.max.bytes", "200"))
        assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE
        other._commit(setting("1", "message.max.bytes", "2000"))
        assert await produce_size(running, 300) == ErrorCode.NONE
        shown = (await describe(running, TOPIC, "t"))["max.message.bytes"]
        assert (shown.value, shown.config_source) == ("2000", 2)
        other._commit(setting("1", "message.max.bytes", "soon"))
        assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE
        assert "a setting of brokers in the metadata is not followed" in caplog.text
        other._commit(setting("", "message.max.bytes", "2000"))
        assert await produce_size(running, 300) == ErrorCode.NONE
        other._commit(setting("", "message.max.bytes", "200"))
        other._commit(setting("1", "message.max.bytes", None))
        assert await produce_size(running, 300) == ErrorCode.MESSAGE_TOO_LARGE


@served()
async def test_much_is_described_in_several_turns_and_others_have_theirs(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.create("t")
    order: list[str] = []
    many, one = await running.connect("many"), await running.connect("one")
    resource = DescribeConfigsResource(
        resource_type=TOPIC, resource_name="t", configuration_keys=["retention.ms"]
    )
    monkeypatch.setattr(turns, "TURN_COST", 1_000)
    slow = many.send(DescribeConfigsRequest(resources=[resource] * 9), 4, DescribeConfigsResponse)
    slow.add_done_callback(lambda _: order.append("many"))
    quick = one.send(MetadataRequest(), 1, MetadataResponse)
    quick.add_done_callback(lambda _: order.append("one"))
    await running.wait_ms()
    assert order == ["one", "many"]
    values = [config.value for each in slow.result().results for config in each.configs]
    assert values == ["604800000"] * 9


@pytest.mark.parametrize("version", [0, 1])
@simulated
async def test_without_the_controller_nothing_is_altered(
    simulation: Simulation, version: int
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1])
        client = await running.client()
        request = edit("t", "flush.ms", "1")
        answer = await client.ask(request, version, IncrementalAlterConfigsResponse)
        assert answer.responses[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        replace = AlterConfigsRequest(
            resources=[alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="t")]
        )
        replaced = await client.ask(replace, version, AlterConfigsResponse)
        assert replaced.responses[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        assert replaced.responses[0].resource_name == "t"


@pytest.mark.parametrize(
    ("type", "name", "key", "value"),
    [(32, "g", "consumer.heartbeat.interval.ms", "6000"), (16, "m", "interval.ms", "200")],
)
def test_settings_of_what_need_not_exist_outlast_the_broker(
    type: int, name: str, key: str, value: str
) -> None:
    request = edit(name, key, value)
    request.resources[0].resource_type = type
    asked = DescribeConfigsResource(
        resource_type=type, resource_name=name, configuration_keys=[key]
    )

    @simulated
    async def check(simulation: Simulation) -> None:
        files = MemoryFiles(models_crashes=True)
        async with start(simulation, files) as running:
            client = await running.client()
            answer = await client.ask(request, 1, IncrementalAlterConfigsResponse)
            assert answer.responses[0].error_code == ErrorCode.NONE
        async with start(simulation, files) as running:
            client = await running.client()
            described = await client.ask(
                DescribeConfigsRequest(resources=[asked]), 4, DescribeConfigsResponse
            )
            (config,) = described.results[0].configs
            assert config.value == value

    check()
