"""CreateTopics and DeleteTopics: one by one, by the clock, and over again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.create_topics import (
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server.apis import create_topics
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.testing.simulation import Simulation
from kafkalite.types import ZERO_UUID, Uuid
from tests.server.cluster_of_two import two_brokers
from tests.server.others_turns import order_of, pieces_in_a_row
from tests.server.requests import batch, fetch, fetched, produce, produced
from tests.server.running import Running, creatable, served, simulated

DEFAULT_CONFIG, TOPIC_CONFIG = 5, 1
"""Sources of a setting, as the protocol counts them."""
UNKNOWN_ID = Uuid(bytes(15) + b"\x63")


async def create(
    running: Running, request: CreateTopicsRequest, version: int = 7
) -> list[CreatableTopicResult]:
    client = await running.client()
    return (await client.ask(request, version, CreateTopicsResponse)).topics


async def delete(
    running: Running, request: DeleteTopicsRequest, version: int
) -> list[DeletableTopicResult]:
    request.timeout_ms = 1000
    client = await running.client()
    return (await client.ask(request, version, DeleteTopicsResponse)).responses


def by_name(*names: str, version: int) -> DeleteTopicsRequest:
    if version >= 6:
        return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names])
    return DeleteTopicsRequest(topic_names=list(names))


# CreateTopics.


@pytest.mark.parametrize("version", [2, 4, 5, 6, 7])
@served()
async def test_a_created_topic_is_told_and_usable_at_once(running: Running, version: int) -> None:
    request = CreateTopicsRequest(topics=[creatable("t", 3, {"retention.ms": "1000"})])
    (result,) = await create(running, request, version)
    assert (result.name, result.error_code, result.error_message) == ("t", 0, None)
    assert result.topic_id == (running.topic("t").id if version >= 7 else ZERO_UUID)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        sources = {c.name: (c.value, c.config_source) for c in result.configs or ()}
        assert sources["retention.ms"] == ("1000", TOPIC_CONFIG)
        assert sources["cleanup.policy"] == ("delete", DEFAULT_CONFIG)
    assert await running.produce("t", b"x", partition=2) == 0


@pytest.mark.parametrize("version", [2, 7])
@served()
async def test_a_message_that_repeats_long_values_is_told_as_far_as_the_answer_holds_it(
    running: Running, version: int
) -> None:
    names = [f"{index}{'x' * 30_000}" for index in range(10)]
    topic = creatable("t")
    topic.configs = [CreatableTopicConfig(name=name, value=None) for name in names]
    (result,) = await create(running, CreateTopicsRequest(topics=[topic]), version)
    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert result.error_message is not None
    assert result.error_message.startswith("Null value not supported for topic configs: 0xxx")


@pytest.mark.parametrize("version", [4, 7])
@served(num_partitions="4")
async def test_minus_1_stands_for_the_brokers_defaults(running: Running, version: int) -> None:
    (result,) = await create(running, CreateTopicsRequest(topics=[creatable("t", -1)]), version)
    assert result.error_code == ErrorCode.NONE
    assert len(running.topic("t").partitions) == 4


@pytest.mark.parametrize("version", [2, 7])
@served()
async def test_each_topic_is_created_or_refused_on_its_own(running: Running, version: int) -> None:
    await running.create("old")
    request = CreateTopicsRequest(
        topics=[
            creatable("new"),
            creatable("old"),
            creatable("bad/name"),
            creatable("none", 0),
            creatable("odd", 1, {"no.such.key": "1"}),
        ]
    )
    results = await create(running, request, version)
    assert {result.name: result.error_code for result in results} == {
        "new": ErrorCode.NONE,
        "old": ErrorCode.TOPIC_ALREADY_EXISTS,
        "bad/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "none": ErrorCode.INVALID_PARTITIONS,
        "odd": ErrorCode.INVALID_CONFIG,
    }
    assert all(result.error_message for result in results if result.error_code)
    assert sorted(running.broker.image.topics) == ["new", "old"]


@served()
async def test_validate_only_tells_what_would_be_and_makes_nothing(running: Running) -> None:
    request = CreateTopicsRequest(
        topics=[creatable("t", 3), creatable("bad/name")], validate_only=True
    )
    results = {result.name: result for result in await create(running, request)}
    assert results["t"].error_code == ErrorCode.NONE
    assert results["t"].num_partitions == 3
    assert results["bad/name"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert running.broker.image.topics == {}
    assert "t-0" not in running.files.list("")


@pytest.mark.parametrize("timeout_ms", [0, -1])
@served()
async def test_without_time_nothing_is_created(running: Running, timeout_ms: int) -> None:
    request = CreateTopicsRequest(topics=[creatable("t")], timeout_ms=timeout_ms)
    (result,) = await create(running, request)
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    await running.wait_ms()
    assert running.broker.image.topics == {}


@served()
async def test_settings_of_the_topic_are_followed(running: Running) -> None:
    await running.create("t", configs={"max.message.bytes": "100"})
    request = produce("t", {0: batch(bytes(200))})
    response = await (await running.client()).ask(request, 9, ProduceResponse)
    assert produced(response)[0].error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """The controller's work, which is not done until a test does it."""
    held: list[Callable[[], None]] = []
    submit = ControllerDriver.submit

    def later(driver: ControllerDriver, *args: object) -> None:
        held.append(lambda: submit(driver, *args))  # type: ignore[call-overload]  # passed on.

    monkeypatch.setattr(ControllerDriver, "submit", later)
    return held


@served()
async def test_a_creation_that_takes_longer_than_its_timeout_has_timed_out_and_may_still_be(
    running: Running, held_back: list[Callable[[], None]]
) -> None:
    client = await running.client()
    request = CreateTopicsRequest(topics=[creatable("t")], timeout_ms=500)
    answer = client.send(request, 7, CreateTopicsResponse)
    await running.wait_ms(499)
    assert not answer.done()
    await running.wait_ms(2)
    (result,) = answer.result().topics
    assert (result.error_code, result.error_message) == (ErrorCode.REQUEST_TIMED_OUT, None)
    assert (result.num_partitions, result.configs) == (-1, [])
    held_back[0]()
    assert await running.produce("t", b"x") == 0


@served()
async def test_a_deletion_that_takes_longer_than_its_timeout_has_timed_out(
    running: Running, held_back: list[Callable[[], None]]
) -> None:
    client = await running.client()
    request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=500)
    answer = client.send(request, 5, DeleteTopicsResponse)
    await running.wait_ms(499)
    assert not answer.done()
    await running.wait_ms(2)
    (result,) = answer.result().responses
    assert (result.error_code, result.error_message) == (ErrorCode.REQUEST_TIMED_OUT, None)


@simulated
async def test_a_broker_that_does_not_reach_the_controller_refuses_both(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, _):
        (created,) = await create(running, CreateTopicsRequest(topics=[creatable("t")]))
        assert created.error_code == ErrorCode.REQUEST_TIMED_OUT
        (deleted,) = await delete(running, by_name("t", version=6), 6)
        assert (deleted.name, deleted.error_code) == ("t", ErrorCode.REQUEST_TIMED_OUT)


# DeleteTopics.


@pytest.mark.parametrize("version", [1, 4, 5, 6])
@served()
async def test_a_deleted_topic_is_gone_at_once(running: Running, version: int) -> None:
    image = await running.create("t", 2)
    await running.create("kept")
    results = await delete(running, by_name("t", "unknown", version=version), version)
    codes = {result.name: result.error_code for result in results}
    assert codes == {"t": 0, "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    messages = {result.name: result.error_message for result in results}
    assert (messages["unknown"] is not None) == (version >= 5)
    ids = {result.name: result.topic_id for result in results}
    assert ids["t"] == (image.id if version >= 6 else ZERO_UUID)
    assert list(running.broker.image.topics) == ["kept"]
    response = await (await running.client()).ask(fetch("t", {0: 0}), 9, FetchResponse)
    assert fetched(response)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@served()
async def test_version_6_deletes_by_id(running: Running) -> None:
    image = await running.create("t")
    request = DeleteTopicsRequest(
        topics=[
            DeleteTopicState(name=None, topic_id=image.id),
            DeleteTopicState(name=None, topic_id=UNKNOWN_ID),
        ]
    )
    results = await delete(running, request, 6)
    assert {(result.name, result.topic_id, result.error_code) for result in results} == {
        ("t", image.id, ErrorCode.NONE),
        (None, UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    assert running.broker.image.topics == {}


@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
@served(delete_topic_enable="false")
async def test_deletion_may_be_disabled(running: Running, version: int, code: ErrorCode) -> None:
    await running.create("t")
    (result,) = await delete(running, by_name("t", version=version), version)
    assert (result.name, result.error_code) == ("t", code)
    assert await running.produce("t", b"x") == 0


@served()
async def test_a_topic_that_is_made_again_has_another_id_and_nothing_of_the_old_one(
    running: Running,
) -> None:
    old = await running.create("t", 2)
    client = await running.client()
    first = produce("t", {0: batch(b"old", producer_id=7, sequence=0)})
    assert produced(await client.ask(first, 9, ProduceResponse))[0].base_offset == 0
    await running.delete("t")
    new = await running.create("t")
    assert old.id != new.id
    assert await running.read("t") == []
    again = produce("t", {0: batch(b"new", producer_id=7, sequence=0)})
    assert produced(await client.ask(again, 9, ProduceResponse))[0].base_offset == 0
    fetch_old = await client.ask(fetch(old.id, {0: 0}), 13, FetchResponse)
    assert fetched(fetch_old)[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    produce_old = await client.ask(produce(old.id, {0: batch(b"x")}), 13, ProduceResponse)
    assert produced(produce_old)[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    by_name = await client.ask(produce("t", {1: batch(b"x")}), 9, ProduceResponse)
    assert produced(by_name)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await running.read("t") == [b"new"]


@pytest.mark.parametrize("differ", [True, False])
@served()
async def test_many_are_answered_in_several_turns_and_others_have_theirs(
    running: Running, *, differ: bool
) -> None:
    """What is told of settings is made once where they are the same."""
    many = await running.connect("many")
    wanted = [
        creatable(f"t-{n}", configs={"retention.ms": str(n if differ else 7)}) for n in range(9)
    ]
    request = CreateTopicsRequest(topics=wanted, validate_only=True)
    with order_of(create_topics, "_effective", turn_cost=200) as order:
        answer = await many.ask(request, 7, CreateTopicsResponse)
    assert order.count("piece") == (9 if differ else 1)
    assert pieces_in_a_row(order) <= 2
    told = [
        next(config.value for config in topic.configs or () if config.name == "retention.ms")
        for topic in answer.topics
    ]
    assert told == [str(n if differ else 7) for n in range(9)]
